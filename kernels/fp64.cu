/*
 * fp64: independent chains of fused multiply-adds in double, nothing else.
 *
 * Saturates: the FP64 pipe. Metric: sm__inst_executed_pipe_fp64. Leaf: compute (without counters:
 * unknown).
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/fma_chains.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, CHAINS = 8, STEPS = 2047;
static constexpr double OFFSET = 3;

__global__ void fp64(double *target, double scale, double offset, unsigned steps)
{
	target[blockIdx.x * blockDim.x + threadIdx.x] =
		fma_chains<double, CHAINS>((double)threadIdx.x, scale, offset, steps);
}

void fp64_prepare(struct work *work)
{
	work_fill_device(work, (const void *)fp64, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * sizeof(double));
	work->operations = 2.0 * CHAINS * STEPS * (double)work_thread_count(work);
}

void fp64_launch(const struct work *work)
{
	fp64<<<work->blocks, work->threads>>>((double *)work->target, -1, OFFSET, STEPS);
}

bool fp64_check(const struct work *work)
{
	double *sums = (double *)work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < work_thread_count(work); i++)
		right &=
			sums[i] == fma_chains_expected<double, CHAINS>((double)(i % BLOCK), OFFSET);
	free(sums);
	return right;
}
