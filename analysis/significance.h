/* Is a difference between two runs more than their own unrest? */
#ifndef SIGNIFICANCE_H
#define SIGNIFICANCE_H

#include "report.h"

/* Smaller changes of a step are called noise whatever the test says: two runs of one program in one
 * state differ by about that much in clock and placement alone. */
#define SIGNIFICANCE_STEP_LEAST 0.01

/* Of a kernel's mean duration likewise; and in time, the tick in which an H200 gives its
 * timestamps. Without a spread (a kernel launched once) only a change of a tenth counts. */
#define SIGNIFICANCE_KERNEL_LEAST 0.02
#define SIGNIFICANCE_TICK_NS 32
#define SIGNIFICANCE_UNTESTED_LEAST 0.10

/*
 * The difference of the median steps, b - a, and its 95 % confidence interval. The spread is that of
 * the medians of 20 consecutive stretches (batch means: Schmeiser, "Batch size effects in the
 * analysis of simulation output", 1982), so that steps which resemble their neighbours do not count
 * as so many independent ones; the two runs have variances of their own (Welch 1947). Unknown
 * unless both have two stretches.
 *
 * The interval speaks of these two runs. That another run of the same program would differ by more
 * is something that two runs cannot show.
 */
struct measure significance_of_steps(const struct steps *a, const struct steps *b);

/* Relative standard error of the median step, by the same stretches. */
struct measure significance_step_error(const struct steps *steps);

/* Does the interval exclude zero, and is the difference large enough, given what it differs from? */
bool significance_reached(const struct measure *difference, double base_ns);

/*
 * The difference of a kernel's mean durations, b - a, with three standard errors either way: a run
 * has hundreds of kernels, so that one in twenty would be too many. Unknown where a side has no
 * spread.
 */
struct measure significance_of_kernel(const struct kernel_report *a, const struct kernel_report *b);

/* Did the kernel's duration change? -1 faster, 1 slower, 0 neither. */
int significance_pace(const struct kernel_report *a, const struct kernel_report *b);

/* The 97.5 % point of Student's t with `freedom` degrees (at least 1). */
double significance_t(double freedom);

#endif
