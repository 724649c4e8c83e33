/* One metric of many samples, unmixed into one value for each column, with what is known of its
 * error. */
#ifndef UNMIX_H
#define UNMIX_H

#include "sample_rows.h"

/* Samples are dealt out to this many groups; how far the answer moves without one of them tells its
 * error. */
#define UNMIX_GROUPS 32

/* What is to be unmixed. All arrays are the caller's and outlive the unmix. */
struct unmix_input {
	const struct sample_rows *rows;
	unsigned metric;
	double scale;           /* values are divided by it: what a busy unit gives */
	const uint16_t *column; /* from a row's column to one of ours */
	size_t columns;         /* the last one stands for idle time */
	const uint32_t *first;  /* the lowest column that shares a row with each: envelope.h */
	/* Samples in which nothing ran, which are not among the rows. */
	double idle_count, idle_sum, idle_square_sum;
};

struct unmix {
	size_t columns;
	double *value;      /* of scale, never negative */
	double *free_value; /* the same without that constraint */
	float *covariance;  /* columns x columns, symmetric: what noise and prior leave open */
	float *change;      /* UNMIX_GROUPS x columns: how each group pulls on the free values */
	uint32_t *samples;  /* that have the column */
	double *time;       /* in samples' lengths */
	uint32_t *rejected; /* of them, left out as outliers */
	double prior;       /* what columns of which nothing is known are drawn to */
	double prior_deviation;
	double lag_ns;           /* how much later than kernels what is measured comes */
	double lag_deviation_ns; /* standard deviation of that */
	uint64_t used, left_out; /* samples */
};

/* An estimate of a weighted sum of columns. */
struct unmix_sum {
	double value;
	double free_value;
	double deviation; /* standard */
	double freedom;   /* of Student's t, to scale it with */
};

/*
 * Model: y = sum over columns of share x value, + noise, whose variance is that of a floor plus
 * share x variance of the column (launches differ, and so do the parts of one launch). Weighted by
 * that variance, non-negative, drawn to the pooled mean by a ridge as strong as the spread of the
 * values asks for; samples beyond 6 standard deviations are left out. docs/attribution.md has the
 * formulas and where they come from.
 *
 * -1 without memory. Without any sample that has the metric all is zero and `used` is 0.
 */
int unmix_init(struct unmix *u, const struct unmix_input *in);
void unmix_fini(struct unmix *u);

/* The sum of weight[i] x value of column[i]. */
struct unmix_sum unmix_sum(const struct unmix *u, const uint16_t *column, const double *weight,
			   size_t count);

#endif
