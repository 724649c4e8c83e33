/* The sampled hardware counters of a trace, handed to the solver beside the operations, and what it found of each kernel. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include "attribute.h"
#include "blind.h"
#include "decide.h"
#include "library.h"
#include "timeline.h"

#define COUNTERS_DEVICES 64

/* A kernel's utilisations while it runs, in % of peak sustained elapsed, with 90 % intervals. */
struct kernel_counters {
	struct measure tensor, fma, alu, fp64, xu; /* arithmetic pipes */
	struct measure dram_read, dram_write, l2, l1;
	bool pipe_unknown; /* a pipe was sampled and what it did here is not known: others do not tell how busy arithmetic was */
	double samples;    /* whole samples that it had: its time in samples over their length */
};

struct counters;

/* Are there samples in the trace? */
bool counters_in(const struct trace *trace);

/*
 * NULL if the trace has no samples, or without memory. Keeps trace, clock and library by reference. Samples over `blind`, where records
 * were lost, are left out. `library` tells which shapes kernels serve, if it keeps launches (library_keep_launches); NULL = nothing does.
 */
struct counters *counters_create(struct trace *trace, const struct clock *clock,
				 const struct blind *blind, struct library *library);
void counters_destroy(struct counters *counters);

/* Every operation, in the order of begin; samples come from the trace by themselves. 0, or -1 without memory. */
int counters_add(struct counters *counters, const struct op *op);

/* After the last one. 0, or -1 without memory. */
int counters_solve(struct counters *counters);

/* What is known of a signature on a device; false if nothing. After counters_solve. */
bool counters_find(const struct counters *counters, unsigned device, uint32_t signature,
		   struct kernel_counters *found);

/*
 * The same of one shape of a library call that a signature serves, and how much of its time that is. counters_shapes puts the ids of the
 * shapes, 0 = of launches without one, and returns how many there are.
 */
bool counters_find_shape(const struct counters *counters, unsigned device, uint32_t signature,
			 uint32_t shape, struct kernel_counters *found);
struct attribute_totals counters_totals_shape(const struct counters *counters, unsigned device,
					      uint32_t signature, uint32_t shape);
unsigned counters_shapes(const struct counters *counters, unsigned device, uint32_t signature,
			 uint32_t shape[ATTRIBUTE_SHAPES + 1]);

/*
 * Puts the utilisations where the decision looks: the busiest pipe, DRAM reads and writes together, L2, L1. Where arithmetic or DRAM
 * is not known the input stays as it was: half of the picture would name the wrong unit.
 */
void counters_decide_input(const struct kernel_counters *found, struct decide_input *input);

/* DRAM reads and writes together. */
struct measure counters_dram(const struct kernel_counters *found);

/* SM clock in Hz while SMs were active: mean, and between which bounds nine of ten samples were if they spread normally. */
struct measure counters_sm_clock(const struct counters *counters, unsigned device);

/*
 * SM activity in samples in which nothing of ours ran, % of peak; 0 if there are too few of them. Above COUNTERS_FOREIGN_PCT
 * somebody shares the device: then samples are not ours alone, and idle time may be somebody else's work.
 */
#define COUNTERS_FOREIGN_PCT 2.0
double counters_foreign_pct(const struct counters *counters, unsigned device);

#endif
