/* Comparisons of hand-made reports: leaves add up exactly, changes are named, obstacles are said. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/diff.h"
#include "tests/unit/report_fixture.h"

struct comparison {
	struct report a, b;
	struct diff diff;
};

static void begin(struct comparison *c, void (*a)(struct report *report),
		  void (*b)(struct report *report))
{
	a(&c->a);
	b(&c->b);
}

static const struct diff_pair *compare(struct comparison *c, bool whole)
{
	const struct view view = {.whole = whole, .top = 10};

	assert_int_equal(diff_make(&c->a, &c->b, &view, &c->diff), 0);
	assert_true(c->diff.pair_count > 0);
	return &c->diff.pairs[0];
}

static void end(struct comparison *c)
{
	diff_fini(&c->diff);
	report_fini(&c->a);
	report_fini(&c->b);
}

static struct device_report *device_of(struct report *report)
{
	return &report->processes[0].devices[0];
}

static bool has_note(const struct diff_pair *pair, const char *words)
{
	for (size_t i = 0; i < pair->note_count; i++)
		if (strstr(pair->notes[i], words))
			return true;
	return false;
}

static void assert_sums(const struct diff_pair *pair)
{
	uint64_t a = 0, b = 0;
	int64_t change = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		a += pair->a.leaf_ns[i];
		b += pair->b.leaf_ns[i];
		change += (int64_t)(pair->b.leaf_ns[i] - pair->a.leaf_ns[i]);
	}
	assert_true(a == pair->a.unit_ns);
	assert_true(b == pair->b.unit_ns);
	assert_true(change == (int64_t)(pair->b.unit_ns - pair->a.unit_ns));
}

/* --- leaves --- */

static void test_leaves_of_a_step_sum_exactly(void **state)
{
	struct diff_side side;

	(void)state;
	srand(7);
	for (unsigned n = 0; n < 20000; n++) {
		struct window w = {.known = true};
		uint64_t units = 1 + (uint64_t)rand() % 5000, scale = n % 2 ? 1 : DIFF_LAUNCHES;
		uint64_t sum = 0;

		for (unsigned i = 0; i < LEAF_COUNT; i++) {
			w.leaf_ns[i] = rand() % 3 ? (uint64_t)rand() << (rand() % 30) : 0;
			w.window_ns += w.leaf_ns[i];
		}
		diff_apportion(&w, units, scale, &side);
		for (unsigned i = 0; i < LEAF_COUNT; i++) {
			uint64_t exact =
				w.leaf_ns[i] / units * scale + w.leaf_ns[i] % units * scale / units;

			assert_true(side.leaf_ns[i] - exact <= 1);
			sum += side.leaf_ns[i];
		}
		assert_true(sum == side.unit_ns);
	}
}

static void test_rests_go_to_the_largest(void **state)
{
	struct window w = {.known = true, .window_ns = 20};
	struct diff_side side;

	(void)state;
	w.leaf_ns[LEAF_COMPUTE] = 4; /* 0.4 */
	w.leaf_ns[LEAF_DRAM] = 7;    /* 0.7 */
	w.leaf_ns[LEAF_HOST] = 9;    /* 0.9 */
	diff_apportion(&w, 10, 1, &side);
	assert_int_equal(side.unit_ns, 2);
	assert_int_equal(side.leaf_ns[LEAF_COMPUTE], 0);
	assert_int_equal(side.leaf_ns[LEAF_DRAM], 1);
	assert_int_equal(side.leaf_ns[LEAF_HOST], 1);
}

static void test_absurd_windows_neither_hang_nor_trap(void **state)
{
	struct window w = {.known = true, .window_ns = UINT64_MAX};
	struct diff_side side;

	(void)state;
	w.leaf_ns[LEAF_HOST] = UINT64_MAX - 5;
	w.leaf_ns[LEAF_DRAM] = 5;
	diff_apportion(&w, 7, DIFF_LAUNCHES, &side);
	diff_apportion(&w, 1, DIFF_LAUNCHES, &side);
}

/* --- the time --- */

static void test_a_run_against_itself_is_no_change(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	pair = compare(&c, false);
	assert_true(pair->comparable && pair->tested);
	assert_false(pair->significant);
	assert_int_equal(pair->basis, DIFF_STEP);
	assert_true(pair->change_ns.value == 0);
	assert_true(diff_ratio(pair) == 1);
	assert_int_equal(pair->note_count, 0);
	for (size_t i = 0; i < pair->kernel_count; i++)
		assert_false(kernel_change_told(&pair->kernels[i]));
	assert_sums(pair);
	end(&c);
}

static void test_known_host_time_lands_in_host(void **state)
{
	struct comparison c;
	struct device_report *b;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	b = device_of(&c.b);
	b->steady.leaf_ns[LEAF_HOST] += 300 * UINT64_C(200000);
	b->steady.window_ns += 300 * UINT64_C(200000);
	b->steps.period_ns += 200000;
	for (unsigned i = 0; i < STEP_BATCHES; i++)
		b->steps.batch_ns[i] += 200000;
	pair = compare(&c, false);
	assert_true(pair->tested && pair->significant);
	assert_true(pair->change_ns.value == 200000);
	assert_true(pair->change_ns.low > 170000 && pair->change_ns.high < 230000);
	assert_int_equal(pair->b.leaf_ns[LEAF_HOST] - pair->a.leaf_ns[LEAF_HOST], 200000);
	assert_int_equal(pair->b.leaf_ns[LEAF_LAUNCH], pair->a.leaf_ns[LEAF_LAUNCH]);
	assert_sums(pair);
	end(&c);
}

/* Half as many steps of the same length: nothing changed but the length of the run. */
static void test_length_of_the_run_does_not_matter(void **state)
{
	struct comparison c;
	struct device_report *b;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	b = device_of(&c.b);
	b->steps.count /= 2;
	b->steady.window_ns = 0;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		b->steady.leaf_ns[i] /= 2;
		b->steady.window_ns += b->steady.leaf_ns[i];
	}
	for (size_t i = 0; i < b->kernel_count; i++) {
		b->kernels[i].launches /= 2;
		b->kernels[i].total_ns /= 2;
		b->kernels[i].busy_ns /= 2;
	}
	pair = compare(&c, false);
	assert_false(pair->significant);
	for (size_t i = 0; i < pair->kernel_count; i++)
		assert_false(kernel_change_told(&pair->kernels[i]));
	assert_sums(pair);
	end(&c);
}

static void without_steps(struct report *report)
{
	struct device_report *device;

	report_fixture_mlp(report);
	device = device_of(report);
	device->steps = (struct steps){0};
}

static void test_without_steps_windows_or_launches_are_compared(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;
	struct device_report *b;

	(void)state;
	begin(&c, without_steps, without_steps);
	pair = compare(&c, false);
	assert_int_equal(pair->basis, DIFF_WINDOW);
	assert_false(pair->tested);
	assert_ptr_equal(pair->a.window, &device_of(&c.a)->steady);
	assert_sums(pair);
	end(&c);

	begin(&c, without_steps, without_steps);
	b = device_of(&c.b);
	for (size_t i = 0; i < b->kernel_count; i++)
		b->kernels[i].launches *= 2;
	b->steady.window_ns = 0;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		b->steady.leaf_ns[i] *= 2;
		b->steady.window_ns += b->steady.leaf_ns[i];
	}
	pair = compare(&c, false);
	assert_int_equal(pair->basis, DIFF_LAUNCH);
	assert_true(has_note(pair, "per 1,000 kernel launches"));
	assert_true(fabs(pair->change_ns.value) <= 1);
	assert_sums(pair);
	end(&c);
}

static void test_the_whole_run_if_asked_for(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	pair = compare(&c, true);
	assert_int_equal(pair->basis, DIFF_WINDOW);
	assert_ptr_equal(pair->b.window, &device_of(&c.b)->whole);
	assert_int_equal(pair->a.unit_ns, UINT64_C(12400000000));
	assert_sums(pair);
	end(&c);
}

/* --- kernels --- */

static const struct kernel_change *change_of(const struct diff_pair *pair, const char *short_name)
{
	for (size_t i = 0; i < pair->kernel_count; i++) {
		const struct kernel_change *k = &pair->kernels[i];

		if (!strcmp((k->match.a ? k->match.a : k->match.b)->short_name, short_name))
			return k;
	}
	fail();
	return NULL;
}

static void test_kernels_by_the_time_they_cost(void **state)
{
	struct comparison c;
	struct kernel_report *b;
	const struct diff_pair *pair;
	const struct kernel_change *slower, *shape;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	b = device_of(&c.b)->kernels;
	b[0].mean_ns *= 1.5;
	b[0].busy_ns += b[0].busy_ns / 2;
	b[1].grid[0] *= 2;
	b[2].launches *= 2;
	pair = compare(&c, false);
	slower = change_of(pair, b[0].short_name);
	shape = change_of(pair, b[1].short_name);
	assert_ptr_equal(slower, &pair->kernels[0]);
	assert_int_equal(slower->pace, 1);
	assert_int_equal(slower->match.kind, KERNEL_MATCH_SAME);
	assert_true(fabs(slower->change_ns - 8 * 6950) < 1);
	assert_int_equal(shape->match.kind, KERNEL_MATCH_RESHAPED);
	assert_int_equal(shape->pace, 0);
	assert_true(change_of(pair, b[2].short_name)->count_changed);
	assert_false(kernel_change_told(change_of(pair, b[3].short_name)));
	end(&c);
}

static void test_a_regime_changes_between_known_ones_only(void **state)
{
	struct comparison c;
	struct kernel_report *b;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	b = device_of(&c.b)->kernels;
	b[0].verdict.regime = REGIME_MEMORY;
	b[0].verdict.leaf = LEAF_DRAM;
	b[1].verdict.regime = REGIME_OTHER;
	b[1].verdict.leaf = LEAF_UNKNOWN;
	pair = compare(&c, false);
	assert_true(change_of(pair, b[0].short_name)->regime_changed);
	assert_false(change_of(pair, b[1].short_name)->regime_changed);
	end(&c);
}

/* --- obstacles --- */

static void test_what_makes_a_comparison_doubtful_is_said(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;
	struct device_report *b;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_gemm);
	b = device_of(&c.b);
	free(b->name);
	b->name = strdup("NVIDIA A100");
	b->shared = true;
	b->counters.samples = 100;
	c.b.processes[0].driver_version = 12080;
	c.b.processes[0].complete = false;
	c.b.processes[0].coverage.lost = 1234;
	c.b.processes[0].coverage.kernels_explained /= 2;
	pair = compare(&c, false);
	assert_true(pair->comparable);
	assert_true(has_note(pair, "Other GPU: NVIDIA H200 in A, NVIDIA A100 in B"));
	assert_true(has_note(pair, "CUDA 13.0 in A, 12.8 in B"));
	assert_true(has_note(pair, "B is incomplete"));
	assert_true(has_note(pair, "B lost 1,234 records"));
	assert_true(has_note(pair, "400 of 800 kernels are not joined"));
	assert_true(has_note(pair, "Something else used the GPU while B ran"));
	assert_true(has_note(pair, "Only B has counter samples"));
	assert_true(has_note(pair, "perhaps two programs"));
	end(&c);
}

static void test_steps_found_twice_as_long_are_said(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	device_of(&c.b)->steps.count /= 2;
	device_of(&c.b)->steps.kernels *= 2;
	pair = compare(&c, false);
	assert_true(has_note(pair, "2 times as often in a step of B"));
	end(&c);
}

static void test_without_device_times_nothing_is_comparable(void **state)
{
	struct comparison c;
	const struct diff_pair *pair;

	(void)state;
	begin(&c, report_fixture_mlp, report_fixture_mlp);
	c.b.processes[0].coverage.kernels = 0;
	c.b.processes[0].coverage.kernels_explained = 0;
	c.b.processes[0].coverage.copies = 0;
	pair = compare(&c, false);
	assert_false(pair->comparable);
	assert_false(diff_comparable(&c.diff));
	assert_true(has_note(pair, "B has no device times"));
	end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaves_of_a_step_sum_exactly),
		cmocka_unit_test(test_rests_go_to_the_largest),
		cmocka_unit_test(test_absurd_windows_neither_hang_nor_trap),
		cmocka_unit_test(test_a_run_against_itself_is_no_change),
		cmocka_unit_test(test_known_host_time_lands_in_host),
		cmocka_unit_test(test_length_of_the_run_does_not_matter),
		cmocka_unit_test(test_without_steps_windows_or_launches_are_compared),
		cmocka_unit_test(test_the_whole_run_if_asked_for),
		cmocka_unit_test(test_kernels_by_the_time_they_cost),
		cmocka_unit_test(test_a_regime_changes_between_known_ones_only),
		cmocka_unit_test(test_what_makes_a_comparison_doubtful_is_said),
		cmocka_unit_test(test_steps_found_twice_as_long_are_said),
		cmocka_unit_test(test_without_device_times_nothing_is_comparable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
