/*
 * spin: every warp that fits the GPU sleeps until a number of clocks has passed.
 *
 * Saturates: nothing, while nvidia-smi shows 100 % GPU-Util and SM activity is full too. Metric:
 * all are near zero. Leaf: latency (without counters: unknown).
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 1, NAP_NS = 10000;
static constexpr long long CYCLES = 2000000;

__global__ void spin(uint32_t *target, long long cycles)
{
	long long begin = clock64();

	while (clock64() - begin < cycles)
		__nanosleep(NAP_NS);
	if (threadIdx.x == 0)
		target[blockIdx.x] = pattern(blockIdx.x);
}

void spin_prepare(struct work *work)
{
	work_fill_device(work, (const void *)spin, BLOCK, WAVES);
	work_target(work, (size_t)work->blocks * 4);
}

void spin_launch(const struct work *work)
{
	spin<<<work->blocks, work->threads>>>(work->target, CYCLES);
}

bool spin_check(const struct work *work)
{
	return pattern_mismatches(work->target, work->target_bytes) == 0;
}
