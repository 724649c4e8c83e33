/* FLOP/s by counters: how busy the arithmetic pipes were, times what they do at their peak. */
#ifndef PIPE_FLOPS_H
#define PIPE_FLOPS_H

#include "ceilings.h"
#include "classes.h"
#include "counters.h"

struct pipe_flops {
	struct measure per_s;
	enum ceiling pipe; /* the one that did most */
};

/*
 * The sum over pipes of utilisation x peak (`peaks`: ceilings_in_force). An estimate: utilisation
 * is in cycles, and where the SM clock was not sampled the one in force is not known.
 *
 * Tensor cores: operations depend on the type of the operands, which the kernel's name must say.
 * The value is at the clock in force, else that of data sheets with the highest as `high`; `low` is
 * what instructions of older architectures and, where it is not known, a clock held down by the
 * power limit leave (pipe_flops.c). fma: the
 * value is what FMAs alone would do, which real ones reach to 0.86 to 0.94 in fp32 products; `low`
 * is nothing, as integer multiply-adds (addresses) keep the pipe as busy. fp64: likewise, `low` is
 * half, of additions alone.
 *
 * False where a pipe that may have done FLOPs is not known. Pointwise kernels and normalisations
 * are taken to use no tensor cores; alu and xu do no FLOPs that count.
 */
bool pipe_flops_of(const struct kernel_counters *counters, const char *kernel_name,
		   enum kernel_class class, const struct ceilings *peaks, struct pipe_flops *found);

#endif
