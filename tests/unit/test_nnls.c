/* Least squares without negative answers: against answers worked out by other means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/nnls.h"

#define MOST 12

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
static double random_real(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)(*state * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0 - 0.5;
}

struct problem {
	size_t n;
	uint32_t first[MOST];
	struct envelope gram, factor;
	double q[MOST];
};

static void problem_init(struct problem *p, size_t n)
{
	memset(p, 0, sizeof(*p));
	p->n = n;
	assert_int_equal(envelope_init(&p->gram, p->first, n), 0);
	assert_int_equal(envelope_init(&p->factor, p->first, n), 0);
}

static void problem_fini(struct problem *p)
{
	envelope_fini(&p->gram);
	envelope_fini(&p->factor);
}

/* Normal equations of `rows` random rows. */
static void problem_fill(struct problem *p, size_t rows, uint64_t *state)
{
	for (size_t r = 0; r < rows; r++) {
		double x[MOST], y = random_real(state);

		for (size_t i = 0; i < p->n; i++)
			x[i] = random_real(state);
		for (size_t i = 0; i < p->n; i++) {
			p->q[i] += x[i] * y;
			for (size_t j = 0; j <= i; j++)
				*envelope_at(&p->gram, i, j) += x[i] * x[j];
		}
	}
}

static double objective(const struct problem *p, double ridge, const double *x)
{
	double gx[MOST], sum = 0;

	envelope_multiply(&p->gram, x, gx);
	for (size_t i = 0; i < p->n; i++)
		sum += x[i] * (gx[i] + ridge * x[i]) / 2 - p->q[i] * x[i];
	return sum;
}

/* The best over all choices of which variables are zero. */
static double best_by_trying(struct problem *p, double ridge)
{
	double best = 0;

	for (uint32_t set = 0; set < 1u << p->n; set++) {
		bool fixed[MOST], feasible = true;
		double x[MOST];

		for (size_t i = 0; i < p->n; i++) {
			fixed[i] = set >> i & 1;
			x[i] = fixed[i] ? 0 : p->q[i];
		}
		assert_true(envelope_factor(&p->gram, ridge, fixed, &p->factor));
		envelope_solve(&p->factor, x);
		for (size_t i = 0; i < p->n; i++)
			feasible &= x[i] >= 0;
		if (feasible)
			best = fmin(best, objective(p, ridge, x));
	}
	return best;
}

static void test_no_other_choice_of_zeros_is_better(void **context)
{
	uint64_t state = 12345;

	(void)context;
	for (unsigned round = 0; round < 200; round++) {
		struct problem p;
		bool fixed[MOST] = {false};
		double x[MOST], ridge = round % 2 ? 1e-3 : 0.1;

		problem_init(&p, 2 + round % 8);
		/* Fewer rows than unknowns in some: only the ridge makes the answer one. */
		problem_fill(&p, 3 + round % 17, &state);
		assert_int_equal(nnls_solve(&p.gram, p.q, ridge, &p.factor, fixed, x), 0);
		for (size_t i = 0; i < p.n; i++)
			assert_true(x[i] >= 0);
		assert_true(objective(&p, ridge, x) <= best_by_trying(&p, ridge) + 1e-9);
		problem_fini(&p);
	}
}

static void test_a_warm_start_changes_nothing(void **context)
{
	uint64_t state = 99;
	struct problem p;
	double cold[MOST], warm[MOST];
	bool fixed[MOST] = {false};

	(void)context;
	problem_init(&p, MOST);
	problem_fill(&p, 40, &state);
	assert_int_equal(nnls_solve(&p.gram, p.q, 0.01, &p.factor, fixed, cold), 0);
	for (size_t i = 0; i < MOST; i++)
		fixed[i] = !fixed[i];
	assert_int_equal(nnls_solve(&p.gram, p.q, 0.01, &p.factor, fixed, warm), 0);
	for (size_t i = 0; i < MOST; i++)
		assert_true(fabs(cold[i] - warm[i]) < 1e-9);
	problem_fini(&p);
}

static void test_exact_answers_come_back(void **context)
{
	static const double answer[] = {3, 0, 0.5, 0, 7};
	struct problem p;
	bool fixed[MOST] = {false};
	double x[MOST];
	uint64_t state = 7;

	(void)context;
	problem_init(&p, 5);
	problem_fill(&p, 30, &state);
	envelope_multiply(&p.gram, answer, p.q);
	assert_int_equal(nnls_solve(&p.gram, p.q, 1e-12, &p.factor, fixed, x), 0);
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(x[i] - answer[i]) < 1e-6);
	problem_fini(&p);
}

static void test_nothing_positive_is_all_zero(void **context)
{
	struct problem p;
	bool fixed[MOST] = {false};
	double x[MOST];
	uint64_t state = 5;

	(void)context;
	problem_init(&p, 4);
	problem_fill(&p, 20, &state);
	for (size_t i = 0; i < 4; i++)
		p.q[i] = -1;
	assert_int_equal(nnls_solve(&p.gram, p.q, 1, &p.factor, fixed, x), 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(x[i] == 0 && fixed[i]);
	problem_fini(&p);
}

static void test_a_matrix_that_is_not_definite_is_refused(void **context)
{
	struct problem p;
	bool fixed[MOST] = {false};
	double x[MOST];

	(void)context;
	problem_init(&p, 2);
	*envelope_at(&p.gram, 0, 0) = *envelope_at(&p.gram, 1, 0) = *envelope_at(&p.gram, 1, 1) = 1;
	p.q[0] = p.q[1] = 1;
	assert_int_equal(nnls_solve(&p.gram, p.q, 0, &p.factor, fixed, x), -1);
	problem_fini(&p);
}

/* Rows that start late: the envelope saves their zeros, and the answer is that of the full matrix.
 */
static void test_an_envelope_solves_as_a_full_matrix_does(void **context)
{
	static const uint32_t first[] = {0, 0, 2, 2, 1, 0};
	static const uint32_t none[6] = {0};
	struct envelope sparse, full, sparse_factor, full_factor;
	double a[6], b[6];
	uint64_t state = 3;

	(void)context;
	assert_int_equal(envelope_init(&sparse, first, 6), 0);
	assert_int_equal(envelope_init(&sparse_factor, first, 6), 0);
	assert_int_equal(envelope_init(&full, none, 6), 0);
	assert_int_equal(envelope_init(&full_factor, none, 6), 0);
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = first[i]; j <= i; j++)
			*envelope_at(&sparse, i, j) = *envelope_at(&full, i, j) =
				i == j ? 4 : random_real(&state);
		a[i] = b[i] = i < 2 ? 0 : random_real(&state);
	}
	assert_true(envelope_factor(&sparse, 0.5, NULL, &sparse_factor));
	assert_true(envelope_factor(&full, 0.5, NULL, &full_factor));
	envelope_solve(&sparse_factor, a);
	envelope_solve(&full_factor, b);
	for (size_t i = 0; i < 6; i++)
		assert_true(fabs(a[i] - b[i]) < 1e-12);
	envelope_fini(&sparse);
	envelope_fini(&sparse_factor);
	envelope_fini(&full);
	envelope_fini(&full_factor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_other_choice_of_zeros_is_better),
		cmocka_unit_test(test_a_warm_start_changes_nothing),
		cmocka_unit_test(test_exact_answers_come_back),
		cmocka_unit_test(test_nothing_positive_is_all_zero),
		cmocka_unit_test(test_a_matrix_that_is_not_definite_is_refused),
		cmocka_unit_test(test_an_envelope_solves_as_a_full_matrix_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
