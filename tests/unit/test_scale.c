/* Reports of several sizes: ordered by work, grouped by name, growth of the whole, of leaves and of kernels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/scale.h"
#include "tests/unit/report_fixture.h"

#define SIZES 3

struct sizes {
	struct report report[SIZES];
	struct work work;
	struct scale scale;
};

/* The MLP whose host time stays and whose underfilled kernels take `factor` times as long. */
static void grow(struct report *report, uint64_t factor)
{
	struct device_report *d;
	uint64_t added;

	report_fixture_mlp(report);
	d = &report->processes[0].devices[0];
	added = (factor - 1) * d->steady.leaf_ns[LEAF_UNDERFILLED];
	d->steady.leaf_ns[LEAF_UNDERFILLED] += added;
	d->steady.window_ns += added;
	d->steady.kernel_ns = d->steady.busy_ns += added;
	d->steps.period_ns += added / d->steps.count;
	d->kernels[0].grid[0] *= (uint32_t)factor;
	d->kernels[0].busy_ns *= factor;
	d->kernels[0].total_ns *= factor;
	d->kernels[0].mean_ns *= (double)factor;
}

static enum scale_status make(struct sizes *s, bool given)
{
	const struct view view = {.top = 10};
	size_t culprit;

	return scale_make(s->report, SIZES, given ? &s->work : NULL, &view, &s->scale, &culprit);
}

static void begin(struct sizes *s)
{
	static const uint64_t factors[SIZES] = {4, 1, 2};

	for (unsigned i = 0; i < SIZES; i++)
		grow(&s->report[i], factors[i]);
	s->work = (struct work){.source = WORK_GIVEN, .amount = {1, 0.25, 0.5}};
}

static void end(struct sizes *s)
{
	scale_fini(&s->scale);
	for (unsigned i = 0; i < SIZES; i++)
		report_fini(&s->report[i]);
}

static void assert_near(double got, double wanted, double tolerance)
{
	if (fabs(got - wanted) > tolerance)
		print_error("%g, expected %g\n", got, wanted);
	assert_true(fabs(got - wanted) <= tolerance);
}

static void test_sizes_are_in_order_of_work(void **state)
{
	struct sizes s;

	(void)state;
	begin(&s);
	assert_int_equal(make(&s, true), SCALE_DONE);
	assert_true(s.scale.per_step);
	for (unsigned i = 0; i < SIZES; i++)
		assert_near(s.scale.run[i].work, 1 << i, 1e-9);
	assert_true(s.scale.whole.time_ns[0] == 1830000);
	assert_true(s.scale.whole.time_ns[0] < s.scale.whole.time_ns[1]);
	assert_true(s.scale.whole.time_ns[1] < s.scale.whole.time_ns[2]);
	end(&s);
}

static void test_the_whole_grows_as_its_parts(void **state)
{
	struct sizes s;

	(void)state;
	begin(&s);
	assert_int_equal(make(&s, true), SCALE_DONE);
	assert_near(s.scale.leaf[LEAF_HOST].over.value, 0, 1e-6);
	assert_near(s.scale.leaf[LEAF_UNDERFILLED].over.value, 1, 1e-6);
	assert_int_equal(scale_growth(&s.scale, &s.scale.leaf[LEAF_HOST]), GROWTH_NONE);
	assert_int_equal(scale_growth(&s.scale, &s.scale.leaf[LEAF_UNDERFILLED]), GROWTH_IN_STEP);
	/* 17 % of the step grow: from 1.83 to 2.76 ms. */
	assert_near(s.scale.whole.over.value, log(2763.3 / 1830) / log(4), 0.005);
	assert_true(s.scale.whole.between[2].value > s.scale.whole.between[1].value);
	assert_true(s.scale.whole.over.high > s.scale.whole.over.low);
	assert_false(s.scale.leaf[LEAF_ALLOC].over.known);
	end(&s);
}

static const struct scale_kernel *kernel_of(const struct scale *scale, const char *name)
{
	for (size_t i = 0; i < scale->kernel_count; i++)
		if (scale->kernels[i].name && strstr(scale->kernels[i].name, name))
			return &scale->kernels[i];
	return NULL;
}

static void test_kernels_by_name_whatever_their_shape(void **state)
{
	struct sizes s;
	const struct scale_kernel *grown, *fixed;

	(void)state;
	begin(&s);
	assert_int_equal(make(&s, true), SCALE_DONE);
	assert_int_equal(s.scale.kernel_count, 4);
	grown = kernel_of(&s.scale, "nvjet");
	fixed = kernel_of(&s.scale, "FillFunctor");
	assert_ptr_equal(grown, &s.scale.kernels[0]);
	assert_near(grown->series.over.value, 1, 1e-4);
	assert_near(fixed->series.over.value, 0, 1e-6);
	assert_near(grown->launches[2], 8, 1e-9);
	assert_int_equal(grown->leaf[0], LEAF_UNDERFILLED);
	assert_true(isfinite(grown->series.error[0]));
	end(&s);
}

/* A library takes another kernel for each size: together they are their category. */
static void test_kernels_that_not_all_sizes_have_go_by_category(void **state)
{
	struct sizes s;
	const struct scale_kernel *row = NULL;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < SIZES; i++) {
		struct kernel_report *k = &s.report[i].processes[0].devices[0].kernels[0];

		k->name[0] = (char)('a' + i);
	}
	assert_int_equal(make(&s, true), SCALE_DONE);
	assert_int_equal(s.scale.kernel_count, 4);
	for (size_t i = 0; i < s.scale.kernel_count; i++)
		if (!s.scale.kernels[i].name)
			row = &s.scale.kernels[i];
	assert_non_null(row);
	assert_string_equal(row->category, "gemm");
	assert_near(row->series.over.value, 1, 1e-4);
	end(&s);
}

static void test_work_is_inferred_from_what_grew(void **state)
{
	struct sizes s;

	(void)state;
	begin(&s);
	assert_int_equal(make(&s, false), SCALE_DONE);
	assert_int_equal(s.scale.work.source, WORK_GRIDS);
	assert_near(s.scale.run[2].work, 4, 1e-9);
	end(&s);
	for (unsigned i = 0; i < SIZES; i++)
		grow(&s.report[i], 1);
	assert_int_equal(make(&s, false), SCALE_NO_WORK);
	end(&s);
}

static void test_a_run_without_device_times_is_named(void **state)
{
	const struct view view = {.top = 10};
	struct report reports[2];
	struct scale scale;
	size_t culprit = 0;

	(void)state;
	grow(&reports[0], 1);
	report_fixture_hooks(&reports[1]);
	assert_int_equal(scale_make(reports, 2, NULL, &view, &scale, &culprit), SCALE_NO_TIMES);
	assert_int_equal(culprit, 1);
	scale_fini(&scale);
	report_fini(&reports[0]);
	report_fini(&reports[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_are_in_order_of_work),
		cmocka_unit_test(test_the_whole_grows_as_its_parts),
		cmocka_unit_test(test_kernels_by_name_whatever_their_shape),
		cmocka_unit_test(test_kernels_that_not_all_sizes_have_go_by_category),
		cmocka_unit_test(test_work_is_inferred_from_what_grew),
		cmocka_unit_test(test_a_run_without_device_times_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
