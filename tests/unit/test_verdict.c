/* What the answer for a window is, and when none is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_cost_is_outside_the_shares),
		cmocka_unit_test(a_correction_larger_than_what_is_left_withholds_the_verdict),
		cmocka_unit_test(too_few_records_withhold_the_verdict_and_say_how_few),
		cmocka_unit_test(an_answer_that_does_not_hang_on_it_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
