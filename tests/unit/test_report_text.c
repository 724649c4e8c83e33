/*
 * The screens that people see, compared with tests/unit/screens/NAME.txt; UPDATE_SCREENS=1 rewrites
 * those. Hand-made reports, so that a change of the analysis does not change them.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/advice.h"
#include "analysis/printable.h"
#include "analysis/report_text.h"
#include "tests/unit/report_fixture.h"

typedef void (*fixture)(struct report *report);

/* The report as text, 100 columns; the caller frees it. */
static char *render(fixture fill, const struct view *view, bool color)
{
	struct terminal terminal = {.columns = 100, .color = color};
	struct report report;
	char *text = NULL;
	size_t size = 0;

	terminal.out = open_memstream(&text, &size);
	assert_non_null(terminal.out);
	fill(&report);
	advice_fill(&report);
	report_text_print(&report, view, &terminal);
	fclose(terminal.out);
	report_fini(&report);
	return text;
}

static void assert_screen(const char *name, const char *text)
{
	char path[128], expected[16384];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "tests/unit/screens/%s.txt", name);
	if (getenv("UPDATE_SCREENS")) {
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(text, file);
		fclose(file);
	}
	file = fopen(path, "r");
	assert_non_null(file);
	size = fread(expected, 1, sizeof(expected) - 1, file);
	expected[size] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static void assert_no_line_over(const char *text, size_t columns)
{
	while (*text) {
		size_t size = strcspn(text, "\n");
		char *line = strndup(text, size);

		if (printable_columns(line) > columns)
			fail_msg("%zu columns: %s", printable_columns(line), line);
		free(line);
		text += size + (text[size] == '\n');
	}
}

static void check(const char *name, fixture fill, struct view view)
{
	char *text = render(fill, &view, false);

	assert_null(strchr(text, '\033'));
	assert_no_line_over(text, 100);
	assert_screen(name, text);
	free(text);
}

static void test_overhead_bound_training(void **state)
{
	(void)state;
	check("mlp", report_fixture_mlp, (struct view){.top = 10});
}

static void test_compute_bound_gemm(void **state)
{
	(void)state;
	check("gemm", report_fixture_gemm, (struct view){.top = 10});
}

static void test_roofline_view(void **state)
{
	(void)state;
	check("roofline", report_fixture_roofline, (struct view){.top = 10, .roofline = true});
}

static void test_ceilings_are_on_the_first_screen(void **state)
{
	char *text = render(report_fixture_roofline, &(struct view){.top = 10}, false);

	(void)state;
	assert_no_line_over(text, 100);
	assert_non_null(strstr(text, "Ceilings calibrated 2026-12-01 (of peak): memory 4.49 TB/s "
				     "(93 %) \xc2\xb7 tensor bf16 770 TFLOP/s (78 %)"));
	assert_non_null(strstr(text, "--view roofline"));
	free(text);
}

static void few_flops_known(struct report *report)
{
	struct device_report *d;

	report_fixture_roofline(report);
	d = &report->processes[0].devices[0];
	d->kernels[0].flops.known = false;
	classes_fill(d);
}

static void test_flops_of_few_kernels_make_no_table(void **state)
{
	char *text = render(few_flops_known, &(struct view){.top = 10, .roofline = true}, false);

	(void)state;
	assert_non_null(
		strstr(text, "FLOPs are known for kernels with 0.5 % of the time: too little"));
	assert_null(strstr(text, "matrix products"));
	free(text);
}

static void test_hooks_only_says_plainly_that_it_does_not_know(void **state)
{
	(void)state;
	check("hooks", report_fixture_hooks, (struct view){.top = 10});
}

static void test_two_ranks_begin_with_a_summary(void **state)
{
	(void)state;
	check("ranks", report_fixture_ranks, (struct view){.top = 2});
}

static void test_one_process_alone_has_no_summary(void **state)
{
	char *text = render(report_fixture_ranks,
			    &(struct view){.top = 1, .one_process = true, .process = 4243}, false);

	(void)state;
	assert_null(strstr(text, "2 processes"));
	assert_null(strstr(text, "train.py"));
	assert_non_null(strstr(text, "gemm.py"));
	free(text);
}

static void test_whole_window(void **state)
{
	(void)state;
	check("whole", report_fixture_mlp, (struct view){.top = 1, .whole = true});
}

static void test_hostile_text_is_harmless(void **state)
{
	(void)state;
	check("hostile", report_fixture_hostile, (struct view){.top = 10});
}

static void test_color_when_asked_for(void **state)
{
	char *text = render(report_fixture_mlp, &(struct view){.top = 10}, true);

	(void)state;
	assert_non_null(strstr(text, "\033[33m"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overhead_bound_training),
		cmocka_unit_test(test_compute_bound_gemm),
		cmocka_unit_test(test_roofline_view),
		cmocka_unit_test(test_ceilings_are_on_the_first_screen),
		cmocka_unit_test(test_flops_of_few_kernels_make_no_table),
		cmocka_unit_test(test_hooks_only_says_plainly_that_it_does_not_know),
		cmocka_unit_test(test_two_ranks_begin_with_a_summary),
		cmocka_unit_test(test_one_process_alone_has_no_summary),
		cmocka_unit_test(test_whole_window),
		cmocka_unit_test(test_hostile_text_is_harmless),
		cmocka_unit_test(test_color_when_asked_for),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
