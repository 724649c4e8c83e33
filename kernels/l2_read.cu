/*
 * l2_read: reads a buffer that L2 holds again and again, past L1.
 *
 * Saturates: L2 and its way to the SMs. Metric: lts__throughput. Leaf: cache (without counters:
 * unknown). The buffer is an eighth of L2: on GPUs whose L2 has two halves, data that both halves'
 * SMs read stands in both. All that the hardware gives may still be little over 60 % of the
 * metric's peak: published read tests of an H100 reach 5.5 to 6 TB/s.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, LOADS = 4;
static constexpr size_t PASSES = 1024; /* over the buffer, in one launch */

/* `count` is a power of two. Thread t reads t, t + all, t + 2 all ... of an endless repetition. */
__global__ void l2_read(const uint4 *source, uint32_t *target, unsigned count, unsigned steps)
{
	unsigned all = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned i = thread;
	uint32_t sum = 0;

	for (unsigned step = 0; step < steps; step++) {
		uint4 v[LOADS];

#pragma unroll
		for (unsigned j = 0; j < LOADS; j++)
			v[j] = __ldcg(source + ((i + j * all) & (count - 1)));
#pragma unroll
		for (unsigned j = 0; j < LOADS; j++)
			sum += v[j].x + v[j].y + v[j].z + v[j].w;
		i += LOADS * all;
	}
	target[thread] = sum;
}

static unsigned quads(const struct work *work)
{
	return (unsigned)(work->source_bytes / sizeof(uint4));
}

static unsigned steps(const struct work *work)
{
	return (unsigned)(PASSES * quads(work) / (LOADS * work_thread_count(work))) + 1;
}

static size_t loads(const struct work *work)
{
	return work_thread_count(work) * LOADS * steps(work);
}

void l2_read_prepare(struct work *work)
{
	size_t bytes = 1 << 20;

	while (2 * bytes <= work->gpu->l2_bytes / 8)
		bytes *= 2;
	work_source(work, bytes);
	pattern_fill(work->source, bytes);
	work_fill_device(work, (const void *)l2_read, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * 4);
	work->bytes = (double)loads(work) * sizeof(uint4);
}

void l2_read_launch(const struct work *work)
{
	l2_read<<<work->blocks, work->threads>>>((const uint4 *)work->source, work->target,
						 quads(work), steps(work));
}

bool l2_read_check(const struct work *work)
{
	size_t passes = loads(work) / quads(work), rest = loads(work) % quads(work);
	uint32_t expected = (uint32_t)passes * pattern_sum(work->source_bytes / 4);

	return work_target_sum(work) == expected + pattern_sum(4 * rest);
}
