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
};

/* False where the trace does not say for nearly all launches of the signature. */
bool arithmetic_of(const struct library *library, uint32_t signature, uint64_t launches,
		   const struct ceilings *ceilings, struct kernel_arithmetic *found);

/*
 * Puts it where the decision looks, if that tells anything: a unit at 60 % of peak or more. Below, the least bytes do not exclude
 * that DRAM is busy with more, and the decision is left to other evidence.
 */
void arithmetic_decide_input(const struct kernel_arithmetic *found, struct decide_input *input);

#endif
