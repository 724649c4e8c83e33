/* Threads attach once, leave their slot at exit, and slots serve again; beyond the limit there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/thread.h"

#define THREADS 200

static struct seen {
	struct thread *thread;
	uint32_t id;
	uint32_t tid;
	int same_again;
	int errno_kept;
} seen[THREADS];

static pthread_barrier_t all_attached;

static int set_up(void **state)
{
	(void)state;
	thread_forget_all();
	memset(seen, 0, sizeof(seen));
	return 0;
}

static void *attach(void *data)
{
	struct record r = {.kind = RECORD_CALL};
	struct seen *s = data;

	errno = 4321;
	s->thread = thread_self();
	s->errno_kept = errno == 4321;
	if (!s->thread)
		return NULL;
	s->id = s->thread->id;
	s->tid = s->thread->tid == (uint32_t)syscall(SYS_gettid) ? s->thread->tid : 0;
	s->same_again = thread_self() == s->thread && thread_peek() == s->thread;
	r.begin_ns = s->id;
	ring_put(&s->thread->ring, &r);
	pthread_barrier_wait(&all_attached);
	return NULL;
}

static void run_wave(unsigned count)
{
	pthread_t threads[THREADS];

	pthread_barrier_init(&all_attached, NULL, count);
	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, attach, &seen[i]), 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_attached);
}

static unsigned slots(int wanted_state)
{
	unsigned n = 0;

	for (struct thread *t = thread_first(); t; t = t->next)
		n += wanted_state < 0 || atomic_load(&t->state) == wanted_state;
	return n;
}

/* As the writer does. */
static void recycle_exited(void)
{
	for (struct thread *t = thread_first(); t; t = t->next) {
		const struct record *first;

		if (atomic_load_explicit(&t->state, memory_order_acquire) != THREAD_EXITED)
			continue;
		ring_take(&t->ring, ring_peek(&t->ring, &first));
		thread_recycle(t);
	}
}

static void threads_get_slots_and_ids_of_their_own(void **state)
{
	(void)state;
	run_wave(THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_non_null(seen[i].thread);
		assert_int_not_equal(seen[i].tid, 0);
		assert_true(seen[i].same_again);
		assert_true(seen[i].errno_kept);
		for (unsigned k = 0; k < i; k++) {
			assert_int_not_equal(seen[i].id, seen[k].id);
			assert_ptr_not_equal(seen[i].thread, seen[k].thread);
		}
	}
}

static void an_exited_thread_leaves_its_records_for_the_writer(void **state)
{
	const struct record *first;

	(void)state;
	run_wave(THREADS);
	assert_int_equal(slots(THREAD_EXITED), THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(ring_peek(&seen[i].thread->ring, &first), 1);
		assert_int_equal(first->begin_ns, seen[i].id);
	}
}

static void slots_serve_again_under_new_ids(void **state)
{
	uint32_t greatest = 0;

	(void)state;
	run_wave(THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		greatest = seen[i].id > greatest ? seen[i].id : greatest;
	recycle_exited();
	assert_int_equal(slots(THREAD_FREE), THREADS);
	run_wave(THREADS);
	assert_int_equal(slots(-1), THREADS);
	for (unsigned i = 0; i < THREADS; i++)
		assert_true(seen[i].id > greatest);
}

static void a_slot_that_was_not_recycled_is_not_reused(void **state)
{
	(void)state;
	run_wave(10);
	run_wave(10);
	assert_int_equal(slots(-1), 20);
	assert_int_equal(slots(THREAD_EXITED), 20);
}

static void *attach_alone(void *data)
{
	*(struct thread **)data = thread_self();
	return NULL;
}

static void *call_three_times(void *data)
{
	int *refused = data;

	for (int i = 0; i < 3; i++)
		*refused += thread_self() == NULL;
	return NULL;
}

static void beyond_the_limit_there_is_no_slot(void **state)
{
	struct thread *t;
	pthread_t thread;
	int refused = 0;

	(void)state;
	for (unsigned i = 0; i < THREAD_LIMIT; i++) {
		assert_int_equal(pthread_create(&thread, NULL, attach_alone, &t), 0);
		pthread_join(thread, NULL);
		assert_non_null(t);
	}
	assert_int_equal(pthread_create(&thread, NULL, call_three_times, &refused), 0);
	pthread_join(thread, NULL);
	assert_int_equal(refused, 3);
	recycle_exited();
	assert_int_equal(pthread_create(&thread, NULL, attach_alone, &t), 0);
	pthread_join(thread, NULL);
	assert_non_null(t);
	assert_int_equal(slots(-1), THREAD_LIMIT);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_get_slots_and_ids_of_their_own),
		TEST(an_exited_thread_leaves_its_records_for_the_writer),
		TEST(slots_serve_again_under_new_ids),
		TEST(a_slot_that_was_not_recycled_is_not_reused),
		TEST(beyond_the_limit_there_is_no_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
