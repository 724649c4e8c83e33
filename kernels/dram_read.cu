/*
 * dram_read: reads a buffer much larger than L2, 16 bytes a thread and four loads in flight.
 *
 * Saturates: device memory, reads. Metric: dram__throughput. Leaf: dram (without counters:
 * unknown). An add for each 4 bytes read is far below what the ALU can do.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4;

static __device__ uint32_t sum_of(uint4 v)
{
	return v.x + v.y + v.z + v.w;
}

__global__ void dram_read(const uint4 *source, uint32_t *target, size_t count)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x, i = thread;
	uint32_t sum = 0;

	for (; i + 3 * stride < count; i += 4 * stride) {
		uint4 a = __ldcs(source + i), b = __ldcs(source + i + stride);
		uint4 c = __ldcs(source + i + 2 * stride), d = __ldcs(source + i + 3 * stride);

		sum += sum_of(a) + sum_of(b) + sum_of(c) + sum_of(d);
	}
	for (; i < count; i += stride)
		sum += sum_of(__ldcs(source + i));
	target[thread] = sum;
}

void dram_read_prepare(struct work *work)
{
	work_source(work, work_size(work, (size_t)4 << 30, 4));
	pattern_fill(work->source, work->source_bytes);
	work_fill_device(work, (const void *)dram_read, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * 4);
	work->bytes = (double)work->source_bytes;
}

void dram_read_launch(const struct work *work)
{
	dram_read<<<work->blocks, work->threads>>>((const uint4 *)work->source, work->target,
						   work->source_bytes / sizeof(uint4));
}

bool dram_read_check(const struct work *work)
{
	return work_target_sum(work) == pattern_sum(work->source_bytes / 4);
}
