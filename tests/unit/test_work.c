/* The amount of work: what the user says, and what FLOPs, grids and copies tell. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/work.h"

static void test_what_the_user_says(void **state)
{
	static const struct {
		const char *text;
		size_t count;
		bool good;
	} cases[] = {
		{"1,2,4", 3, true},   {"32,64", 2, true},  {"0.5,1", 2, true},
		{"1e3,2e3", 2, true}, {"1,2", 3, false},   {"1,2,4", 2, false},
		{"1,0", 2, false},    {"1,-2", 2, false},  {"1,x", 2, false},
		{"", 2, false},       {"1;2", 2, false},   {"1,2,", 2, false},
		{"nan,1", 2, false},  {"inf,1", 2, false}, {"1e999,1", 2, false},
		{"3,3", 2, false},
	};
	const char *words;
	struct work work;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (work_parse(cases[i].text, cases[i].count, &work, &words) != cases[i].good)
			print_error("%s\n", cases[i].text);
		assert_int_equal(work_parse(cases[i].text, cases[i].count, &work, &words),
				 cases[i].good);
	}
	assert_true(work_parse("32,64,16", 3, &work, &words));
	assert_int_equal(work.source, WORK_GIVEN);
	assert_true(work.amount[0] == 1 && work.amount[1] == 2 && work.amount[2] == 0.5);
}

/* A GEMM with a fixed grid, two kernels that follow the batch, and an optimizer that does not. */
struct run {
	struct kernel_report kernel[4];
	struct copy_report copy;
	struct device_report device;
};

static struct kernel_report kernel(const char *name, uint32_t grid, uint64_t busy_ns)
{
	return (struct kernel_report){.name = (char *)name,
				      .grid = {grid, 1, 1},
				      .block = {128, 1, 1},
				      .launches = 100,
				      .busy_ns = busy_ns};
}

static void fill(struct run *run, uint32_t batch, bool flops, bool copies)
{
	run->kernel[0] = kernel("gemm", 132, 500000);
	run->kernel[1] = kernel("relu", 8 * batch, 200000);
	run->kernel[2] = kernel("norm", 4 * batch, 200000);
	run->kernel[3] = kernel("adam", 640, 100000);
	if (flops) {
		run->kernel[0].flops =
			(struct measure){true, 1e9 * batch, 1e9 * batch, 1e9 * batch};
		run->kernel[0].flops_source = EVIDENCE_LIBRARY;
	}
	run->copy = (struct copy_report){
		.direction = "host to device", .count = 100, .bytes = 409600 * (uint64_t)batch};
	run->device = (struct device_report){.kernels = run->kernel,
					     .kernel_count = 4,
					     .copies = &run->copy,
					     .copy_count = copies};
}

static bool infer(uint32_t a, uint32_t b, bool flops, bool copies, struct work *work)
{
	static struct run runs[2];
	const struct work_run of[] = {{&runs[0].device, 100}, {&runs[1].device, 100}};

	fill(&runs[0], a, flops, copies);
	fill(&runs[1], b, flops, copies);
	return work_infer(of, 2, work);
}

static void test_flops_come_first_and_grids_agree(void **state)
{
	struct work work;

	(void)state;
	assert_true(infer(32, 64, true, true, &work));
	assert_int_equal(work.source, WORK_FLOPS);
	assert_int_equal(work.agrees, WORK_GRIDS);
	assert_int_equal(work.confidence, CONFIDENCE_HIGH);
	assert_true(fabs(work.amount[1] - 2) < 1e-9);
}

static void test_estimates_of_flops_do_not_count(void **state)
{
	struct run a, b;
	const struct work_run of[] = {{&a.device, 100}, {&b.device, 100}};
	struct work work;

	(void)state;
	fill(&a, 32, true, false);
	fill(&b, 64, true, false);
	b.kernel[0].flops_source = EVIDENCE_COUNTERS;
	assert_true(work_infer(of, 2, &work));
	assert_int_equal(work.source, WORK_GRIDS);
}

static void test_grids_without_flops(void **state)
{
	struct work work;

	(void)state;
	assert_true(infer(32, 128, false, false, &work));
	assert_int_equal(work.source, WORK_GRIDS);
	assert_int_equal(work.agrees, WORK_NONE);
	assert_int_equal(work.confidence, CONFIDENCE_MEDIUM);
	assert_true(fabs(work.amount[1] - 4) < 1e-9);
	assert_true(infer(128, 32, false, true, &work));
	assert_int_equal(work.agrees, WORK_COPIES);
	assert_true(fabs(work.amount[1] - 0.25) < 1e-9);
}

static void test_copies_alone_are_a_guess(void **state)
{
	struct run a, b;
	const struct work_run of[] = {{&a.device, 100}, {&b.device, 100}};
	struct work work;

	(void)state;
	fill(&a, 32, false, true);
	fill(&b, 64, false, true);
	b.kernel[1].grid[0] = a.kernel[1].grid[0];
	b.kernel[2].grid[0] = a.kernel[2].grid[0];
	assert_true(work_infer(of, 2, &work));
	assert_int_equal(work.source, WORK_COPIES);
	assert_int_equal(work.confidence, CONFIDENCE_LOW);
	assert_true(fabs(work.amount[1] - 2) < 1e-9);
}

static void test_kernels_that_disagree_do_not_vote(void **state)
{
	struct run a, b;
	const struct work_run of[] = {{&a.device, 100}, {&b.device, 100}};
	struct work work;

	(void)state;
	fill(&a, 32, false, false);
	fill(&b, 64, false, false);
	b.kernel[1].grid[0] *= 5;
	b.kernel[3].grid[0] *= 7;
	b.kernel[1].busy_ns = b.kernel[2].busy_ns = b.kernel[3].busy_ns = 200000;
	assert_false(work_infer(of, 2, &work));
}

static void test_the_same_work_is_none(void **state)
{
	struct work work;

	(void)state;
	assert_false(infer(32, 32, true, true, &work));
	assert_int_equal(work.source, WORK_NONE);
}

static void test_work_is_of_a_step(void **state)
{
	struct run a, b;
	const struct work_run of[] = {{&a.device, 100}, {&b.device, 50}};
	struct work work;

	(void)state;
	fill(&a, 32, true, true);
	fill(&b, 64, true, true);
	for (unsigned i = 0; i < 4; i++)
		b.kernel[i].launches /= 2;
	b.copy.bytes /= 2;
	assert_true(work_infer(of, 2, &work));
	assert_true(fabs(work.amount[1] - 2) < 1e-9);
	assert_int_equal(work.confidence, CONFIDENCE_HIGH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_user_says),
		cmocka_unit_test(test_flops_come_first_and_grids_agree),
		cmocka_unit_test(test_estimates_of_flops_do_not_count),
		cmocka_unit_test(test_grids_without_flops),
		cmocka_unit_test(test_copies_alone_are_a_guess),
		cmocka_unit_test(test_kernels_that_disagree_do_not_vote),
		cmocka_unit_test(test_the_same_work_is_none),
		cmocka_unit_test(test_work_is_of_a_step),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
