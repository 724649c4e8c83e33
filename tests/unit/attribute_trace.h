/* A recorded trace with samples, fed to the solver as the analysis would. */
#ifndef TESTS_UNIT_ATTRIBUTE_TRACE_H
#define TESTS_UNIT_ATTRIBUTE_TRACE_H

#include "analysis/attribute.h"

struct attribute_trace_run {
	uint64_t begin_ns, end_ns;
	uint32_t signature; /* index below */
};

struct attribute_trace_signature {
	char *name; /* as recorded */
	uint64_t blocks, threads;
};

struct attribute_trace {
	struct attribute_trace_run *run; /* by begin */
	size_t runs;
	struct attribute_sample *sample; /* by begin; metrics by slot, percentages in points */
	size_t samples;
	struct attribute_trace_signature *signature;
	size_t signatures;
};

/* Reads tests/golden/h200-bert.bst or one like it; the test fails when it cannot. */
void attribute_trace_load(struct attribute_trace *t, const char *path);
void attribute_trace_free(struct attribute_trace *t);

/* Adds every kernel and sample, kernels moved by `offset_ns`, and solves. */
struct attribute *attribute_trace_solve(const struct attribute_trace *t,
					const struct attribute_options *options, int64_t offset_ns);

#endif
