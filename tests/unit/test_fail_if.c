/* --fail-if: what is an expression, when it holds, and that unknown figures are never false. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/fail_if.h"
#include "tests/unit/report_fixture.h"

static enum fail_if_result evaluate(void (*fill)(struct report *report), const char *expression,
				    struct view view)
{
	struct fail_if_words words;
	enum fail_if_result result;
	struct report report;

	fill(&report);
	result = fail_if_evaluate(expression, &report, &view, &words);
	report_fini(&report);
	return result;
}

static void test_comparisons(void **state)
{
	static const struct {
		const char *expression;
		enum fail_if_result result;
	} cases[] = {
		{"overhead_pct>30", FAIL_IF_HELD},
		{"overhead_pct > 95 %", FAIL_IF_NOT},
		{"step_ms<=1.83", FAIL_IF_HELD},
		{"step_ms<1.83", FAIL_IF_NOT},
		{"steps==300", FAIL_IF_HELD},
		{"steps!=300", FAIL_IF_NOT},
		{"idle_pct>=76", FAIL_IF_HELD},
		{"busy_pct>24", FAIL_IF_NOT},
		{"host_pct>59", FAIL_IF_HELD},
		{"tracing_pct>2", FAIL_IF_HELD},
		{"regime==overhead", FAIL_IF_HELD},
		{"regime!=overhead", FAIL_IF_NOT},
		{"lost>0", FAIL_IF_NOT},
		{"kernels=110780", FAIL_IF_HELD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			evaluate(report_fixture_mlp, cases[i].expression, (struct view){0}),
			cases[i].result);
}

static void test_not_an_expression(void **state)
{
	static const char *const wrong[] = {"",
					    "x",
					    "overhead_pct",
					    "overhead_pct>",
					    "nothing>1",
					    "overhead_pct>1x",
					    "regime>overhead",
					    "regime==fast",
					    "overhead_pct>nan"};
	struct fail_if_words words;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(fail_if_check(wrong[i], &words), FAIL_IF_INVALID);
}

static void test_unknown_is_neither_true_nor_false(void **state)
{
	(void)state;
	assert_int_equal(evaluate(report_fixture_hooks, "step_ms>1", (struct view){0}),
			 FAIL_IF_UNKNOWN);
	assert_int_equal(evaluate(report_fixture_hooks, "lost>1", (struct view){0}), FAIL_IF_HELD);
}

static void test_any_device_and_the_window_asked_for(void **state)
{
	const struct view second = {.one_process = true, .process = 4243};

	(void)state;
	assert_int_equal(evaluate(report_fixture_ranks, "overhead_pct>30", (struct view){0}),
			 FAIL_IF_HELD);
	assert_int_equal(evaluate(report_fixture_ranks, "overhead_pct>30", second), FAIL_IF_NOT);
	assert_int_equal(evaluate(report_fixture_mlp, "alloc_pct>20", (struct view){0}),
			 FAIL_IF_NOT);
	assert_int_equal(evaluate(report_fixture_mlp, "alloc_pct>20", (struct view){.whole = true}),
			 FAIL_IF_HELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comparisons),
		cmocka_unit_test(test_not_an_expression),
		cmocka_unit_test(test_unknown_is_neither_true_nor_false),
		cmocka_unit_test(test_any_device_and_the_window_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
