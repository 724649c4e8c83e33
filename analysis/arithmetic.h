/* What a kernel computed by the library calls that launched it, against the device's peaks. */
#ifndef ARITHMETIC_H
#define ARITHMETIC_H

#include "ceilings.h"
#include "decide.h"
#include "library.h"

/* Per launch. */
struct kernel_arithmetic {
	struct measure flops;
	struct measure bytes;     /* at least: each operand once */
	struct measure flops_pct; /* of the peak of the pipe that such operands use */
	struct measure bytes_pct; /* of peak DRAM bandwidth; the true figure is no less */
	enum ceiling pipe;        /* that such operands use; CEILING_COUNT = not known */
	/* Share of its time in shapes that alone are on the same side of 60 % as all together, 0..1. */
	double alike;
};

/* False where the trace does not say for nearly all launches of the signature. */
bool arithmetic_of(const struct library *library, uint32_t signature, uint64_t launches,
		   const struct ceilings *ceilings, struct kernel_arithmetic *found);

/*
 * Of attention the FLOPs are nominal: a causal mask, which no call tells, halves them, so `low` of
 * flops_pct is half and `value` between. Forward it has `high` also by its exponentials: the XU
 * gives 16 for each SM and clock (CUDA C++ Programming Guide, throughput table, 5.0 to 12.0), one is
 * needed for each 4 x head dimension FLOPs, and what is measured stays below the two in turn (Shah
 * and others, FlashAttention-3, 2024, section 1 and figures 5 to 7): 50 % with 64 on 9.0.
 *
 * Puts it where the decision looks, if FLOPs and bytes are known and the sum of its shapes has a
 * meaning: a kernel that serves one shape at 74 % of DRAM and another at 74 % of the tensor cores
 * is neither as a mean.
 */
void arithmetic_decide_input(const struct kernel_arithmetic *found, struct decide_input *input);

#endif
