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
	assert_keys(
		at(process, "coverage"),
		"kernels launches_hooked launches_seen launches_captured kernels_explained kept_share "
		"dropped trace_bytes tracing_ns");
	assert_keys(
		device,
		"index name cc sm_count driver cupti shared ceilings clock_mhz whole steady verdict kernels "
		"classes copies gaps whatif advice");
	assert_window(at(device, "whole"));
	assert_window(at(device, "steady"));
	assert_keys(at(at(device, "steady"), "step"), "period_ns count detected_by");
	kernel = json_array_get(at(device, "kernels"), 0);
	assert_keys(
		kernel,
		"name short_name category grid block registers shared_bytes launches total_ns busy_ns mean_ns "
		"share regime leaf leans confidence evidence tensor_pct fma_pct dram_pct l2_pct l1_pct waves "
		"flops bytes queue_ns gap_ns flops_per_s bytes_per_s intensity roofline_pct flops_source "
		"bytes_source roof class shapes");
	assert_int_equal(json_array_size(at(kernel, "grid")), 3);
	assert_measure(at(kernel, "waves"));
	assert_keys(json_array_get(at(device, "copies"), 0),
		    "direction source target count bytes total_ns bytes_per_s");
	assert_keys(at(at(device, "gaps"), "host"), "count total_ns worst");
	assert_keys(at(device, "whatif"),
		    "known steps operations recorded_step_ns replayed_step_ns replay_error "
		    "untraced_step_ns together_step_ns changes");
	assert_keys(json_array_get(at(at(device, "whatif"), "changes"), 0),
		    "id step_ns touched touched_ns");
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

static void assert_value(json_t *measure, double value)
{
	double found = json_number_value(at(measure, "value"));

	assert_measure(measure);
	if (found < 0.999 * value || found > 1.001 * value)
		fail_msg("%g, not %g", found, value);
}

static void test_arithmetic_of_a_kernel(void **state)
{
	json_t *json = render(report_fixture_roofline, 0);
	json_t *kernels = at(first_device(json), "kernels"), *kernel = json_array_get(kernels, 0);

	(void)state;
	assert_value(at(kernel, "flops_per_s"), 1.0995e12 / 1.488e-3);
	assert_value(at(kernel, "bytes_per_s"), 1.195e9 / 1.488e-3);
	assert_value(at(kernel, "intensity"), 1.0995e12 / 1.195e9);
	assert_value(at(kernel, "roofline_pct"), 100 * 1.0995e12 / 1.488e-3 / 7.7e14);
	assert_string_equal(json_string_value(at(kernel, "roof")), "tensor_bf16");
	assert_string_equal(json_string_value(at(kernel, "flops_source")), "library");
	assert_string_equal(json_string_value(at(kernel, "bytes_source")), "counters");
	kernel = json_array_get(kernels, 2);
	assert_true(json_is_null(at(kernel, "flops_per_s")));
	assert_true(json_is_null(at(kernel, "roofline_pct")));
	assert_true(json_is_null(at(kernel, "flops_source")));
	assert_true(json_is_null(at(kernel, "roof")));
	json_decref(json);
}

static void test_ceilings_say_their_source_and_peaks_stay(void **state)
{
	json_t *json = render(report_fixture_roofline, 0);
	json_t *ceilings = at(first_device(json), "ceilings");

	(void)state;
	assert_value(at(ceilings, "dram_peak_bytes_per_s"), 4.814e12);
	assert_value(at(ceilings, "tensor_peak_flops"), 989e12);
	assert_value(at(ceilings, "fma_peak_flops"), 66.9e12);
	assert_string_equal(json_string_value(at(ceilings, "calibrated")), "2026-12-01T01:14:56Z");
	assert_value(at(ceilings, "dram_read"), 4.494e12);
	assert_string_equal(json_string_value(at(at(ceilings, "dram_read"), "source")),
			    "calibrated");
	assert_string_equal(json_string_value(at(at(ceilings, "fp32"), "source")), "derived");
	assert_true(json_is_null(at(ceilings, "l2_read")));
	json_decref(json);
}

static void test_classes_have_shares(void **state)
{
	json_t *json = render(report_fixture_roofline, 0), *class;
	json_t *classes = at(first_device(json), "classes");

	(void)state;
	assert_int_equal(json_array_size(classes), 4);
	class = json_array_get(classes, 0);
	assert_keys(class, "class time_ns time_share flops flops_share bytes launches known_share");
	assert_string_equal(json_string_value(at(class, "class")), "contraction");
	assert_value(at(class, "flops"), 800 * 1.0995e12);
	assert_value(at(class, "flops_share"), 1);
	assert_true(json_is_null(at(json_array_get(classes, 1), "flops")));
	assert_int_equal(json_integer_value(at(json_array_get(classes, 2), "launches")), 800);
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
		cmocka_unit_test(test_arithmetic_of_a_kernel),
		cmocka_unit_test(test_ceilings_say_their_source_and_peaks_stay),
		cmocka_unit_test(test_classes_have_shares),
		cmocka_unit_test(test_no_device_gives_an_empty_list),
		cmocka_unit_test(test_hostile_text_is_valid_and_bounded),
		cmocka_unit_test(test_top_limits_the_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
