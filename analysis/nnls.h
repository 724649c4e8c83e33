/* Least squares without negative answers, on normal equations. */
#ifndef NNLS_H
#define NNLS_H

#include "envelope.h"

/*
 * The x >= 0 that minimises x'(G + ridge I)x / 2 - q'x. `gram` (G) is positive semidefinite and
 * stays as it is, `factor` is scratch of the same shape, `x` has gram->size entries. `fixed` says
 * where x is held at zero: its content is the first guess, so solutions of near problems start
 * warm; at the end it is the answer's. With ridge > 0 there is one answer.
 *
 * Block principal pivoting with Murty's rule as the way out of cycles: Portugal, Judice, Vicente,
 * "A comparison of block pivoting and interior-point algorithms for linear least squares problems
 * with nonnegative variables", Math. Comp. 63 (1994).
 *
 * 0; -1 without memory, or when G + ridge I is not positive definite to working precision.
 */
int nnls_solve(const struct envelope *gram, const double *q, double ridge, struct envelope *factor,
	       bool *fixed, double *x);

#endif
