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

static void test_graphs_save_at_most_the_idle_time(void **state)
{
	const struct advice *advice;
	struct report report;
	double idle_ns;

	(void)state;
	report_fixture_mlp(&report);
	advice_fill(&report);
	advice = find(&report, "cuda-graphs");
	assert_non_null(advice);
	/* host and launch are 70 % of a step of 1.83 ms, 2.1 % of which is our own cost */
	idle_ns = 0.70 / 0.979 * 1830000;
	assert_true(advice->saves_ns.known);
	assert_true(advice->saves_ns.high < idle_ns);
	assert_true(advice->saves_ns.low > 0.5 * idle_ns);
	assert_true(advice->speedup.low < advice->speedup.high);
	report_fini(&report);
}

static void test_graphs_are_not_advised_where_they_are_used(void **state)
{
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	for (size_t i = 0; i < report.processes[0].devices[0].kernel_count; i++) {
		struct kernel_report *kernel = &report.processes[0].devices[0].kernels[i];

		kernel->graph_launches = kernel->launches;
	}
	advice_fill(&report);
	assert_null(find(&report, "cuda-graphs"));
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

static void test_nothing_is_advised_on_an_unknown_verdict(void **state)
{
	struct report report;

	(void)state;
	report_fixture_mlp(&report);
	report.processes[0].devices[0].verdict.regime = REGIME_UNKNOWN;
	advice_fill(&report);
	assert_int_equal(report.processes[0].devices[0].advice_count, 0);
	report_fini(&report);
}

static void test_pinned_copies_promise_no_minimum(void **state)
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
		cmocka_unit_test(test_graphs_save_at_most_the_idle_time),
		cmocka_unit_test(test_graphs_are_not_advised_where_they_are_used),
		cmocka_unit_test(test_a_busy_gpu_gets_no_advice_on_overhead),
		cmocka_unit_test(test_nothing_is_advised_on_an_unknown_verdict),
		cmocka_unit_test(test_pinned_copies_promise_no_minimum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
