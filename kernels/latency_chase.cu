/*
 * latency_chase: one lane of each warp follows a chain of addresses through device memory.
 *
 * Saturates: nothing, on a GPU full of warps: each waits for its own last load, and a hop moves 32
 * bytes. Metric: none is high, dram__throughput the highest (about a tenth). Leaf: latency (without
 * counters: unknown).
 *
 * The chain is a linear congruence modulo the number of nodes, a power of two, with a period of all
 * of them (Hull and Dobell: odd increment, multiplier 1 modulo 4), so the host can follow it too.
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WARP = 32, WAVES = 2, STEPS = 500;
static constexpr unsigned APART = 32; /* words between nodes: a line of 128 bytes */
static constexpr uint32_t MULTIPLIER = 1664525, INCREMENT = 1013904223;

static __host__ __device__ uint32_t next_node(uint32_t node, uint32_t count)
{
	return (node * MULTIPLIER + INCREMENT) & (count - 1);
}

static __host__ __device__ uint32_t first_node(size_t warp, uint32_t count)
{
	return pattern(warp) & (count - 1);
}

static __global__ void link_nodes(uint32_t *nodes, uint32_t count)
{
	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
	     i += gridDim.x * blockDim.x)
		nodes[(size_t)i * APART] = next_node(i, count);
}

__global__ void latency_chase(const uint32_t *nodes, uint32_t *target, uint32_t count,
			      unsigned steps)
{
	unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
	uint32_t node = first_node(warp, count);

	if (threadIdx.x % WARP)
		return;
	for (unsigned step = 0; step < steps; step++)
		node = nodes[(size_t)node * APART];
	target[warp] = node;
}

static uint32_t node_count(const struct work *work)
{
	return (uint32_t)(work->source_bytes / 4 / APART);
}

void latency_chase_prepare(struct work *work)
{
	size_t most = work_size(work, (size_t)1 << 30, 8), bytes = 1 << 20;

	while (2 * bytes <= most)
		bytes *= 2;
	work_source(work, bytes);
	link_nodes<<<4096, BLOCK>>>(work->source, node_count(work));
	CHECK(cudaGetLastError());
	work_fill_device(work, (const void *)latency_chase, BLOCK, WAVES);
	work_target(work, work_thread_count(work) / WARP * 4);
}

void latency_chase_launch(const struct work *work)
{
	latency_chase<<<work->blocks, work->threads>>>(work->source, work->target, node_count(work),
						       STEPS);
}

static uint32_t chain_end(size_t warp, uint32_t count)
{
	uint32_t node = first_node(warp, count);

	for (unsigned step = 0; step < STEPS; step++)
		node = next_node(node, count);
	return node;
}

bool latency_chase_check(const struct work *work)
{
	uint32_t *ends = work_fetch(work);
	bool right = true;

	for (size_t i = 0; i < work->target_bytes / 4; i++)
		right &= ends[i] == chain_end(i, node_count(work));
	free(ends);
	return right;
}
