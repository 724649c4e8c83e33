/* What diff prints: hostile names steer no terminal and break no JSON, whatever the comparison. */
#include <jansson.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/diff_json.h"
#include "analysis/diff_text.h"
#include "analysis/scale_json.h"
#include "analysis/scale_text.h"
#include "tests/unit/report_fixture.h"

typedef void (*fixture)(struct report *report);

static const struct view all = {.top = 10};

static char *print_diff(fixture a, fixture b, bool as_json)
{
	struct terminal terminal = {.columns = 400};
	struct report left, right;
	struct diff diff;
	char *text = NULL;
	size_t size = 0;

	a(&left);
	b(&right);
	assert_int_equal(diff_make(&left, &right, &all, &diff), 0);
	terminal.out = open_memstream(&text, &size);
	if (as_json)
		assert_int_equal(diff_json_print(&diff, &all, terminal.out), 0);
	else
		diff_text_print(&diff, &all, &terminal);
	fclose(terminal.out);
	diff_fini(&diff);
	report_fini(&left);
	report_fini(&right);
	return text;
}

/* The hostile report at two sizes. */
static char *print_scale(bool as_json)
{
	struct work work = {.source = WORK_GIVEN, .amount = {1, 2}};
	struct terminal terminal = {.columns = 100};
	struct report reports[2];
	struct scale scale;
	size_t culprit, size = 0;
	char *text = NULL;

	for (unsigned i = 0; i < 2; i++) {
		struct device_report *device;

		report_fixture_hostile(&reports[i]);
		device = &reports[i].processes[0].devices[0];
		device->steady.kernel_ns = device->steady.busy_ns;
		free(reports[i].processes[0].path);
		reports[i].processes[0].path = strdup("\033[31m.bst\n");
	}
	assert_int_equal(scale_make(reports, 2, &work, &all, &scale, &culprit), SCALE_DONE);
	terminal.out = open_memstream(&text, &size);
	if (as_json)
		assert_int_equal(scale_json_print(&scale, &all, terminal.out), 0);
	else
		scale_text_print(&scale, &all, &terminal);
	fclose(terminal.out);
	scale_fini(&scale);
	for (unsigned i = 0; i < 2; i++)
		report_fini(&reports[i]);
	return text;
}

static void assert_harmless(const char *text)
{
	for (const char *p = text; *p; p++)
		assert_true((unsigned char)*p >= 0x20 || *p == '\n');
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\xff"));
}

static void hostile_gpu(struct report *report)
{
	struct device_report *device;

	report_fixture_hostile(report);
	device = &report->processes[0].devices[0];
	free(device->name);
	device->name = strdup("GPU\033[2J\r\n\xff");
	free(report->processes[0].version);
	report->processes[0].version = strdup("\033]0;x\007");
	report->processes[0].complete = false;
	report->processes[0].incomplete_reason = strdup("it was \033[31mcut\n");
}

static void test_hostile_text_is_neutralised(void **state)
{
	static const fixture b[] = {report_fixture_hostile, report_fixture_mlp, hostile_gpu};
	char *text;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		text = print_diff(report_fixture_hostile, b[i], false);
		assert_harmless(text);
		assert_non_null(strstr(text, "\\x1b"));
		free(text);
	}
	text = print_scale(false);
	assert_harmless(text);
	assert_non_null(strstr(text, "\\x1b"));
	free(text);
}

static void assert_json(char *text, const char *schema)
{
	json_error_t error;
	json_t *root = json_loads(text, 0, &error);

	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), schema);
	json_decref(root);
	free(text);
}

static void test_json_is_valid_whatever_is_in_it(void **state)
{
	(void)state;
	assert_json(print_diff(report_fixture_hostile, hostile_gpu, true), "boundshim.diff/1");
	assert_json(print_diff(report_fixture_ranks, report_fixture_mlp, true), "boundshim.diff/1");
	assert_json(print_diff(report_fixture_mlp, report_fixture_hooks, true), "boundshim.diff/1");
	assert_json(print_scale(true), "boundshim.scale/1");
}

static void test_the_answer_comes_first(void **state)
{
	char *text = print_diff(report_fixture_mlp, report_fixture_gemm, false);

	(void)state;
	assert_int_equal(strncmp(text, "B is 1.22x faster  a step 1.83 ms -> 1.50 ms", 44), 0);
	assert_non_null(strstr(text, "significant"));
	assert_non_null(strstr(text, "; bound by compute, was overhead"));
	free(text);
	text = print_diff(report_fixture_mlp, report_fixture_mlp, false);
	assert_int_equal(strncmp(text, "No change  ", 11), 0);
	free(text);
	text = print_diff(report_fixture_ranks, report_fixture_ranks, false);
	assert_int_equal(strncmp(text, "2 pairs of processes and devices\n", 33), 0);
	free(text);
	text = print_diff(report_fixture_mlp, report_fixture_hooks, false);
	assert_non_null(strstr(text, "have no partner"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_text_is_neutralised),
		cmocka_unit_test(test_json_is_valid_whatever_is_in_it),
		cmocka_unit_test(test_the_answer_comes_first),
	};

	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
