/*
 * dram_copy: copies between two buffers much larger than L2, 16 bytes a thread and four loads in
 * flight.
 *
 * Saturates: device memory, reads and writes in turn. Metric: dram__throughput. Leaf: dram (without
 * counters: unknown).
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4;

__global__ void dram_copy(const uint4 *source, uint4 *target, size_t count)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	for (; i + 3 * stride < count; i += 4 * stride) {
		uint4 a = __ldcs(source + i), b = __ldcs(source + i + stride);
		uint4 c = __ldcs(source + i + 2 * stride), d = __ldcs(source + i + 3 * stride);

		__stcs(target + i, a);
		__stcs(target + i + stride, b);
		__stcs(target + i + 2 * stride, c);
		__stcs(target + i + 3 * stride, d);
	}
	for (; i < count; i += stride)
		__stcs(target + i, __ldcs(source + i));
}

void dram_copy_prepare(struct work *work)
{
	size_t bytes = work_size(work, (size_t)2 << 30, 8);

	work_source(work, bytes);
	pattern_fill(work->source, bytes);
	work_target(work, bytes);
	work_fill_device(work, (const void *)dram_copy, BLOCK, WAVES);
	work->bytes = 2 * (double)bytes;
}

void dram_copy_launch(const struct work *work)
{
	dram_copy<<<work->blocks, work->threads>>>((const uint4 *)work->source,
						   (uint4 *)work->target,
						   work->source_bytes / sizeof(uint4));
}

bool dram_copy_check(const struct work *work)
{
	return pattern_mismatches(work->target, work->target_bytes) == 0;
}
