/*
 * sfu: independent chains of 2^-x.
 *
 * Saturates: the special-function unit, 16 lanes an SM. Metric: sm__inst_executed_pipe_xu. Leaf:
 * compute (without counters: unknown; from counters without the XU pipe: latency).
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, CHAINS = 4, STEPS = 1024;
static constexpr float FIXED_POINT = 0.6411857f; /* of 2^-x, to which every chain converges */

static __device__ float exp2_minus(float x)
{
	float y;

	/* Without .ftz a multiplication on either side would guard denormal numbers. */
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(-x));
	return y;
}

__global__ void sfu(float *target, unsigned steps)
{
	float chain[CHAINS], sum = 0;

#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		chain[j] = (float)((threadIdx.x + j) % 8);
#pragma unroll 4
	for (unsigned step = 0; step < steps; step++) {
#pragma unroll
		for (unsigned j = 0; j < CHAINS; j++)
			chain[j] = exp2_minus(chain[j]);
	}
#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		sum += chain[j];
	target[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

void sfu_prepare(struct work *work)
{
	work_fill_device(work, (const void *)sfu, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * sizeof(float));
	work->operations = (double)CHAINS * STEPS * (double)work_thread_count(work);
}

void sfu_launch(const struct work *work)
{
	sfu<<<work->blocks, work->threads>>>((float *)work->target, STEPS);
}

bool sfu_check(const struct work *work)
{
	float *sums = (float *)work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < work_thread_count(work); i++)
		right &= fabsf(sums[i] / CHAINS - FIXED_POINT) < 1e-5f;
	free(sums);
	return right;
}
