/*
 * A bounded queue of records: one thread puts, one takes, nobody waits. Modelled in tests/model/ring.pml, its memory orders checked by
 * tests/unit/test_ring_orders.c. No I/O, no allocation.
 */
#ifndef RING_H
#define RING_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record.h"

#ifndef RING_RECORDS
#define RING_RECORDS 4096u /* a power of two: 256 KiB, 13 ms at 300,000 records a second */
#endif

struct ring {
	_Alignas(64) _Atomic uint32_t head; /* records put; written by the producer */
	uint32_t tail_seen;                 /* the producer's last look at tail */
	_Alignas(64) _Atomic uint32_t tail; /* records taken; written by the consumer */
	_Alignas(64) struct record slot[RING_RECORDS];
};

/* Room for at least `count` more records? Producer only. */
static inline bool ring_has_room(struct ring *ring, uint32_t count)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	if (head - ring->tail_seen + count <= RING_RECORDS)
		return true;
	/* acquire: pairs with the release in ring_take; the consumer is done reading the slots that we reuse */
	ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
	return head - ring->tail_seen + count <= RING_RECORDS;
}

/* Puts a record; there must be room. Returns the number of records put so far. Producer only. */
static inline uint32_t ring_put(struct ring *ring, const struct record *record)
{
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	ring->slot[head % RING_RECORDS] = *record;
	/* release: pairs with the acquire in ring_peek; the record is whole before it is counted */
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return head + 1;
}

/* How many records wait, and the first of those that lie in a row; take them with ring_take. Consumer only. */
static inline uint32_t ring_peek(struct ring *ring, const struct record **first)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	uint32_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint32_t to_end = RING_RECORDS - tail % RING_RECORDS;

	*first = &ring->slot[tail % RING_RECORDS];
	return head - tail < to_end ? head - tail : to_end;
}

static inline void ring_take(struct ring *ring, uint32_t count)
{
	uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	atomic_store_explicit(&ring->tail, tail + count, memory_order_release);
}

#endif
