/* Elasticities of known curves, their errors, and what they say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/growth.h"

static struct growth_point point(double work, double time_ns)
{
	return (struct growth_point){work, time_ns, 0};
}

static void assert_near(double got, double wanted, double tolerance)
{
	if (fabs(got - wanted) > tolerance)
		print_error("%g, expected %g\n", got, wanted);
	assert_true(fabs(got - wanted) <= tolerance);
}

static void test_power_laws_have_their_exponent(void **state)
{
	static const double exponents[] = {0, 0.5, 1, 2};

	(void)state;
	for (unsigned e = 0; e < 4; e++) {
		struct growth_point p[4];
		struct measure over;

		for (unsigned i = 0; i < 4; i++)
			p[i] = point(i + 1, 1000 * pow(i + 1, exponents[e]));
		over = growth_over(p, 4);
		assert_true(over.known);
		assert_near(over.value, exponents[e], 1e-9);
		assert_near(growth_between(&p[0], &p[3]).value, exponents[e], 1e-9);
		assert_near(growth_between(&p[3], &p[0]).value, exponents[e], 1e-9);
	}
}

/* 300 us that do not depend on the work and 100 us for each unit of it. */
static void test_a_fixed_part_lowers_the_elasticity_to_the_share_of_the_rest(void **state)
{
	struct growth_point a = point(1, 400000), b = point(1.02, 402000), c = point(100, 10300000),
			    d = point(102, 10500000);

	(void)state;
	assert_near(growth_between(&a, &b).value, 0.25, 0.005);
	assert_near(growth_between(&c, &d).value, 0.97, 0.005);
}

static void test_errors_of_times_become_an_interval(void **state)
{
	struct growth_point a = {1, 1000, 0.01}, b = {2, 1500, 0.02}, unknown = {2, 1500, NAN};
	struct measure m = growth_between(&a, &b);
	double half = 1.96 * sqrt(0.0001 + 0.0004) / log(2);

	(void)state;
	assert_near(m.value, log(1.5) / log(2), 1e-9);
	assert_near(m.high - m.value, half, 1e-4);
	assert_near(m.value - m.low, half, 1e-4);
	m = growth_between(&a, &unknown);
	assert_true(m.known);
	assert_true(isnan(m.low) && isnan(m.high));
}

/* In 1,000 drawings of noisy times the interval holds the truth about 950 times. */
static void test_intervals_hold_the_truth(void **state)
{
	uint64_t seed = 1;
	unsigned held = 0;

	(void)state;
	for (unsigned n = 0; n < 1000; n++) {
		struct growth_point p[4];
		struct measure m;

		for (unsigned i = 0; i < 4; i++) {
			double noise = -6;

			for (unsigned k = 0; k < 12; k++) {
				seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
				noise += (double)(seed >> 11) / 9007199254740992.0;
			}
			p[i] = (struct growth_point){
				1 << i, 1e6 * pow(1 << i, 0.6) * (1 + 0.03 * noise), 0.03};
		}
		m = growth_over(p, 4);
		held += m.low <= 0.6 && m.high >= 0.6;
	}
	assert_in_range(held, 925, 975);
}

static void test_where_nothing_differs_nothing_is_known(void **state)
{
	struct growth_point a = point(1, 1000), same = point(1.0001, 2000), zero = point(2, 0),
			    none = point(0, 1000);

	(void)state;
	assert_false(growth_between(&a, &same).known);
	assert_false(growth_between(&a, &zero).known);
	assert_false(growth_between(&none, &a).known);
	assert_false(growth_over(&a, 1).known);
	assert_int_equal(growth_of(&(struct measure){0}), GROWTH_UNKNOWN);
}

static void test_classes_and_agreement(void **state)
{
	static const struct {
		double elasticity;
		enum growth growth;
		enum regime agrees, not ;
	} cases[] = {
		{0.02, GROWTH_NONE, REGIME_OVERHEAD, REGIME_COMPUTE},
		{-0.3, GROWTH_NONE, REGIME_OVERHEAD, REGIME_MEMORY},
		{0.5, GROWTH_PART, REGIME_MIXED, REGIME_COMPUTE},
		{0.97, GROWTH_IN_STEP, REGIME_COMPUTE, REGIME_OVERHEAD},
		{1.1, GROWTH_IN_STEP, REGIME_MEMORY, REGIME_UNKNOWN},
		{1.9, GROWTH_MORE, REGIME_COMPUTE, REGIME_OVERHEAD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct measure m = {true, cases[i].elasticity, 0, 0};

		assert_int_equal(growth_of(&m), cases[i].growth);
		assert_true(growth_agrees(cases[i].growth, cases[i].agrees));
		assert_false(growth_agrees(cases[i].growth, cases[i].not ));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_laws_have_their_exponent),
		cmocka_unit_test(test_a_fixed_part_lowers_the_elasticity_to_the_share_of_the_rest),
		cmocka_unit_test(test_errors_of_times_become_an_interval),
		cmocka_unit_test(test_intervals_hold_the_truth),
		cmocka_unit_test(test_where_nothing_differs_nothing_is_known),
		cmocka_unit_test(test_classes_and_agreement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
