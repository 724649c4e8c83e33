/* Two arrays, and marks on instances so that each counts once. */
#include "range_times.h"

#include <stdlib.h>
#include <string.h>

int range_times_init(struct range_times *times, struct ranges *ranges, unsigned device)
{
	memset(times, 0, sizeof(*times));
	if (!ranges)
		return 0;
	times->whole = calloc(RANGE_NODES, sizeof(*times->whole));
	times->steady = calloc(RANGE_NODES, sizeof(*times->steady));
	times->ranges = ranges;
	times->device = device;
	if (times->whole && times->steady)
		return 0;
	range_times_fini(times);
	return -1;
}

void range_times_fini(struct range_times *times)
{
	free(times->whole);
	free(times->steady);
	memset(times, 0, sizeof(*times));
}

void range_times_count(struct range_times *times, uint32_t serial, bool steady)
{
	uint64_t bit = UINT64_C(1) << times->device;
	struct range_instance *instance;

	while (times->ranges && (instance = ranges_instance(times->ranges, serial))) {
		bool new = !(instance->counted & bit);
		bool new_steady = steady && !(instance->counted_steady & bit);

		if (!new && !new_steady)
			return;
		times->whole[instance->node].count += new;
		times->steady[instance->node].count += new_steady;
		instance->counted |= bit;
		if (steady)
			instance->counted_steady |= bit;
		serial = instance->parent;
	}
}
