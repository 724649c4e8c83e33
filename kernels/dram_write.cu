/*
 * dram_write: fills a buffer much larger than L2, 16 bytes a thread.
 *
 * Saturates: device memory, writes. Metric: dram__throughput. Leaf: dram (without counters:
 * unknown).
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4;

__global__ void dram_write(uint4 *target, size_t count)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		__stcs(target + i, make_uint4(pattern(4 * i), pattern(4 * i + 1),
					      pattern(4 * i + 2), pattern(4 * i + 3)));
}

void dram_write_prepare(struct work *work)
{
	work_target(work, work_size(work, (size_t)4 << 30, 4));
	work_fill_device(work, (const void *)dram_write, BLOCK, WAVES);
	work->bytes = (double)work->target_bytes;
}

void dram_write_launch(const struct work *work)
{
	dram_write<<<work->blocks, work->threads>>>((uint4 *)work->target,
						    work->target_bytes / sizeof(uint4));
}

bool dram_write_check(const struct work *work)
{
	return pattern_mismatches(work->target, work->target_bytes) == 0;
}
