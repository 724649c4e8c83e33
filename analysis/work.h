/* How much work each of several runs of one program did, relative to each other. */
#ifndef WORK_H
#define WORK_H

#include "report.h"

#define WORK_RUNS_MOST 16

/* What a run launched is of `units` steps (or of 1 window). */
struct work_run {
	const struct device_report *device;
	uint64_t units;
};

enum work_source {
	WORK_NONE,
	WORK_GIVEN,  /* by the user */
	WORK_FLOPS,  /* arithmetic of library calls */
	WORK_GRIDS,  /* threads of the kernels whose grids differ */
	WORK_COPIES, /* bytes copied to the device */
};

struct work {
	enum work_source source;
	enum confidence confidence;
	double amount[WORK_RUNS_MOST]; /* in the order of the runs; the first is 1 */
	enum work_source agrees;       /* another source that says the same; WORK_NONE if none */
};

/* Reads "1,2,4": positive numbers, as many as runs. False with *words (static) on what is wrong. */
bool work_parse(const char *text, size_t count, struct work *work, const char **words);

/*
 * Infers the amounts, by the first of these that tells: FLOPs of library calls that cover a fifth
 * of the kernels' time, the ratio that most of the kernels whose number of threads differs have in
 * common, bytes copied from host to device. High confidence where two agree, medium where FLOPs or
 * a clear majority of the kernels stand alone. False where nothing tells, or where all runs do the
 * same.
 */
bool work_infer(const struct work_run *runs, size_t count, struct work *work);

/* "FLOPs of library calls"; static. */
const char *work_source_words(enum work_source source);

#endif
