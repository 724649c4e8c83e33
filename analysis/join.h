/* From the correlation id of a device operation to the call that issued it. */
#ifndef JOIN_H
#define JOIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Events that an operation can wait for and that are told apart. */
#define HOLD_EVENTS 2

/* What an operation had to wait for in its stream, beside the operations before it. */
struct hold {
	bool host;    /* a host function or a value in memory */
	bool unknown; /* an event that was recorded where the trace does not see it */
	bool unseen; /* perhaps: its thread made a stream wait, and the trace does not tell which */
	uint32_t event_correlation[HOLD_EVENTS]; /* last operation before the event; 0 = none */
};

/* The call behind one or more operations. */
struct launch {
	uint64_t begin_ns; /* of the outermost call that issues: a library's own time counts as the
			      host's */
	uint64_t end_ns;
	uint64_t op_end_ns;   /* the latest end among its operations seen so far; 0 = none */
	uint64_t span;        /* of the thread's log, for copies that may turn out to have waited;
				 UINT64_MAX = none */
	uint32_t correlation; /* 0 = an empty slot */
	uint32_t thread;      /* as struct call */
	struct hold hold;
	uint16_t op_device; /* of its last operation */
	uint8_t klass;
	uint8_t flags;
	uint32_t range_node, range_serial; /* struct range_at: what the thread had open */
};

/*
 * The last 32,768 calls that issued work, found by correlation id: far beyond the 1,024 launches
 * that a queue takes. Older ones are evicted. CUPTI counts ids up, over all API calls and not only
 * those that launch, so that the low bits tell them apart.
 */
#define JOIN_CALLS 32768u
#define JOIN_IDS (1u << 19)

struct join {
	struct launch *ring;
	uint32_t *index; /* by the low bits of the id: number of the call, counted from 1 */
	uint32_t count;
	uint64_t evicted; /* without having met an operation */
};

/* -1 without memory. */
int join_init(struct join *join);
void join_fini(struct join *join);

/*
 * Remembers a call with a correlation id other than 0, which began at `begin_ns`: the slot with the
 * id in it, all other fields zero, to be filled. NULL where the id is there already: it keeps its
 * first, outer call.
 */
struct launch *join_add(struct join *join, uint32_t correlation, uint64_t begin_ns);

/* The call with this id, or NULL. Valid until the next join_add. */
static inline struct launch *join_find(struct join *join, uint32_t correlation)
{
	struct launch *slot = &join->ring[join->index[correlation % JOIN_IDS] % JOIN_CALLS];

	return correlation && slot->correlation == correlation ? slot : NULL;
}

#endif
