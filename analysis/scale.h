/* Runs of one program at several sizes: how the time of a step, its leaves and its kernels grow. */
#ifndef SCALE_H
#define SCALE_H

#include "growth.h"
#include "view.h"
#include "work.h"

/* A time per unit (a step, or the window) at each size, and how it grows. */
struct scale_series {
	double time_ns[WORK_RUNS_MOST];
	double error[WORK_RUNS_MOST];           /* relative standard error; NAN where unknown */
	struct measure between[WORK_RUNS_MOST]; /* [i]: from i - 1 to i */
	struct measure over;                    /* over all */
};

struct scale_run {
	const struct process_report *process;
	const struct device_report *device;
	const struct window *window;
	uint64_t units;
	double work;       /* relative to the smallest */
	uint64_t launches; /* kernels per unit */
};

/* A kernel that every run has, whatever its shape, or with a `name` of NULL the kernels of a
 * category that not every run has. */
struct scale_kernel {
	const char *name, *short_name, *category;
	struct scale_series series;
	double launches[WORK_RUNS_MOST]; /* per unit */
	enum leaf leaf[WORK_RUNS_MOST]; /* of most of its time; LEAF_UNKNOWN where it did not run */
};

struct scale {
	struct scale_run run[WORK_RUNS_MOST]; /* smallest work first */
	size_t count;
	bool per_step; /* else per window */
	struct work work;
	struct scale_series whole; /* median step, or window */
	struct scale_series leaf[LEAF_COUNT];
	struct scale_kernel *kernels; /* largest at the largest size first */
	size_t kernel_count;
};

enum scale_status {
	SCALE_DONE,
	SCALE_NO_TIMES, /* a run has no device times */
	SCALE_NO_WORK,  /* nothing tells how much work each did */
	SCALE_NO_MEMORY,
};

/*
 * Compares the busiest device of each report. `work` is what the user gave, in the order of the
 * reports, or NULL: it is inferred then. On SCALE_NO_TIMES *culprit is the index of such a report.
 * 2 to WORK_RUNS_MOST reports, which must outlive the scale.
 */
enum scale_status scale_make(const struct report *reports, size_t count, const struct work *work,
			     const struct view *view, struct scale *scale, size_t *culprit);
void scale_fini(struct scale *scale);

/* The growth between the two largest sizes: what holds where the user would go on from. */
enum growth scale_growth(const struct scale *scale, const struct scale_series *series);

#endif
