/* Advice only where the figures support it, and never for what is on already. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/advice.h"
#include "tests/unit/report_fixture.h"

static const struct advice *find(const struct report *report, const char *id)
{
	const struct device_report *device = &report->processes[0].devices[0];

	for (size_t i = 0; i < device->advice_count; i++)
		if (!strcmp(device->advice[i].id, id))
			return &device->advice[i];
	return NULL;
}

static void test_figures_are_those_of_the_simulation(void **state)
{
	const struct advice *advice;
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	advice_fill(&report);
	advice = find(&report, "cuda-graphs");
	assert_non_null(advice);
	assert_true(advice->saves_ns.value == 1790000 - 600000);
	assert_true(advice->saves_ns.low == 1790000 - 700000);
	assert_true(advice->saves_ns.high == 1790000 - 520000);
	assert_true(advice->speedup.value == 1790000.0 / 600000);
	assert_non_null(advice->why);
	assert_non_null(advice->how);
	report_fini(&report);
}

static void test_largest_saving_comes_first(void **state)
{
	struct report report;
	const struct device_report *device;

	(void)state;
	report_fixture_mlp(&report);
	advice_fill(&report);
	device = &report.processes[0].devices[0];
	assert_int_equal(device->advice_count, 3);
	assert_string_equal(device->advice[0].id, "cuda-graphs");
	assert_string_equal(device->advice[1].id, "no-sync");
	assert_string_equal(device->advice[2].id, "pinned-copies");
	report_fini(&report);
}

static void test_what_saves_little_is_not_advised(void **state)
{
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	advice_fill(&report);
	assert_null(find(&report, "no-alloc"));
	report_fini(&report);
}

static void test_a_compiler_takes_the_place_of_fusing_by_hand(void **state)
{
	struct report report;
	struct whatif *w;

	(void)state;
	report_fixture_mlp(&report);
	w = &report.processes[0].devices[0].whatif;
	w->change[CHANGE_FUSE] = w->change[CHANGE_COMPILE] = w->change[CHANGE_GRAPHS];
	advice_fill(&report);
	assert_non_null(find(&report, "compile"));
	assert_null(find(&report, "fuse"));
	report_fini(&report);
}

static void test_a_busy_gpu_gets_no_advice_on_overhead(void **state)
{
	struct report report;

	(void)state;
	report_fixture_gemm(&report);
	advice_fill(&report);
	assert_int_equal(report.processes[0].devices[0].advice_count, 0);
	report_fini(&report);
}

static void test_nothing_is_advised_without_a_simulation_of_steps(void **state)
{
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	report.processes[0].devices[0].whatif.known = false;
	advice_fill(&report);
	assert_int_equal(report.processes[0].devices[0].advice_count, 0);
	report_fini(&report);
}

static void test_without_steps_a_leaf_bounds_what_is_saved(void **state)
{
	const struct advice *advice;
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	report.processes[0].devices[0].whatif.known = false;
	report.processes[0].devices[0].steps.known = false;
	advice_fill(&report);
	advice = find(&report, "no-sync");
	assert_non_null(advice);
	assert_true(advice->saves_ns.low == 0);
	assert_true(advice->speedup.low == 1);
	report_fini(&report);
}

static void test_what_may_save_nothing_promises_no_minimum(void **state)
{
	const struct advice *advice;
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	advice_fill(&report);
	advice = find(&report, "pinned-copies");
	assert_non_null(advice);
	assert_true(advice->saves_ns.low == 0);
	assert_true(advice->speedup.low == 1);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_figures_are_those_of_the_simulation),
		cmocka_unit_test(test_largest_saving_comes_first),
		cmocka_unit_test(test_what_saves_little_is_not_advised),
		cmocka_unit_test(test_a_compiler_takes_the_place_of_fusing_by_hand),
		cmocka_unit_test(test_a_busy_gpu_gets_no_advice_on_overhead),
		cmocka_unit_test(test_nothing_is_advised_without_a_simulation_of_steps),
		cmocka_unit_test(test_without_steps_a_leaf_bounds_what_is_saved),
		cmocka_unit_test(test_what_may_save_nothing_promises_no_minimum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
