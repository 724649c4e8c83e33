/* Block principal pivoting. */
#include "nnls.h"

#include <math.h>
#include <stdlib.h>

/* Rounds in which all wrong variables change sides though their number does not fall; then one at a
 * time. */
#define PATIENCE 3

/* Wrong by less than this share of the numbers it comes from is rounding. */
#define ROUNDING 1e-10

struct pivoting {
	const struct envelope *gram;
	const double *q;
	double ridge;
	bool *fixed;
	double *x;
	double *slope; /* G x + ridge x - q */
	uint32_t *wrong;
};

static bool solve_free(const struct pivoting *p, struct envelope *factor)
{
	size_t n = p->gram->size;

	if (!envelope_factor(p->gram, p->ridge, p->fixed, factor))
		return false;
	for (size_t i = 0; i < n; i++)
		p->x[i] = p->fixed[i] ? 0 : p->q[i];
	envelope_solve(factor, p->x);
	envelope_multiply(p->gram, p->x, p->slope);
	for (size_t i = 0; i < n; i++)
		p->slope[i] += p->ridge * p->x[i] - p->q[i];
	return true;
}

static double largest(const double *values, size_t count)
{
	double most = 0;

	for (size_t i = 0; i < count; i++)
		most = fmax(most, fabs(values[i]));
	return most;
}

/* Variables on the wrong side: their number, and which they are in `wrong`. */
static size_t find_wrong(const struct pivoting *p)
{
	size_t n = p->gram->size, count = 0;
	double most = largest(p->x, n);

	for (size_t i = 0; i < n; i++) {
		double size = fabs(p->q[i]) + *envelope_at(p->gram, i, i) * most;

		if (p->fixed[i] ? p->slope[i] < -ROUNDING * size : p->x[i] < -ROUNDING * most)
			p->wrong[count++] = (uint32_t)i;
	}
	return count;
}

static void exchange(const struct pivoting *p, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		p->fixed[p->wrong[i]] = !p->fixed[p->wrong[i]];
}

static bool pivot(const struct pivoting *p, struct envelope *factor)
{
	size_t best = SIZE_MAX, limit = 20 * p->gram->size + 100;
	unsigned patience = PATIENCE;

	for (size_t round = 0; round < limit; round++) {
		size_t wrong;

		if (!solve_free(p, factor))
			return false;
		wrong = find_wrong(p);
		if (!wrong)
			break;
		if (wrong < best) {
			best = wrong;
			patience = PATIENCE + 1;
		}
		if (patience)
			patience--;
		exchange(p, patience ? 0 : wrong - 1, wrong);
	}
	for (size_t i = 0; i < p->gram->size; i++)
		p->x[i] = fmax(p->x[i], 0);
	return true;
}

int nnls_solve(const struct envelope *gram, const double *q, double ridge, struct envelope *factor,
	       bool *fixed, double *x)
{
	struct pivoting p = {gram, q, ridge, fixed, x, NULL, NULL};
	bool done;

	p.slope = malloc((gram->size + 1) * sizeof(*p.slope));
	p.wrong = malloc((gram->size + 1) * sizeof(*p.wrong));
	done = p.slope && p.wrong && pivot(&p, factor);
	free(p.slope);
	free(p.wrong);
	return done ? 0 : -1;
}
