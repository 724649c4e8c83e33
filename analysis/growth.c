/* Slopes of logarithms. */
#include "growth.h"

#include <math.h>

#define Z95 1.959964

/* Quarters: VERDICT_LEAST asks as much of a pillar, and more than a quarter of the work beyond in
 * step is beyond what counting work leaves open. */
#define NONE_BELOW 0.25
#define PART_BELOW 0.75
#define IN_STEP_BELOW 1.25

static bool usable(const struct growth_point *p)
{
	return p->work > 0 && p->time_ns > 0 && isfinite(p->work) && isfinite(p->time_ns);
}

static struct measure slope(double value, double error)
{
	return (struct measure){true, value, value - Z95 * error, value + Z95 * error};
}

struct measure growth_between(const struct growth_point *a, const struct growth_point *b)
{
	const struct growth_point both[] = {*a, *b};

	return growth_over(both, 2);
}

struct measure growth_over(const struct growth_point *points, size_t count)
{
	double mean_x = 0, mean_y = 0, sxx = 0, sxy = 0, error = 0, n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!usable(&points[i]))
			return (struct measure){0};
		mean_x += log(points[i].work);
		mean_y += log(points[i].time_ns);
		n++;
	}
	for (size_t i = 0; i < count; i++) {
		double dx = log(points[i].work) - mean_x / n;

		sxx += dx * dx;
		sxy += dx * (log(points[i].time_ns) - mean_y / n);
		error += dx * dx * points[i].error * points[i].error;
	}
	/* Works that differ by less than a thousandth are the same. */
	if (!(sxx > 1e-6))
		return (struct measure){0};
	return slope(sxy / sxx, sqrt(error) / sxx);
}

enum growth growth_of(const struct measure *elasticity)
{
	if (!elasticity->known)
		return GROWTH_UNKNOWN;
	if (elasticity->value < NONE_BELOW)
		return GROWTH_NONE;
	if (elasticity->value < PART_BELOW)
		return GROWTH_PART;
	return elasticity->value < IN_STEP_BELOW ? GROWTH_IN_STEP : GROWTH_MORE;
}

const char *growth_name(enum growth growth)
{
	static const char *const names[] = {
		[GROWTH_UNKNOWN] = "unknown", [GROWTH_NONE] = "none", [GROWTH_PART] = "part",
		[GROWTH_IN_STEP] = "in step", [GROWTH_MORE] = "more",
	};

	return names[growth];
}

const char *growth_regime_words(enum growth growth)
{
	static const char *const words[] = {
		[GROWTH_UNKNOWN] = "unknown",         [GROWTH_NONE] = "overhead",
		[GROWTH_PART] = "overhead in part",   [GROWTH_IN_STEP] = "compute or memory",
		[GROWTH_MORE] = "more than the work",
	};

	return words[growth];
}

bool growth_agrees(enum growth growth, enum regime regime)
{
	switch (growth) {
	case GROWTH_NONE:
		return regime == REGIME_OVERHEAD;
	case GROWTH_PART:
		return regime == REGIME_MIXED || regime == REGIME_OVERHEAD;
	case GROWTH_IN_STEP:
	case GROWTH_MORE:
		return regime == REGIME_COMPUTE || regime == REGIME_MEMORY;
	default:
		return false;
	}
}
