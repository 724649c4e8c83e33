/* How full a kernel's grid makes the device. */
#ifndef GEOMETRY_H
#define GEOMETRY_H

#include "report.h"
#include "vocabulary.h"

/* What of a device bounds the blocks that are resident at once. Known only where the trace has it.
 */
struct device_shape {
	uint64_t sm_count;
	uint64_t threads_per_sm, blocks_per_sm, registers_per_sm, shared_per_sm;
	uint64_t shared_reserved; /* of each block, by the system */
	uint64_t warp_size;
};

struct device_shape device_shape_of(const struct vocabulary *v, uint32_t device);

/*
 * Blocks of this kernel that fit one SM: the least of what threads, block slots, registers and
 * shared memory allow. 0 where they are not known or none fits. As the CUDA occupancy calculator
 * counts: registers are allocated to whole warps in units of 256 and warps to four partitions;
 * shared memory in units of 128 bytes beside what the system keeps.
 */
uint64_t geometry_blocks_per_sm(const struct device_shape *shape,
				const struct signature *signature);

/* Blocks over what the whole device holds at once. */
struct measure geometry_waves(const struct device_shape *shape, const struct signature *signature);

/* Blocks over SMs: below 1 some SMs have no work at all. */
struct measure geometry_coverage(const struct device_shape *shape,
				 const struct signature *signature);

#endif
