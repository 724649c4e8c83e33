/*
 * l1_shared: reads shared memory, 16 bytes a thread, without bank conflicts.
 *
 * Saturates: the data path of L1 and shared memory, 128 bytes a clock and SM. Metric:
 * l1tex__throughput. Leaf: cache (without counters: unknown). Three-input adds take a quarter of
 * the ALU beside it.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, LOADS = 4, STEPS = 512, TURN = 8;
static constexpr unsigned WORDS = BLOCK * LOADS * 4;

static __device__ uint4 shared_read(unsigned address)
{
	uint4 v;

	asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
		     : "r"(address));
	return v;
}

/* A block reads all its words in each step. Threads trade places from step to step, by a `turn`
 * that the compiler does not know, or it would read once and reuse. */
__global__ void l1_shared(uint32_t *target, unsigned steps, unsigned turn)
{
	__shared__ uint4 words[LOADS][BLOCK];
	unsigned base = (unsigned)__cvta_generic_to_shared(words), place = threadIdx.x;
	uint32_t sum = 0;

	for (unsigned i = threadIdx.x; i < WORDS; i += BLOCK)
		((uint32_t *)words)[i] = pattern(i);
	__syncthreads();
#pragma unroll 4
	for (unsigned step = 0; step < steps; step++) {
		unsigned address = base + place * (unsigned)sizeof(uint4);
		uint4 v[LOADS];

#pragma unroll
		for (unsigned j = 0; j < LOADS; j++)
			v[j] = shared_read(address + j * (unsigned)sizeof(words[0]));
#pragma unroll
		for (unsigned j = 0; j < LOADS; j++)
			sum += v[j].x + v[j].y + v[j].z + v[j].w;
		place = (place + turn) % BLOCK;
	}
	target[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

void l1_shared_prepare(struct work *work)
{
	work_fill_device(work, (const void *)l1_shared, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * 4);
	work->bytes = (double)work_thread_count(work) * LOADS * STEPS * sizeof(uint4);
}

void l1_shared_launch(const struct work *work)
{
	l1_shared<<<work->blocks, work->threads>>>(work->target, STEPS, TURN);
}

bool l1_shared_check(const struct work *work)
{
	return work_target_sum(work) == work->blocks * STEPS * pattern_sum(WORDS);
}
