/*
 * Each buffer has a state word; whoever changes it owns the buffer. Requests scan for a free one from a moving start, so nothing is
 * linked and nothing can be corrupted by a buffer that comes back twice. They scan no further than there were ever buffers in use at
 * once: memory that is touched stays resident.
 */
#define _GNU_SOURCE
#include "actbuf.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

enum state {
	FREE,
	OUT,  /* CUPTI's */
	BUSY, /* being completed */
	READY /* completed, for its readers */
};

struct slot {
	_Atomic int state;
	_Atomic uint64_t order;  /* of completion */
	_Atomic unsigned unread; /* readers that have not taken it */
	_Atomic unsigned left;   /* readers that have not released it */
	size_t valid_bytes;
	void *context;
	uint32_t stream;
};

static uint8_t *pool;
static struct slot slots[ACTBUF_COUNT];
static _Atomic uint32_t next_request;
static _Atomic uint32_t reach = 1; /* buffers from here on were never needed */
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

static uint8_t *free_below(uint32_t limit, uint32_t start)
{
	for (uint32_t i = 0; i < limit; i++) {
		uint32_t at = (start + i) % limit;
		int expected = FREE;

		/* acquire: pairs with actbuf_release; the writer has finished reading */
		if (atomic_compare_exchange_strong_explicit(&slots[at].state, &expected, OUT,
							    memory_order_acquire,
							    memory_order_relaxed))
			return pool + (size_t)at * ACTBUF_BYTES;
	}
	return NULL;
}

uint8_t *actbuf_request(void)
{
	uint32_t start = atomic_fetch_add_explicit(&next_request, 1, memory_order_relaxed);
	uint32_t limit = atomic_load_explicit(&reach, memory_order_relaxed);
	uint8_t *buffer = NULL;

	while (pool && !(buffer = free_below(limit, start)) && limit < ACTBUF_COUNT)
		/* on failure `limit` is what another thread made of it */
		if (atomic_compare_exchange_strong_explicit(
			    &reach, &limit, limit + 1, memory_order_relaxed, memory_order_relaxed))
			limit++;
	return buffer;
}

void actbuf_complete(uint8_t *buffer, size_t valid_bytes, void *context, uint32_t stream,
		     unsigned readers)
{
	struct slot *s = slot_of(buffer);
	int expected = OUT;

	/* one that comes back twice, or was never handed out, is not read again */
	if (!atomic_compare_exchange_strong_explicit(&s->state, &expected, BUSY,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	s->valid_bytes = valid_bytes <= ACTBUF_BYTES ? valid_bytes : 0;
	if (!readers) {
		memset(buffer, 0, s->valid_bytes);
		atomic_store_explicit(&s->state, FREE, memory_order_release);
		return;
	}
	s->context = context;
	s->stream = stream;
	atomic_store_explicit(&s->unread, readers, memory_order_relaxed);
	atomic_store_explicit(&s->left, readers, memory_order_relaxed);
	atomic_store_explicit(&s->order,
			      atomic_fetch_add_explicit(&completions, 1, memory_order_relaxed),
			      memory_order_relaxed);
	/* release: pairs with actbuf_take; content and description are visible with the state */
	atomic_store_explicit(&s->state, READY, memory_order_release);
}

/* The oldest that waits for the reader; ACTBUF_COUNT if none does. */
static uint32_t oldest_for(enum actbuf_reader reader)
{
	uint32_t best = ACTBUF_COUNT;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < ACTBUF_COUNT; i++) {
		uint64_t order;

		if (atomic_load_explicit(&slots[i].state, memory_order_acquire) != READY ||
		    !(atomic_load_explicit(&slots[i].unread, memory_order_relaxed) & reader))
			continue;
		order = atomic_load_explicit(&slots[i].order, memory_order_relaxed);
		if (order < least) {
			least = order;
			best = i;
		}
	}
	return best;
}

int actbuf_take(enum actbuf_reader reader, struct actbuf *out)
{
	uint32_t at;

	while ((at = oldest_for(reader)) != ACTBUF_COUNT) {
		struct slot *s = &slots[at];

		if (!(atomic_fetch_and_explicit(&s->unread, ~(unsigned)reader,
						memory_order_acquire) &
		      reader))
			continue; /* another thread of this reader was faster */
		out->data = pool + (size_t)at * ACTBUF_BYTES;
		out->valid_bytes = s->valid_bytes;
		out->context = s->context;
		out->stream = s->stream;
		out->order = atomic_load_explicit(&s->order, memory_order_relaxed);
		return 1;
	}
	return 0;
}

uint64_t actbuf_completions(void)
{
	return atomic_load(&completions);
}

void actbuf_release(enum actbuf_reader reader, uint8_t *buffer)
{
	struct slot *s = slot_of(buffer);

	/* acquire and release: the last one sees that the others have finished reading */
	if (atomic_fetch_and_explicit(&s->left, ~(unsigned)reader, memory_order_acq_rel) !=
	    (unsigned)reader)
		return;
	memset(buffer, 0, s->valid_bytes); /* promised to CUPTI: tracer.c, set_attributes */
	atomic_store_explicit(&s->state, FREE, memory_order_release);
}

void actbuf_forget(void)
{
	pool = NULL;
	atomic_store_explicit(&reach, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < ACTBUF_COUNT; i++)
		atomic_store_explicit(&slots[i].state, FREE, memory_order_relaxed);
}
