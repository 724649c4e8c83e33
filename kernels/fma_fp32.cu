/*
 * fma_fp32: independent chains of fused multiply-adds in float, nothing else.
 *
 * Saturates: the FP32 FMA pipe. Metric: sm__inst_executed_pipe_fma. Leaf: compute (without
 * counters: unknown).
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/fma_chains.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, CHAINS = 16, STEPS = 2047;
static constexpr float OFFSET = 3;

__global__ void fma_fp32(float *target, float scale, float offset, unsigned steps)
{
	target[blockIdx.x * blockDim.x + threadIdx.x] =
		fma_chains<float, CHAINS>((float)threadIdx.x, scale, offset, steps);
}

void fma_fp32_prepare(struct work *work)
{
	work_fill_device(work, (const void *)fma_fp32, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * sizeof(float));
	work->operations = 2.0 * CHAINS * STEPS * (double)work_thread_count(work);
}

void fma_fp32_launch(const struct work *work)
{
	fma_fp32<<<work->blocks, work->threads>>>((float *)work->target, -1, OFFSET, STEPS);
}

bool fma_fp32_check(const struct work *work)
{
	float *sums = (float *)work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < work_thread_count(work); i++)
		right &= sums[i] == fma_chains_expected<float, CHAINS>((float)(i % BLOCK), OFFSET);
	free(sums);
	return right;
}
