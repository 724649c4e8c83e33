/* Intervals and bounds: noise is noise, a change is found, and neighbours that resemble each other do not count as many. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analysis/significance.h"

/* Steps whose batches alternate round the median. */
static struct steps steps_of(uint64_t median_ns, uint64_t swing_ns, unsigned batches)
{
	struct steps s = {
		.known = true, .count = 1000, .period_ns = median_ns, .batch_count = batches};

	for (unsigned i = 0; i < batches; i++)
		s.batch_ns[i] = i % 2 ? median_ns + swing_ns : median_ns - swing_ns;
	return s;
}

static void test_t_is_students(void **state)
{
	static const struct {
		double freedom, t;
	} table[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {5, 2.571},
		     {10, 2.228}, {38, 2.024}, {1e6, 1.960}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_true(fabs(significance_t(table[i].freedom) - table[i].t) < 0.005);
}

static void test_interval_is_welchs(void **state)
{
	struct steps a = steps_of(1000000, 10000, 20), b = steps_of(1100000, 20000, 20);
	struct measure d = significance_of_steps(&a, &b);
	/* Variances of the means: 20 / 19 of 1e8 and 4e8, over 20; 27.9 degrees of freedom. */
	double half = 2.0486 * sqrt(1e8 / 19 + 4e8 / 19);

	(void)state;
	assert_true(d.known);
	assert_true(d.value == 100000);
	assert_true(fabs(d.high - d.value - half) < 0.002 * half);
	assert_true(fabs(d.value - d.low - half) < 0.002 * half);
	assert_true(significance_reached(&d, 1e6));
}

static void test_noise_is_not_a_change(void **state)
{
	struct steps a = steps_of(1000000, 100000, 20), b = steps_of(1030000, 100000, 20);
	struct measure d = significance_of_steps(&a, &b);

	(void)state;
	assert_true(d.low < 0 && d.high > 0);
	assert_false(significance_reached(&d, 1e6));
}

static void test_less_than_a_hundredth_is_not_a_change(void **state)
{
	struct steps a = steps_of(1000000, 0, 20), b = steps_of(1009000, 0, 20),
		     c = steps_of(1011000, 0, 20);
	struct measure small = significance_of_steps(&a, &b), large = significance_of_steps(&a, &c);

	(void)state;
	assert_true(small.low > 0);
	assert_false(significance_reached(&small, 1e6));
	assert_true(significance_reached(&large, 1e6));
}

static void test_without_two_batches_nothing_is_known(void **state)
{
	struct steps a = steps_of(1000000, 0, 1), b = steps_of(2000000, 0, 20), none = {0};
	struct measure d = significance_of_steps(&a, &b), n = significance_of_steps(&none, &b);

	(void)state;
	assert_false(d.known);
	assert_false(n.known);
	assert_false(significance_reached(&d, 1e6));
}

/*
 * Two runs of one program that drifts: steps by a random walk that returns, so that neighbours
 * resemble each other. About one pair in twenty may seem to differ; were all steps taken as
 * independent, most would.
 */
static double normal(void)
{
	double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = (rand() + 1.0) / (RAND_MAX + 2.0);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define RUN_STEPS 2000

static struct steps drifting_run(void)
{
	struct steps s = {.known = true, .count = RUN_STEPS, .batch_count = STEP_BATCHES};
	static double step[RUN_STEPS], part[RUN_STEPS / STEP_BATCHES];
	double drift = 5 * normal();

	for (size_t i = 0; i < RUN_STEPS; i++) {
		drift = 0.9 * drift + normal() * 2.18;
		step[i] = 1000 + 10 * drift + 20 * normal();
	}
	for (size_t i = 0; i < STEP_BATCHES; i++) {
		size_t each = RUN_STEPS / STEP_BATCHES;

		for (size_t k = 0; k < each; k++)
			part[k] = step[i * each + k];
		qsort(part, each, sizeof(*part), by_value);
		s.batch_ns[i] = (uint64_t)(1000 * part[each / 2]);
	}
	qsort(step, RUN_STEPS, sizeof(*step), by_value);
	s.period_ns = (uint64_t)(1000 * step[RUN_STEPS / 2]);
	return s;
}

static void test_drifting_runs_of_one_program_rarely_differ(void **state)
{
	unsigned differ = 0;

	(void)state;
	srand(4242);
	for (unsigned i = 0; i < 400; i++) {
		struct steps a = drifting_run(), b = drifting_run();
		struct measure d = significance_of_steps(&a, &b);

		differ += d.low > 0 || d.high < 0;
	}
	/* 5 % of 400 are 20. */
	assert_in_range(differ, 5, 48);
}

static struct kernel_report kernel_of(double mean_ns, double deviation_ns, uint64_t launches)
{
	return (struct kernel_report){
		.mean_ns = mean_ns,
		.launches = launches,
		.deviation_ns = {launches > 1, deviation_ns, deviation_ns, deviation_ns},
	};
}

static void test_pace_of_a_kernel(void **state)
{
	static const struct {
		double mean_ns, deviation_ns;
		uint64_t launches;
		int pace; /* against 10 us with a deviation of 1 us in 1,000 launches */
	} cases[] = {
		{12000, 1000, 1000, 1}, {8000, 1000, 1000, -1},
		{10000, 1000, 1000, 0}, {10100, 10, 1000, 0}, /* 1 %: sure, and too little */
		{10250, 1000, 1000, 1}, {10250, 1000, 10, 0}, /* too few launches */
		{10900, 0, 1, 0},       {11100, 0, 1, 1},     /* one launch: a tenth */
	};
	struct kernel_report a = kernel_of(10000, 1000, 1000);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kernel_report b =
			kernel_of(cases[i].mean_ns, cases[i].deviation_ns, cases[i].launches);

		assert_int_equal(significance_pace(&a, &b), cases[i].pace);
		assert_int_equal(significance_pace(&b, &a), -cases[i].pace);
	}
}

static void test_below_the_tick_of_the_clock_nothing_changed(void **state)
{
	struct kernel_report a = kernel_of(1000, 0, 1000), b = kernel_of(1030, 0, 1000);

	(void)state;
	assert_int_equal(significance_pace(&a, &b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t_is_students),
		cmocka_unit_test(test_interval_is_welchs),
		cmocka_unit_test(test_noise_is_not_a_change),
		cmocka_unit_test(test_less_than_a_hundredth_is_not_a_change),
		cmocka_unit_test(test_without_two_batches_nothing_is_known),
		cmocka_unit_test(test_drifting_runs_of_one_program_rarely_differ),
		cmocka_unit_test(test_pace_of_a_kernel),
		cmocka_unit_test(test_below_the_tick_of_the_clock_nothing_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
