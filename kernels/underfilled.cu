/*
 * underfilled: the chains of fma_fp32 in one sixteenth as many blocks as the GPU has SMs.
 *
 * Saturates: nothing, for want of blocks; the SMs that have one are busy. Metric: all are low.
 * Leaf: underfilled, with counters and without (the grid shows it). It lasts about 100 us, so that
 * it is not the launch floor that makes it so.
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/fma_chains.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, CHAINS = 16, STEPS = 5001;
static constexpr float OFFSET = 3;

__global__ void underfilled(float *target, float scale, float offset, unsigned steps)
{
	target[blockIdx.x * blockDim.x + threadIdx.x] =
		fma_chains<float, CHAINS>((float)threadIdx.x, scale, offset, steps);
}

void underfilled_prepare(struct work *work)
{
	work->threads = BLOCK;
	work->blocks = (unsigned)work->gpu->sm_count / 16 + 1;
	work_target(work, work_thread_count(work) * sizeof(float));
	work->operations = 2.0 * CHAINS * STEPS * (double)work_thread_count(work);
}

void underfilled_launch(const struct work *work)
{
	underfilled<<<work->blocks, work->threads>>>((float *)work->target, -1, OFFSET, STEPS);
}

bool underfilled_check(const struct work *work)
{
	float *sums = (float *)work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < work_thread_count(work); i++)
		right &= sums[i] == fma_chains_expected<float, CHAINS>((float)(i % BLOCK), OFFSET);
	free(sums);
	return right;
}
