/*
 * Each buffer has a state word; whoever changes it owns the buffer. Requests scan for a free one from a moving start, so nothing is
 * linked and nothing can be corrupted by a buffer that comes back twice.
 */
#define _GNU_SOURCE
#include "actbuf.h"

#include <stdatomic.h>
#include <sys/mman.h>

enum state {
	FREE,
	OUT,   /* CUPTI's */
	READY, /* completed, waits for the writer */
	TAKEN, /* the writer's */
};

struct slot {
	_Atomic int state;
	_Atomic uint64_t order; /* of completion */
	size_t valid_bytes;
	void *context;
	uint32_t stream;
};

static uint8_t *pool;
static struct slot slots[ACTBUF_COUNT];
static _Atomic uint32_t next_request;
static _Atomic uint64_t completions;

int actbuf_init(void)
{
	void *p = mmap(NULL, (size_t)ACTBUF_BYTES * ACTBUF_COUNT, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -1;
	pool = p;
	return 0;
}

int actbuf_owns(const uint8_t *buffer)
{
	return pool && buffer >= pool && buffer < pool + (size_t)ACTBUF_BYTES * ACTBUF_COUNT;
}

static struct slot *slot_of(const uint8_t *buffer)
{
	return &slots[(size_t)(buffer - pool) / ACTBUF_BYTES];
}

uint8_t *actbuf_request(void)
{
	uint32_t start = atomic_fetch_add_explicit(&next_request, 1, memory_order_relaxed);

	for (uint32_t i = 0; pool && i < ACTBUF_COUNT; i++) {
		uint32_t at = (start + i) % ACTBUF_COUNT;
		int expected = FREE;

		/* acquire: pairs with actbuf_release; the writer has finished reading */
		if (atomic_compare_exchange_strong_explicit(&slots[at].state, &expected, OUT,
							    memory_order_acquire,
							    memory_order_relaxed))
			return pool + (size_t)at * ACTBUF_BYTES;
	}
	return NULL;
}

void actbuf_complete(uint8_t *buffer, size_t valid_bytes, void *context, uint32_t stream)
{
	struct slot *s = slot_of(buffer);
	int expected = OUT;

	/* one that comes back twice, or was never handed out, is not read again */
	if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, TAKEN,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	s->valid_bytes = valid_bytes <= ACTBUF_BYTES ? valid_bytes : 0;
	s->context = context;
	s->stream = stream;
	atomic_store_explicit(&s->order,
			      atomic_fetch_add_explicit(&completions, 1, memory_order_relaxed),
			      memory_order_relaxed);
	/* release: pairs with actbuf_take; content and description are visible with the state */
	atomic_store_explicit(&s->state, READY, memory_order_release);
}

int actbuf_take(struct actbuf *out)
{
	uint32_t best = ACTBUF_COUNT;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < ACTBUF_COUNT; i++) {
		if (atomic_load_explicit(&slots[i].state, memory_order_acquire) != READY)
			continue;
		if (atomic_load_explicit(&slots[i].order, memory_order_relaxed) < least) {
			least = atomic_load_explicit(&slots[i].order, memory_order_relaxed);
			best = i;
		}
	}
	if (best == ACTBUF_COUNT)
		return 0;
	atomic_store_explicit(&slots[best].state, TAKEN, memory_order_relaxed);
	out->data = pool + (size_t)best * ACTBUF_BYTES;
	out->valid_bytes = slots[best].valid_bytes;
	out->context = slots[best].context;
	out->stream = slots[best].stream;
	return 1;
}

void actbuf_release(uint8_t *buffer)
{
	atomic_store_explicit(&slot_of(buffer)->state, FREE, memory_order_release);
}

void actbuf_forget(void)
{
	pool = NULL;
	for (uint32_t i = 0; i < ACTBUF_COUNT; i++)
		atomic_store_explicit(&slots[i].state, FREE, memory_order_relaxed);
}
