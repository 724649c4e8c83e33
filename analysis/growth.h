/* How time grows with work: elasticities, and what they say. */
#ifndef GROWTH_H
#define GROWTH_H

#include "report.h"

struct growth_point {
	double work;
	double time_ns;
	double error; /* relative standard error of the time; NAN where unknown */
};

/*
 * The elasticity between two points, d ln time / d ln work: 0 where time does not grow, 1 where it
 * grows in step, and for time made of a fixed part and one in proportion to work, about the share
 * of the second. low and high are the 95 % interval that follows from the errors of the times; NAN
 * where these are unknown. Unknown where the works are the same or a time is 0.
 */
struct measure growth_between(const struct growth_point *a, const struct growth_point *b);

/*
 * The same over all points: the exponent of time ~ work^x by least squares of the logarithms. The
 * interval is again that of the times' errors: it says how well the mean exponent is known, not
 * that the growth is a power law.
 */
struct measure growth_over(const struct growth_point *points, size_t count);

enum growth {
	GROWTH_UNKNOWN,
	GROWTH_NONE,    /* below a quarter of the time grows: what binds is not the work */
	GROWTH_PART,    /* up to three quarters */
	GROWTH_IN_STEP, /* what binds is the work: some unit is full */
	GROWTH_MORE,    /* time grows faster than the work as counted */
};

enum growth growth_of(const struct measure *elasticity);

/* "none", "part", "in step", "more"; static. */
const char *growth_name(enum growth growth);

/* What binds, by growth alone: "overhead", "overhead in part", "compute or memory"; static. */
const char *growth_regime_words(enum growth growth);

/* Do growth and the label of one trace say the same? False as well where either says nothing. */
bool growth_agrees(enum growth growth, enum regime regime);

#endif
