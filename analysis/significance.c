/* Spreads, intervals and the bounds of what is worth telling. */
#include "significance.h"

#include <math.h>

#define KERNEL_SIGMAS 3.0

/*
 * Abramowitz and Stegun 26.7.5, an expansion in 1/freedom: within 0.3 % from three degrees on. One
 * and two have closed forms.
 */
double significance_t(double freedom)
{
	const double z = 1.959963985, z2 = z * z;
	double n = freedom;

	if (n < 1.5)
		return 12.7062;
	if (n < 2.5)
		return 4.30265;
	return z *
	       (1 + (z2 + 1) / (4 * n) + ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
		(((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * n * n * n) +
		((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / (92160 * n * n * n * n));
}

/* Variance of the mean of the batches, in ns^2. */
static double variance_of(const struct steps *steps)
{
	double n = steps->batch_count, mean = 0, sum = 0;

	for (unsigned i = 0; i < steps->batch_count; i++)
		mean += (double)steps->batch_ns[i] / n;
	for (unsigned i = 0; i < steps->batch_count; i++)
		sum += ((double)steps->batch_ns[i] - mean) * ((double)steps->batch_ns[i] - mean);
	return sum / (n - 1) / n;
}

static bool has_spread(const struct steps *steps)
{
	return steps->known && steps->batch_count >= 2;
}

/* Degrees of freedom after Welch and Satterthwaite. */
static double freedom_of(double va, unsigned na, double vb, unsigned nb)
{
	double below = va * va / (na - 1) + vb * vb / (nb - 1);

	return below > 0 ? (va + vb) * (va + vb) / below : na + nb - 2;
}

struct measure significance_of_steps(const struct steps *a, const struct steps *b)
{
	double va, vb, value, half;

	if (!has_spread(a) || !has_spread(b))
		return (struct measure){0};
	va = variance_of(a);
	vb = variance_of(b);
	value = (double)b->period_ns - (double)a->period_ns;
	half = significance_t(freedom_of(va, a->batch_count, vb, b->batch_count)) * sqrt(va + vb);
	return (struct measure){true, value, value - half, value + half};
}

struct measure significance_step_error(const struct steps *steps)
{
	double error;

	if (!has_spread(steps) || !steps->period_ns)
		return (struct measure){0};
	error = sqrt(variance_of(steps)) / (double)steps->period_ns;
	return (struct measure){true, error, error, error};
}

bool significance_reached(const struct measure *difference, double base_ns)
{
	return difference->known && (difference->low > 0 || difference->high < 0) &&
	       fabs(difference->value) >= SIGNIFICANCE_STEP_LEAST * base_ns;
}

struct measure significance_of_kernel(const struct kernel_report *a, const struct kernel_report *b)
{
	double value = b->mean_ns - a->mean_ns, half;

	if (!a->deviation_ns.known || !b->deviation_ns.known)
		return (struct measure){0};
	half = KERNEL_SIGMAS *
	       sqrt(a->deviation_ns.value * a->deviation_ns.value / (double)a->launches +
		    b->deviation_ns.value * b->deviation_ns.value / (double)b->launches);
	return (struct measure){true, value, value - half, value + half};
}

int significance_pace(const struct kernel_report *a, const struct kernel_report *b)
{
	struct measure difference = significance_of_kernel(a, b);
	double value = b->mean_ns - a->mean_ns, least;

	least = difference.known ? SIGNIFICANCE_KERNEL_LEAST : SIGNIFICANCE_UNTESTED_LEAST;
	if (!a->launches || !b->launches || fabs(value) < least * fmin(a->mean_ns, b->mean_ns) ||
	    fabs(value) < SIGNIFICANCE_TICK_NS)
		return 0;
	if (difference.known && difference.low <= 0 && difference.high >= 0)
		return 0;
	return value > 0 ? 1 : -1;
}
