/* What a launch of a kernel computes and moves, by the best evidence there is. */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

#include "arithmetic.h"
#include "classes.h"
#include "counters.h"

struct kernel_work_input {
	const char *name;
	enum kernel_class class;
	double duration_ns; /* mean of the window */
	const struct kernel_arithmetic *arithmetic;
	const struct kernel_counters *counters;
	const struct measure *geometry_bytes;
	const struct ceilings *peaks; /* derived */
};

struct kernel_work {
	struct measure flops, bytes; /* per launch */
	enum evidence flops_source;  /* EVIDENCE_LIBRARY, .._COUNTERS; .._NONE = unknown */
	enum evidence bytes_source;  /* also EVIDENCE_GEOMETRY */
	enum ceiling pipe;           /* that does the arithmetic; CEILING_COUNT = not known */
};

/*
 * FLOPs: of library calls, exact; else by the pipes' utilisation (pipe_flops.h), an estimate.
 * Bytes: DRAM utilisation x peak bandwidth x duration, what moved; else the least bytes of library
 * calls, each operand once; else those of the elements that name and grid tell (geometry_bytes.h). Utilisations are of hardware peaks, so both go by `peaks`. The pipe is
 * the one of the library call's types, else of the operands in the name, else the busiest.
 */
struct kernel_work kernel_work_of(const struct kernel_work_input *input);

#endif
