/* Symmetric matrices whose rows start where their first non-zero stands, and their Cholesky
 * factors. */
#ifndef ENVELOPE_H
#define ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The lower triangle: row i holds columns first[i] to i. Fill-in of a Cholesky factor stays inside
 * (George and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, chapter 4).
 * Kernels of different phases of a program never share a sample, so in the order of first
 * appearance most rows are short.
 */
struct envelope {
	size_t size;
	uint32_t *first;
	size_t *start; /* of row i in `value`; size + 1 entries */
	double *value;
};

/* A zero matrix; `first` is copied. 0, or -1 without memory, when nothing is to be freed. */
int envelope_init(struct envelope *m, const uint32_t *first, size_t size);
void envelope_fini(struct envelope *m);

void envelope_clear(struct envelope *m);

/* The place of (i, j), j <= i, which must lie in the envelope. */
static inline double *envelope_at(const struct envelope *m, size_t i, size_t j)
{
	return &m->value[m->start[i] + j - m->first[i]];
}

/*
 * Factors `m` + ridge x identity into `factor`, of the same shape. Rows and columns with fixed[i]
 * are taken as those of the identity; NULL = none. False when the matrix is not positive definite
 * to working precision.
 */
bool envelope_factor(const struct envelope *m, double ridge, const bool *fixed,
		     struct envelope *factor);

/* Solves factor x factor' x = b in place. Zeros at the head of b cost nothing. */
void envelope_solve(const struct envelope *factor, double *b);

/* y = m x. */
void envelope_multiply(const struct envelope *m, const double *x, double *y);

#endif
