/* A direct-mapped table of calls. */
#include "join.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (1u << 19)

int join_init(struct join *join)
{
	join->evicted = 0;
	join->slot = calloc(SLOTS, sizeof(*join->slot));
	return join->slot ? 0 : -1;
}

void join_fini(struct join *join)
{
	free(join->slot);
	memset(join, 0, sizeof(*join));
}

void join_add(struct join *join, const struct launch *launch)
{
	struct launch *slot = &join->slot[launch->correlation & (SLOTS - 1)];

	if (slot->correlation == launch->correlation && launch->begin_ns <= slot->end_ns)
		return;
	if (slot->correlation && !slot->op_end_ns)
		join->evicted++;
	*slot = *launch;
}

struct launch *join_find(struct join *join, uint32_t correlation)
{
	struct launch *slot = &join->slot[correlation & (SLOTS - 1)];

	return correlation && slot->correlation == correlation ? slot : NULL;
}
