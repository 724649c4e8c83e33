/* The time of one device by the NVTX ranges in which its work was launched: it sums to the windows'. */
#ifndef RANGE_TIMES_H
#define RANGE_TIMES_H

#include "leaf.h"
#include "ranges.h"

struct range_time {
	uint64_t count; /* instances that had work of the device there; 0 for RANGE_OUTSIDE */
	uint64_t leaf_ns[LEAF_COUNT]; /* without that of ranges inside */
};

/* Rows by node of the tree; all NULL where the trace has no ranges. */
struct range_times {
	struct ranges *ranges;
	unsigned device;
	struct range_time *whole, *steady;
};

/* -1 without memory. Keeps `ranges`, which may be NULL, by reference. */
int range_times_init(struct range_times *times, struct ranges *ranges, unsigned device);
void range_times_fini(struct range_times *times);

/* Work of the device was launched in an instance: it counts, and those around it, once for each
 * window. */
void range_times_count(struct range_times *times, uint32_t serial, bool steady);

static inline void range_times_add(struct range_times *times, uint32_t node, enum leaf leaf,
				   uint64_t whole_ns, uint64_t steady_ns)
{
	if (!times->whole)
		return;
	times->whole[node].leaf_ns[leaf] += whole_ns;
	times->steady[node].leaf_ns[leaf] += steady_ns;
}

#endif
