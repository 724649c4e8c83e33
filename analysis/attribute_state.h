/* What attribute.c gathers and attribute_solve.c reads. */
#ifndef ATTRIBUTE_STATE_H
#define ATTRIBUTE_STATE_H

#include "attribute.h"
#include "dict.h"
#include "duration_class.h"
#include "overlap.h"
#include "quantile.h"
#include "sample_rows.h"

/*
 * A signature serving one shape, 0 = none that is told apart. Its columns are index x
 * DURATION_CLASSES + class.
 */
struct attribute_record {
	struct duration_classes classes;
	uint64_t launches;
	uint64_t total_ns;
	uint32_t shape;
	uint32_t next; /* of the same signature: index + 1, 0 = this is the last */
};

/* A signature that ran. */
struct attribute_family {
	uint32_t first, last; /* records */
	uint32_t records;
	uint32_t shapes; /* of them, those with a shape */
};

/* The last column: time in which nothing ran. */
#define IDLE_COLUMN OVERLAP_IDLE
/* So that no column is one of OVERLAP_IDLE and OVERLAP_SEVERAL. What finds no place makes holes. */
#define RECORD_LIMIT ((SAMPLE_COLUMNS / DURATION_CLASSES) - 1)

/* Sums over samples in which nothing ran. */
struct idle_pool {
	double count[ATTRIBUTE_METRICS], sum[ATTRIBUTE_METRICS], square_sum[ATTRIBUTE_METRICS];
	uint64_t samples;
};

struct attribute {
	struct attribute_options options;
	struct dict signatures;          /* of signature + 1: ids there start at 1 */
	struct attribute_family *family; /* by index, in the order of first launch */
	size_t families, family_capacity;
	struct attribute_record *record; /* likewise */
	size_t records, record_capacity;
	/* Until the clocks are aligned, all waits here. */
	bool aligned;
	struct attribute_kernel *kernel;
	size_t kernels, kernel_capacity;
	struct overlap_sample *sample;
	size_t samples, sample_capacity;
	struct overlap overlap;
	struct sample_rows rows;
	struct align_interval *hole;
	size_t holes, hole_capacity, hole_at;
	int64_t shift_ns;                           /* added to the times of kernels */
	double lag_deviation_ns[ATTRIBUTE_METRICS]; /* of summary.lag_ns */
	bool burst;                                 /* the next sample is the first of one */
	uint64_t sample_end_ns;                     /* of the last good sample */
	struct quantile lengths;                    /* of good samples */
	bool ran;                                   /* a kernel was in some row */
	struct idle_pool idle, idle_tail;           /* the tail: since the last row with a kernel */
	double most_seen[ATTRIBUTE_METRICS];        /* per ns where it is an amount */
	struct attribute_summary summary;
	struct attribute_estimate *estimate; /* families x ATTRIBUTE_METRICS */
	struct attribute_estimate
		*shape_estimate; /* records x ATTRIBUTE_METRICS, of families of several */
};

/* Of its first record: index + 1, 0 = it has none, or is NULL. */
static inline uint32_t attribute_first(const struct attribute_family *family)
{
	return family && family->records ? family->first + 1 : 0;
}

/* The record of a signature that serves a shape, or NULL; and its family. */
struct attribute_record *attribute_record_of(const struct attribute *a,
					     const struct attribute_family *family, uint32_t shape);
const struct attribute_family *attribute_family_of(const struct attribute *a, uint32_t signature);

/* Nothing comes any more: all rows are made. 0, or -1 without memory. */
int attribute_gather(struct attribute *a);

#endif
