/* A number with the bounds between which it is believed to lie, and arithmetic that keeps them. */
#ifndef MEASURE_H
#define MEASURE_H

#include <math.h>
#include <stdbool.h>

/* A number that may be unknown, with the bounds between which it is believed to lie. */
struct measure {
	bool known;
	double value;
	double low;
	double high;
};

/*
 * Interval arithmetic (Moore, Interval Analysis, 1966) on numbers that are not negative: what comes
 * out holds every value that the bounds allow. Operands are taken as independent, so no interval is
 * too narrow. A result is known where all operands are.
 */
static inline struct measure measure_exact(double value)
{
	return (struct measure){true, value, value, value};
}

static inline struct measure measure_scaled(struct measure m, double factor)
{
	return (struct measure){m.known, m.value * factor, m.low * factor, m.high * factor};
}

static inline struct measure measure_sum(struct measure a, struct measure b)
{
	if (!a.known || !b.known)
		return (struct measure){0};
	return (struct measure){true, a.value + b.value, a.low + b.low, a.high + b.high};
}

static inline struct measure measure_product(struct measure a, struct measure b)
{
	if (!a.known || !b.known)
		return (struct measure){0};
	return (struct measure){true, a.value * b.value, a.low * b.low, a.high * b.high};
}

/* Unknown where the divisor may be nothing: no upper bound could be given. */
static inline struct measure measure_ratio(struct measure a, struct measure b)
{
	if (!a.known || !b.known || b.low <= 0)
		return (struct measure){0};
	return (struct measure){true, a.value / b.value, a.low / b.high, a.high / b.low};
}

/* The larger of both, bound by bound. */
static inline struct measure measure_larger(struct measure a, struct measure b)
{
	if (!a.known || !b.known)
		return (struct measure){0};
	return (struct measure){true, fmax(a.value, b.value), fmax(a.low, b.low),
				fmax(a.high, b.high)};
}

#endif
