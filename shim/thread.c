/* Threads attach at their first call and leave their slot to the next when they end. */
#define _GNU_SOURCE
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

static __thread struct thread *self;
static __thread int refused; /* attaching failed: do not try at every call */

static _Atomic(struct thread *) first;
static _Atomic uint32_t made;    /* slots */
static _Atomic uint32_t next_id; /* a slot used again is another thread, with another id */
static pthread_key_t exit_key;
static pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
static int exit_key_made;

static void leave(void *thread)
{
	struct thread *t = thread;

	self = NULL;
	/* release: pairs with the writer's acquire; all records are in the ring before the state says so */
	atomic_store_explicit(&t->state, THREAD_EXITED, memory_order_release);
}

static void make_exit_key(void)
{
	exit_key_made = pthread_key_create(&exit_key, leave) == 0;
}

static struct thread *reuse_slot(void)
{
	struct thread *t = atomic_load_explicit(&first, memory_order_acquire);

	for (; t; t = t->next) {
		int free_state = THREAD_FREE;

		/* acquire: pairs with thread_recycle; the writer is done with the slot */
		if (atomic_compare_exchange_strong_explicit(&t->state, &free_state, THREAD_LIVE,
							    memory_order_acquire,
							    memory_order_relaxed))
			return t;
	}
	return NULL;
}

static struct thread *make_slot(void)
{
	struct thread *t;

	if (atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) >= THREAD_LIMIT) {
		atomic_fetch_sub_explicit(&made, 1, memory_order_relaxed);
		return NULL;
	}
	t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED) {
		atomic_fetch_sub_explicit(&made, 1, memory_order_relaxed);
		return NULL;
	}
	atomic_store_explicit(&t->state, THREAD_LIVE, memory_order_relaxed);
	return t;
}

static void publish(struct thread *t)
{
	struct thread *head = atomic_load_explicit(&first, memory_order_relaxed);

	do
		t->next = head;
	while (!atomic_compare_exchange_weak_explicit(&first, &head, t, memory_order_release,
						      memory_order_relaxed));
}

static struct thread *attach(void)
{
	int saved = errno, fresh = 0;
	struct thread *t;

	pthread_once(&exit_key_once, make_exit_key);
	t = reuse_slot();
	if (!t) {
		t = make_slot();
		fresh = 1;
	}
	if (!t) {
		refused = 1;
		errno = saved;
		return NULL;
	}
	t->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed) + 1;
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->attached_ns = t->last_end_ns = host_now();
	t->announced = 0;
	t->open = NULL;
	t->library = NULL;
	t->group.depth = t->group.count = 0;
	t->driver_api = 0;
	t->pending_flags = 0;
	t->lost_count = 0;
	t->range_depth = 0;
	if (fresh)
		publish(t);
	if (exit_key_made)
		pthread_setspecific(exit_key, t);
	self = t;
	errno = saved;
	return t;
}

struct thread *thread_self(void)
{
	if (self)
		return self;
	return refused ? NULL : attach();
}

struct thread *thread_peek(void)
{
	return self;
}

struct thread *thread_first(void)
{
	return atomic_load_explicit(&first, memory_order_acquire);
}

void thread_recycle(struct thread *thread)
{
	atomic_store_explicit(&thread->state, THREAD_FREE, memory_order_release);
}

void thread_forget_all(void)
{
	self = NULL;
	refused = 0;
	if (exit_key_made)
		pthread_setspecific(exit_key, NULL);
	atomic_store_explicit(&first, NULL, memory_order_relaxed);
	atomic_store_explicit(&made, 0, memory_order_relaxed);
	atomic_store_explicit(&next_id, 0, memory_order_relaxed);
}
