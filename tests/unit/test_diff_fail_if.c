/* diff --fail-if: signed numbers are changes, unsigned ones B's own, and noise holds nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/diff_fail_if.h"
#include "tests/unit/report_fixture.h"

struct change {
	int64_t step_ns; /* of the median and of all stretches */
	int64_t host_ns; /* per step */
};

static enum fail_if_result evaluate(const char *expression, struct change change)
{
	const struct view view = {.top = 10};
	enum fail_if_result result;
	struct fail_if_words words;
	struct report a, b;
	struct device_report *device;
	struct diff diff;

	report_fixture_mlp(&a);
	report_fixture_mlp(&b);
	device = &b.processes[0].devices[0];
	device->steps.period_ns += (uint64_t)change.step_ns;
	for (unsigned i = 0; i < STEP_BATCHES; i++)
		device->steps.batch_ns[i] += (uint64_t)change.step_ns;
	device->steady.window_ns += 300 * (uint64_t)change.host_ns;
	device->steady.leaf_ns[LEAF_HOST] += 300 * (uint64_t)change.host_ns;
	assert_int_equal(diff_make(&a, &b, &view, &diff), 0);
	result = diff_fail_if_evaluate(expression, &diff, &b, &view, &words);
	diff_fini(&diff);
	report_fini(&a);
	report_fini(&b);
	return result;
}

/* The step of A is 1.83 ms and overhead 94.0 % of it. */
static void test_changes_and_absolute_figures(void **state)
{
	static const struct {
		const char *expression;
		struct change change;
		enum fail_if_result result;
	} cases[] = {
		{"step_ms>+5%", {183000, 183000}, FAIL_IF_HELD},
		{"step_ms>+15%", {183000, 183000}, FAIL_IF_NOT},
		{"step_ms > +0.18", {183000, 183000}, FAIL_IF_HELD},
		{"step_ms>+0.2", {183000, 183000}, FAIL_IF_NOT},
		{"step_ms<-5 %", {-183000, -183000}, FAIL_IF_HELD},
		{"step_ms<-5%", {183000, 183000}, FAIL_IF_NOT},
		{"step_ms>2", {183000, 183000}, FAIL_IF_HELD}, /* B's own: 2.013 ms */
		{"step_ms>2.1", {183000, 183000}, FAIL_IF_NOT},
		{"host_ms>+0.18", {183000, 183000}, FAIL_IF_HELD},
		{"host_ms>+0.19", {183000, 183000}, FAIL_IF_NOT},
		{"overhead_ms>+10%", {183000, 183000}, FAIL_IF_HELD},
		{"launch_ms>+0%", {183000, 183000}, FAIL_IF_NOT},
		{"overhead_pct>+0.3", {183000, 183000}, FAIL_IF_HELD},
		{"overhead_pct>+3", {183000, 183000}, FAIL_IF_NOT},
		{"kernel_ms>+5%", {183000, 183000}, FAIL_IF_NOT},
		{"busy_ms<0.43", {0, 0}, FAIL_IF_HELD}, /* 126 ms of 300 steps */
		{"busy_ms<0.41", {0, 0}, FAIL_IF_NOT},
		{"alloc_ms>+5%", {0, 0}, FAIL_IF_NOT}, /* from nothing to nothing */
		{"lost>+0", {0, 0}, FAIL_IF_NOT},
		{"kernels==110780", {0, 0}, FAIL_IF_HELD},
		{"regime!=overhead", {0, 0}, FAIL_IF_NOT},
		{"regime==overhead", {0, 0}, FAIL_IF_HELD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (evaluate(cases[i].expression, cases[i].change) != cases[i].result)
			print_error("%s\n", cases[i].expression);
		assert_int_equal(evaluate(cases[i].expression, cases[i].change), cases[i].result);
	}
}

/* 15 us is within the interval of the two runs, which is about 26 us either way. */
static void test_a_step_within_noise_holds_nothing(void **state)
{
	(void)state;
	assert_int_equal(evaluate("step_ms>+0.5%", (struct change){15000, 15000}), FAIL_IF_NOT);
	assert_int_equal(evaluate("host_ms>+0.5%", (struct change){15000, 15000}), FAIL_IF_HELD);
	assert_int_equal(evaluate("step_ms>+0.5%", (struct change){60000, 60000}), FAIL_IF_HELD);
	assert_int_equal(evaluate("step_ms>1.84", (struct change){15000, 15000}), FAIL_IF_HELD);
}

static void test_a_figure_of_one_side_only_is_unknown(void **state)
{
	const struct view view = {.top = 10};
	struct fail_if_words words;
	struct report a, b;
	struct diff diff;

	(void)state;
	report_fixture_mlp(&a);
	report_fixture_mlp(&b);
	a.processes[0].devices[0].steps = (struct steps){0};
	assert_int_equal(diff_make(&a, &b, &view, &diff), 0);
	assert_int_equal(diff_fail_if_evaluate("step_ms>+5%", &diff, &b, &view, &words),
			 FAIL_IF_UNKNOWN);
	assert_int_equal(diff_fail_if_evaluate("step_ms>1", &diff, &b, &view, &words),
			 FAIL_IF_HELD);
	diff_fini(&diff);
	report_fini(&a);
	report_fini(&b);
}

static void test_not_an_expression(void **state)
{
	static const char *const wrong[] = {"",
					    "step_ms",
					    "step_ms>",
					    "step_ms>+",
					    "step_ms>+x",
					    "step_ms>+5%x",
					    "nothing>+1",
					    "regime>+5%",
					    "regime==fast",
					    "step_ms>nan",
					    "frobnicate_ms>1",
					    ">+5%"};
	struct fail_if_words words;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(diff_fail_if_check(wrong[i], &words), FAIL_IF_INVALID);
	assert_int_equal(diff_fail_if_check("step_ms>+5%", &words), FAIL_IF_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes_and_absolute_figures),
		cmocka_unit_test(test_a_step_within_noise_holds_nothing),
		cmocka_unit_test(test_a_figure_of_one_side_only_is_unknown),
		cmocka_unit_test(test_not_an_expression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
