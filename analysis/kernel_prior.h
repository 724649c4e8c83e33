/* What binds kernels of a family on an architecture, where neither FLOPs nor bytes decide. */
#ifndef KERNEL_PRIOR_H
#define KERNEL_PRIOR_H

#include "kernel_name.h"

struct kernel_prior {
	enum leaf leaf;    /* LEAF_UNKNOWN: no guess */
	double confidence; /* 0: `leaf` is only what such kernels lean to */
	/* Does it stand before what library calls tell, if neither FLOPs nor bytes reach 60 %? */
	bool over_idle;
};

/*
 * The kind's own (kernel_kind.def), but on 9.0 (H100, H200), where tensor cores reach their peak
 * with wgmma alone, for kernels written for 8.0 (mma.sync, operands through registers):
 *
 *   matrix products and convolutions   cache. mma.sync has 0.65 of the peak at most, and each
 *       fragment comes from shared memory by ldmatrix: L1 is the busiest unit, 73 to 90 % of peak
 *       with the tensor pipe at 37 to 64 %, in each of the five that ncu or counters measured on an
 *       H200 and that DRAM did not bind (BERT, ResNet-50; PyTorch 2.11)
 *   FlashAttention-2   latency: 35 % of peak FLOPs on an H100 (Shah and others, FlashAttention-3,
 *       2024, abstract), so 54 % of what mma.sync has; ncu on an H200: 56 %, L1 54 %
 *
 * `name` may be mangled.
 */
struct kernel_prior kernel_prior_of(const char *name, unsigned cc_major);

#endif
