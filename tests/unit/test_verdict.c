/* What the answer for a window is, and when none is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/verdict.h"

/* A window of 1000 ns. */
static struct window window_of(uint64_t compute, uint64_t host, uint64_t underfilled,
			       uint64_t tracing)
{
	struct window w = {.known = true, .window_ns = 1000, .busy_ns = compute + underfilled};

	w.leaf_ns[LEAF_COMPUTE] = compute;
	w.leaf_ns[LEAF_HOST] = host;
	w.leaf_ns[LEAF_UNDERFILLED] = underfilled;
	w.leaf_ns[LEAF_TRACING] = tracing;
	return w;
}

static enum regime regime_of(const struct window *w)
{
	struct verdict v = verdict_of(w, 0.9, true);

	assert_non_null(v.sentence);
	free(v.sentence);
	return v.regime;
}

static void own_cost_is_outside_the_shares(void **state)
{
	struct window w = window_of(600, 300, 0, 100);

	(void)state;
	assert_int_equal(regime_of(&w), REGIME_COMPUTE);
	w = window_of(300, 600, 0, 100);
	assert_int_equal(regime_of(&w), REGIME_OVERHEAD);
}

/* Trap: perturbation-corrected gaps, where the tool's own part dominates (peers.md b.5). */
static void a_correction_larger_than_what_is_left_withholds_the_verdict(void **state)
{
	struct window w = window_of(250, 350, 0, 400);

	(void)state;
	assert_int_equal(regime_of(&w), REGIME_UNKNOWN);
	w = window_of(400, 200, 0, 400); /* overhead would lead if our cost were not ours */
	assert_int_equal(regime_of(&w), REGIME_UNKNOWN);
}

static void too_few_records_withhold_the_verdict_and_say_how_few(void **state)
{
	struct window w = window_of(900, 100, 0, 0);
	struct verdict v = verdict_of(&w, 0.9, true);

	(void)state;
	verdict_withhold(&v, VERDICT_COVERAGE);
	assert_int_equal(v.regime, REGIME_COMPUTE);
	verdict_withhold(&v, 0.7999);
	assert_int_equal(v.regime, REGIME_UNKNOWN);
	assert_true(v.confidence == 0);
	assert_non_null(strstr(v.sentence, "only 79 % of the records"));
	free(v.sentence);
}

static void an_answer_that_does_not_hang_on_it_stays(void **state)
{
	struct window w = window_of(750, 100, 0, 150);

	(void)state;
	assert_int_equal(regime_of(&w), REGIME_COMPUTE);
	w = window_of(100, 50, 700, 150); /* kernels too small: no idle time */
	assert_int_equal(regime_of(&w), REGIME_OVERHEAD);
	w = window_of(470, 30, 450, 50); /* little, whatever is left */
	assert_int_equal(regime_of(&w), REGIME_MIXED);
}

/* Kernels' labels are trusted at 0.8 here. */
static void shares_leads_and_words_are_those_of_the_leaves(void **state)
{
	static const struct {
		struct window w;
		bool per_step;
		enum regime regime;
		enum leaf leaf;
		double share, confidence;
		const char *sentence;
	} rows[] = {
		{{.busy_ns = 700, .leaf_ns = {[LEAF_COMPUTE] = 700, [LEAF_HOST] = 300}},
		 true,
		 REGIME_COMPUTE,
		 LEAF_COMPUTE,
		 0.7,
		 0.8,
		 "the GPU was busy 70 % of each step, and for 70 % arithmetic units were the busiest part"},
		{{.busy_ns = 400, .leaf_ns = {[LEAF_COMPUTE] = 400, [LEAF_HOST] = 600}},
		 false,
		 REGIME_OVERHEAD,
		 LEAF_HOST,
		 0.6,
		 0.9,
		 "the GPU was idle 60 % of the time, mostly waiting for the CPU to launch the next kernel"},
		{{.busy_ns = 800,
		  .leaf_ns = {[LEAF_UNDERFILLED] = 600, [LEAF_COMPUTE] = 200, [LEAF_HOST] = 200}},
		 true,
		 REGIME_OVERHEAD,
		 LEAF_UNDERFILLED,
		 0.8,
		 0.825,
		 "the GPU spent 80 % of each step idle or with kernels too small to fill it"},
		{{.busy_ns = 700, .leaf_ns = {[LEAF_LATENCY] = 700, [LEAF_SYNC] = 300}},
		 true,
		 REGIME_MIXED,
		 LEAF_LATENCY,
		 0.7,
		 0.83,
		 "for 70 % of each step, kernels filled the GPU but kept no unit busy"},
		{{.busy_ns = 750,
		  .leaf_ns = {[LEAF_COMPUTE] = 350,
			      [LEAF_DRAM] = 300,
			      [LEAF_HOST] = 250,
			      [LEAF_LATENCY] = 60,
			      [LEAF_UNKNOWN] = 40}},
		 true,
		 REGIME_MIXED,
		 LEAF_COMPUTE,
		 0.35,
		 (0.25 * 0.9 + 0.75 * 0.8) * 0.96,
		 "nothing dominates: compute 35 %, memory 30 %, overhead 25 %, other 10 % of each step"},
		{{.busy_ns = 1000, .leaf_ns = {[LEAF_COMPUTE] = 400, [LEAF_UNKNOWN] = 600}},
		 true,
		 REGIME_UNKNOWN,
		 LEAF_UNKNOWN,
		 0.6,
		 0,
		 "the trace does not tell what binds 60 % of each step"},
		{{.busy_ns = 1000, .leaf_ns = {[LEAF_COMPUTE] = 500, [LEAF_UNKNOWN] = 500}},
		 true,
		 REGIME_UNKNOWN,
		 LEAF_UNKNOWN,
		 0.5,
		 0,
		 "the trace does not tell what binds 50 % of each step"},
		{{.busy_ns = 760,
		  .leaf_ns = {[LEAF_COMPUTE] = 240,
			      [LEAF_DRAM] = 240,
			      [LEAF_HOST] = 240,
			      [LEAF_LATENCY] = 240,
			      [LEAF_UNKNOWN] = 40}},
		 true,
		 REGIME_UNKNOWN, /* nothing has a quarter */
		 LEAF_UNKNOWN,
		 0.04,
		 0,
		 "the trace does not tell what binds 4 % of each step"},
		{{.busy_ns = 1000, .leaf_ns = {[LEAF_COMPUTE] = 700, [LEAF_UNKNOWN] = 300}},
		 true,
		 REGIME_COMPUTE,
		 LEAF_COMPUTE,
		 0.7,
		 0.8 * 0.7,
		 "the GPU was busy 100 % of each step, and for 70 % arithmetic units were the busiest part"},
		{{.busy_ns = 1000, .leaf_ns = {[LEAF_TRANSFER] = 800, [LEAF_COMPUTE] = 200}},
		 true,
		 REGIME_MEMORY,
		 LEAF_TRANSFER,
		 0.8,
		 0.9,
		 "the GPU was busy 100 % of each step, and for 80 % it waited for copies between host and device"},
		/* Of what is left without our own cost; busy time may hold some of that. */
		{{.busy_ns = 900,
		  .leaf_ns = {[LEAF_DRAM] = 560, [LEAF_COMPUTE] = 240, [LEAF_TRACING] = 200}},
		 true,
		 REGIME_MEMORY,
		 LEAF_DRAM,
		 0.7,
		 0.8,
		 "the GPU was busy 100 % of each step, and for 70 % device memory was the busiest part"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct window w = rows[i].w;
		struct verdict v;

		w.known = true;
		w.window_ns = 1000;
		v = verdict_of(&w, 0.8, rows[i].per_step);
		assert_string_equal(v.sentence, rows[i].sentence);
		assert_int_equal(v.regime, rows[i].regime);
		assert_int_equal(v.leaf, rows[i].leaf);
		assert_true(fabs(v.share - rows[i].share) < 1e-9);
		assert_true(fabs(v.confidence - rows[i].confidence) < 1e-9);
		free(v.sentence);
	}
}

static void what_is_withheld_is_told_with_its_reason(void **state)
{
	struct window w = window_of(250, 350, 0, 400), nothing = {0};
	struct verdict v = verdict_of(&w, 0.8, true);

	(void)state;
	assert_string_equal(v.sentence,
			    "tracing itself takes 40 % of the time, more than the GPU idles beside "
			    "it (35 %): what binds without tracing is not known");
	assert_true(v.share == 1 && v.confidence == 0 && v.leaf == LEAF_UNKNOWN);
	free(v.sentence);
	v = verdict_of(&nothing, 0.8, false);
	assert_string_equal(v.sentence, "the trace does not tell what binds 100 % of the time");
	assert_true(v.share == 1 && v.confidence == 0);
	free(v.sentence);
}

/* Windows weigh by their length, steady ones where there are any; devices of which nothing is known do not count. */
static void devices_are_put_together_by_their_time(void **state)
{
	struct device_report device[3] = {{.index = 0}, {.index = 1}, {.index = 2}};
	struct process_report process[2] = {
		{.devices = device, .device_count = 2, .coverage.kept_share = 1},
		{.devices = device + 2, .device_count = 1, .coverage.kept_share = 1}};
	struct report report = {.processes = process, .process_count = 2};
	struct verdict v;

	(void)state;
	device[0].whole = window_of(10, 990, 0, 0);
	device[0].steady = window_of(900, 100, 0, 0);
	device[0].steps.known = true;
	device[0].verdict.confidence = 0.5;
	device[1].verdict.confidence = 0.1;
	device[2].whole = window_of(300, 2700, 0, 0);
	device[2].whole.window_ns = 3000;
	device[2].verdict.confidence = 0.9;
	v = verdict_over(&report);
	assert_string_equal(v.sentence,
			    "the GPU was idle 70 % of the time, mostly waiting for the CPU "
			    "to launch the next kernel");
	assert_true(fabs(v.confidence - 0.8) < 1e-9);
	free(v.sentence);
	report.process_count = 1;
	v = verdict_over(&report);
	assert_string_equal(v.sentence,
			    "the GPU was busy 90 % of each step, and for 90 % arithmetic "
			    "units were the busiest part");
	free(v.sentence);
	report.process_count = 0;
	v = verdict_over(&report);
	assert_true(v.regime == REGIME_UNKNOWN && v.confidence == 0);
	free(v.sentence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_cost_is_outside_the_shares),
		cmocka_unit_test(a_correction_larger_than_what_is_left_withholds_the_verdict),
		cmocka_unit_test(too_few_records_withhold_the_verdict_and_say_how_few),
		cmocka_unit_test(an_answer_that_does_not_hang_on_it_stays),
		cmocka_unit_test(shares_leads_and_words_are_those_of_the_leaves),
		cmocka_unit_test(what_is_withheld_is_told_with_its_reason),
		cmocka_unit_test(devices_are_put_together_by_their_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
