/* Repeated measurements as one figure with its spread. */
#ifndef MEASURE_H
#define MEASURE_H

#include <functional>
#include <vector>

#include "kernels/kernels.h"

/* A ceiling, or the reason why there is none. */
struct measured {
	bool known;
	double value;       /* the median */
	double low, high;   /* the 10th and the 90th percentile */
	unsigned n;         /* samples */
	const char *unit;   /* static */
	const char *reason; /* where it is not known: static words */
};

struct measured measured_of(std::vector<double> samples, const char *unit);
struct measured measured_not(const char *reason);

/*
 * Seconds that one call of `enqueue` keeps the default stream busy, from events between `count`
 * calls queued in a row: the first ones, up to `warm_s` seconds, are not counted.
 */
std::vector<double> measure_seconds(const std::function<void()> &enqueue, double warm_s,
				    unsigned count);

/* What a micro-kernel moves or computes a second; not known where its result is wrong. */
struct measured measure_kernel(const struct gpu *gpu, const char *name);

#endif
