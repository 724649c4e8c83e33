/* What launching costs the CPU and the GPU, with kernels that do nothing. */
#ifndef LAUNCH_COSTS_H
#define LAUNCH_COSTS_H

#include "kernels/measure.h"

struct launch_costs {
	struct measured enqueue;        /* ns of the CPU for a launch call, queue not full */
	struct measured start_to_start; /* ns on the GPU from one queued empty kernel to the next */
	struct measured shortest;       /* ns that an empty kernel adds between two events */
	struct measured graph_node; /* ns from one empty node to the next in a chain of a graph */
	struct measured graph_node_gap; /* graph_node less shortest: the device's own */
};

struct launch_costs measure_launch_costs(const struct gpu *gpu);

#endif
