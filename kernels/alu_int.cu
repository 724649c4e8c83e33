/*
 * alu_int: independent chains of rotate and exclusive-or.
 *
 * Saturates: the ALU pipe, 64 lanes an SM. Metric: sm__inst_executed_pipe_alu. Leaf: compute
 * (without counters: unknown). Neither instruction has a form on the FMA pipe, to which the
 * compiler moves adds and multiplies.
 */
#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WAVES = 4, CHAINS = 8, STEPS = 1024;
static constexpr uint32_t TURN = 7, MASK = 0x5bd1e995;

__global__ void alu_int(uint32_t *target, uint32_t turn, uint32_t mask, unsigned steps)
{
	uint32_t chain[CHAINS], sum = 0;

#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		chain[j] = pattern(threadIdx.x * CHAINS + j);
#pragma unroll 4
	for (unsigned step = 0; step < steps; step++) {
#pragma unroll
		for (unsigned j = 0; j < CHAINS; j++)
			chain[j] = __funnelshift_l(chain[j], chain[j], turn) ^ mask;
	}
#pragma unroll
	for (unsigned j = 0; j < CHAINS; j++)
		sum += chain[j];
	target[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static uint32_t chain_end(uint32_t chain)
{
	for (unsigned step = 0; step < STEPS; step++)
		chain = (chain << TURN | chain >> (32 - TURN)) ^ MASK;
	return chain;
}

void alu_int_prepare(struct work *work)
{
	work_fill_device(work, (const void *)alu_int, BLOCK, WAVES);
	work_target(work, work_thread_count(work) * 4);
	work->operations = 2.0 * CHAINS * STEPS * (double)work_thread_count(work);
}

void alu_int_launch(const struct work *work)
{
	alu_int<<<work->blocks, work->threads>>>(work->target, TURN, MASK, STEPS);
}

bool alu_int_check(const struct work *work)
{
	uint32_t expected = 0;

	for (uint32_t i = 0; i < BLOCK * CHAINS; i++)
		expected += chain_end(pattern(i));
	return work_target_sum(work) == work->blocks * expected;
}
