/* A ring of calls and an index into it. */
#include "join.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct launch) == 64, "a call is a cache line");

int join_init(struct join *join)
{
	join->count = 0;
	join->evicted = 0;
	/* A call is a cache line, and each is met once when it is written and once when it is found. */
	join->ring = aligned_alloc(64, JOIN_CALLS * sizeof(*join->ring));
	join->index = calloc(JOIN_IDS, sizeof(*join->index));
	if (!join->ring || !join->index)
		return -1;
	memset(join->ring, 0, JOIN_CALLS * sizeof(*join->ring));
	return 0;
}

void join_fini(struct join *join)
{
	free(join->ring);
	free(join->index);
	memset(join, 0, sizeof(*join));
}

struct launch *join_add(struct join *join, uint32_t correlation, uint64_t begin_ns)
{
	const struct launch *known = join_find(join, correlation);
	struct launch *slot;

	if (known && begin_ns <= known->end_ns)
		return NULL;
	slot = &join->ring[++join->count % JOIN_CALLS];
	if (slot->correlation && !slot->op_end_ns)
		join->evicted++;
	memset(slot, 0, sizeof(*slot));
	slot->correlation = correlation;
	join->index[correlation % JOIN_IDS] = join->count;
	return slot;
}
