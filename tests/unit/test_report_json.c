/* The JSON contract of DESIGN section 5: every key, its kind, and sums that hold. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/advice.h"
#include "analysis/report_json.h"
#include "tests/unit/report_fixture.h"

static json_t *render(void (*fill)(struct report *report), size_t top)
{
	const struct view view = {.top = top};
	struct report report;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_error_t error;
	json_t *json;

	assert_non_null(out);
	fill(&report);
	advice_fill(&report);
	assert_int_equal(report_json_print(&report, &view, out), 0);
	fclose(out);
	report_fini(&report);
	json = json_loads(text, 0, &error);
	if (!json)
		fail_msg("line %d: %s", error.line, error.text);
	free(text);
	return json;
}

static json_t *at(json_t *json, const char *key)
{
	json_t *value = json_object_get(json, key);

	if (!value)
		fail_msg("no key %s", key);
	return value;
}

static json_t *first_device(json_t *json)
{
	return json_array_get(at(json_array_get(at(json, "processes"), 0), "devices"), 0);
}

static void assert_keys(json_t *json, const char *keys)
{
	char *copy = strdup(keys), *rest = copy, *key;

	while ((key = strsep(&rest, " ")))
		at(json, key);
	free(copy);
}

/* null, or an object with value, low and high in order. */
static void assert_measure(json_t *json)
{
	if (json_is_null(json))
		return;
	assert_keys(json, "value low high");
	assert_true(json_number_value(at(json, "low")) <= json_number_value(at(json, "value")));
	assert_true(json_number_value(at(json, "value")) <= json_number_value(at(json, "high")));
}

static void assert_window(json_t *window)
{
	json_int_t leaves = 0, pillars = 0;
	const char *key;
	json_t *value;

	assert_keys(window, "begin window_ns leaves pillars");
	json_object_foreach(at(window, "leaves"), key, value) {
		assert_true(json_is_integer(value));
		leaves += json_integer_value(value);
	}
	assert_keys(at(window, "pillars"), "compute memory overhead other");
	json_object_foreach(at(window, "pillars"), key, value)
		pillars += json_integer_value(value);
	assert_int_equal(leaves, json_integer_value(at(window, "window_ns")));
	assert_int_equal(pillars, leaves);
}

static void test_every_key_of_the_contract(void **state)
{
	json_t *json = render(report_fixture_mlp, 0), *device = first_device(json), *kernel,
	       *advice;
	json_t *process = json_array_get(at(json, "processes"), 0);

	(void)state;
	assert_string_equal(json_string_value(at(json, "schema")), "boundshim.report/1");
	assert_keys(at(json, "verdict"), "regime leaf share confidence sentence");
	assert_keys(at(process, "run"),
		    "command host pid rank start complete boundshim_version mode");
	assert_keys(at(process, "coverage"),
		    "kernels launches_hooked launches_seen launches_captured kernels_explained "
		    "dropped trace_bytes tracing_ns");
	assert_keys(
		device,
		"index name cc sm_count driver cupti shared ceilings clock_mhz whole steady verdict kernels "
		"copies gaps advice");
	assert_window(at(device, "whole"));
	assert_window(at(device, "steady"));
	assert_keys(at(at(device, "steady"), "step"), "period_ns count detected_by");
	kernel = json_array_get(at(device, "kernels"), 0);
	assert_keys(
		kernel,
		"name short_name category grid block registers shared_bytes launches total_ns busy_ns mean_ns "
		"share regime leaf leans confidence evidence tensor_pct fma_pct dram_pct l2_pct l1_pct waves "
		"flops bytes queue_ns gap_ns");
	assert_int_equal(json_array_size(at(kernel, "grid")), 3);
	assert_measure(at(kernel, "waves"));
	assert_keys(json_array_get(at(device, "copies"), 0),
		    "direction source target count bytes total_ns bytes_per_s");
	assert_keys(at(at(device, "gaps"), "host"), "count total_ns worst");
	advice = json_array_get(at(device, "advice"), 0);
	assert_keys(advice, "id title why targets saves_ns speedup how");
	assert_measure(at(advice, "saves_ns"));
	assert_measure(at(advice, "speedup"));
	json_decref(json);
}

static void test_unknown_is_null_not_zero(void **state)
{
	json_t *json = render(report_fixture_mlp, 0);
	json_t *kernel = json_array_get(at(first_device(json), "kernels"), 0);

	(void)state;
	assert_true(json_is_null(at(kernel, "tensor_pct")));
	assert_true(json_is_null(at(kernel, "flops")));
	assert_true(json_is_null(at(first_device(json), "clock_mhz")));
	json_decref(json);
}

static void test_no_device_gives_an_empty_list(void **state)
{
	json_t *json = render(report_fixture_hooks, 0);
	json_t *process = json_array_get(at(json, "processes"), 0);

	(void)state;
	assert_int_equal(json_array_size(at(process, "devices")), 0);
	assert_true(json_is_false(at(at(process, "run"), "complete")));
	assert_int_equal(
		json_integer_value(at(at(at(process, "coverage"), "dropped"), "ring_full")), 12);
	assert_string_equal(json_string_value(at(at(json, "verdict"), "regime")), "unknown");
	json_decref(json);
}

/* json_loads has checked the encoding; no control character may reach whoever prints a value. */
static void test_hostile_text_is_valid_and_bounded(void **state)
{
	json_t *json = render(report_fixture_hostile, 0);
	json_t *kernel = json_array_get(at(first_device(json), "kernels"), 0);
	const char *command = json_string_value(
		at(at(json_array_get(at(json, "processes"), 0), "run"), "command"));

	(void)state;
	assert_null(strchr(command, '\033'));
	assert_non_null(strstr(command, "\\x1b]0;owned"));
	assert_true(strlen(json_string_value(at(kernel, "name"))) < 20000);
	assert_null(strchr(json_string_value(at(kernel, "short_name")), '\033'));
	json_decref(json);
}

static void test_top_limits_the_kernels(void **state)
{
	json_t *json = render(report_fixture_mlp, 2);

	(void)state;
	assert_int_equal(json_array_size(at(first_device(json), "kernels")), 2);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_of_the_contract),
		cmocka_unit_test(test_unknown_is_null_not_zero),
		cmocka_unit_test(test_no_device_gives_an_empty_list),
		cmocka_unit_test(test_hostile_text_is_valid_and_bounded),
		cmocka_unit_test(test_top_limits_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
