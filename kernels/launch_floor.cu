/*
 * launch_floor: an empty kernel of one thread.
 *
 * Saturates: nothing; it is the shortest thing that can be launched, and a GPU that runs only such
 * kernels waits for launches. Metric: all are near zero. Leaf: underfilled, with counters and
 * without (grid and duration show it); the gaps between are launch and host.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

__global__ void launch_floor()
{
}

void launch_floor_prepare(struct work *work)
{
	work->blocks = 1;
	work->threads = 1;
}

void launch_floor_launch(const struct work *)
{
	launch_floor<<<1, 1>>>();
}

/* It has no result; that launches succeed is checked at each. */
bool launch_floor_check(const struct work *)
{
	return true;
}
