/* A ring of calls and an index into it. */
#include "join.h"

#include <stdlib.h>
#include <string.h>

#define CALLS 32768u
#define IDS (1u << 19)

int join_init(struct join *join)
{
	join->count = 0;
	join->evicted = 0;
	join->ring = calloc(CALLS, sizeof(*join->ring));
	join->index = calloc(IDS, sizeof(*join->index));
	return join->ring && join->index ? 0 : -1;
}

void join_fini(struct join *join)
{
	free(join->ring);
	free(join->index);
	memset(join, 0, sizeof(*join));
}

void join_add(struct join *join, const struct launch *launch)
{
	const struct launch *known = join_find(join, launch->correlation);
	struct launch *slot = &join->ring[++join->count % CALLS];

	if (known && launch->begin_ns <= known->end_ns) {
		join->count--;
		return;
	}
	if (slot->correlation && !slot->op_end_ns)
		join->evicted++;
	*slot = *launch;
	join->index[launch->correlation % IDS] = join->count;
}

struct launch *join_find(struct join *join, uint32_t correlation)
{
	struct launch *slot = &join->ring[join->index[correlation % IDS] % CALLS];

	return correlation && slot->correlation == correlation ? slot : NULL;
}
