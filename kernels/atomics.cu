/*
 * atomics: adds one to counters that L2 holds, neighbours by neighbouring threads.
 *
 * Saturates: the atomic units of L2. Metric: lts__throughput (of it,
 * lts__d_atomic_input_cycles_active). Leaf: cache (without counters: unknown).
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 2, STEPS = 1024;
static constexpr unsigned COUNTERS = 1 << 20;

/* No result is used, so the compiler makes reductions of it, which nothing waits for. */
__global__ void atomics(uint32_t *target, unsigned steps)
{
	unsigned all = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned step = 0; step < steps; step++) {
		atomicAdd(target + i % COUNTERS, 1);
		i += all;
	}
}

void atomics_prepare(struct work *work)
{
	work_target(work, (size_t)COUNTERS * 4);
	CHECK(cudaMemset(work->target, 0, work->target_bytes));
	work_fill_device(work, (const void *)atomics, BLOCK, WAVES);
	work->operations = (double)work_thread_count(work) * STEPS;
}

void atomics_launch(const struct work *work)
{
	atomics<<<work->blocks, work->threads>>>(work->target, STEPS);
}

bool atomics_check(const struct work *work)
{
	size_t adds = work_thread_count(work) * STEPS;
	uint32_t *counters = work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < COUNTERS; i++)
		right &= counters[i] ==
			 (uint32_t)(work->launches * (adds / COUNTERS + (i < adds % COUNTERS)));
	free(counters);
	return right;
}
