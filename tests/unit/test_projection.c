/* Named GPUs against their data sheets, and kernels under another GPU's roofs against numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/gpu_model.h"
#include "analysis/projection.h"
#include "analysis/report.h"

static void assert_near(double value, double expected, double tolerance)
{
	assert_true(fabs(value - expected) <= tolerance * fabs(expected));
}

/* 1000 GFLOP/s and 100 GB/s: ridge at 10. */
static struct ceilings machine(double flops, double bytes)
{
	struct ceilings c = {0};

	c.of[CEILING_FP32] = (struct ceiling_value){CEILING_DERIVED, measure_exact(flops)};
	c.of[CEILING_DRAM_READ] = (struct ceiling_value){CEILING_DERIVED, measure_exact(bytes)};
	return c;
}

static struct kernel_report kernel(enum leaf leaf, double flops, double bytes)
{
	return (struct kernel_report){
		.verdict = {.leaf = leaf},
		.flops = measure_exact(flops),
		.bytes = measure_exact(bytes),
		.pipe = CEILING_FP32,
		.busy_ns = 1000,
	};
}

static void named_gpus_are_as_their_data_sheets_say(void **state)
{
	static const struct {
		enum gpu_name name;
		double memory, tensor, fp32;
	} sheets[] = {
		{GPU_v100, 0.9e12, 125e12, 15.7e12},   {GPU_t4, 0.32e12, 65e12, 8.1e12},
		{GPU_a100, 2.039e12, 312e12, 19.5e12}, {GPU_a10, 0.6e12, 125e12, 31.2e12},
		{GPU_l4, 0.3e12, 121e12, 30.3e12},     {GPU_l40s, 0.864e12, 362e12, 91.6e12},
		{GPU_h100, 3.35e12, 989e12, 67e12},    {GPU_h200, 4.8e12, 989e12, 67e12},
		{GPU_b200, 8e12, 2.25e15, 0},
	};

	(void)state;
	assert_int_equal(sizeof(sheets) / sizeof(sheets[0]), GPU_COUNT);
	for (size_t i = 0; i < GPU_COUNT; i++) {
		const struct gpu_model *gpu = gpu_model(sheets[i].name);
		struct ceilings c = ceilings_derive(&gpu->attributes);

		assert_near(c.of[CEILING_DRAM_READ].measure.value, sheets[i].memory, 0.015);
		assert_near(c.of[CEILING_TENSOR_FP16].measure.value, sheets[i].tensor, 0.02);
		if (sheets[i].fp32)
			assert_near(c.of[CEILING_FP32].measure.value, sheets[i].fp32, 0.02);
	}
}

static void far_from_both_ridges_the_roof_decides(void **state)
{
	struct ceilings here = machine(1000e9, 100e9), there = machine(4000e9, 200e9);
	struct kernel_report left = kernel(LEAF_DRAM, 1e6, 1e6),
			     right = kernel(LEAF_COMPUTE, 100e6, 1e6);
	struct projection p = projection_of(&left, &here, &there);

	(void)state;
	assert_true(p.known);
	assert_int_equal(p.there, CEILING_DRAM_READ);
	assert_near(p.time.value, 0.5, 1e-9);
	p = projection_of(&right, &here, &there);
	assert_int_equal(p.here, CEILING_FP32);
	assert_int_equal(p.there, CEILING_FP32);
	assert_near(p.time.value, 0.25, 1e-9);
}

static void between_the_ridges_compute_becomes_memory(void **state)
{
	/* 15 FLOP/B: right of 10 here, left of 20 there. 15 us here, 5 us there for 15 MFLOP and 1 MB. */
	struct ceilings here = machine(1000e9, 100e9), there = machine(4000e9, 200e9);
	struct kernel_report k = kernel(LEAF_COMPUTE, 15e6, 1e6);
	struct projection p = projection_of(&k, &here, &there);

	(void)state;
	assert_int_equal(p.here, CEILING_FP32);
	assert_int_equal(p.there, CEILING_DRAM_READ);
	assert_near(p.time.value, 5.0 / 15, 1e-9);
	assert_near(projection_ridge(&there, CEILING_FP32).value, 20, 1e-9);
	assert_false(projection_ridge(&there, CEILING_FP64).known);
}

static void bounds_of_the_intensity_bound_the_time(void **state)
{
	struct ceilings here = machine(1000e9, 100e9), there = machine(4000e9, 200e9);
	struct kernel_report k = kernel(LEAF_COMPUTE, 15e6, 1e6);
	struct projection p;

	(void)state;
	k.bytes = (struct measure){true, 1e6, 0.5e6,
				   3e6}; /* 5 to 30 FLOP/B; by the label 10 at least */
	p = projection_of(&k, &here, &there);
	assert_near(p.time.low, 0.25, 1e-9);
	assert_near(p.time.high, 0.5, 1e-9);
	k.bytes.low = 0; /* no upper bound of the intensity */
	p = projection_of(&k, &here, &there);
	assert_near(p.time.low, 0.25, 1e-9);
}

static void the_label_says_the_side_of_the_ridge(void **state)
{
	/* FLOPs by counters put it right of the ridge, DRAM is its busiest unit: it is at the ridge at most. */
	struct ceilings here = machine(1000e9, 100e9), there = machine(500e9, 100e9);
	struct kernel_report k = kernel(LEAF_DRAM, 19e6, 1e6);
	struct projection p = projection_of(&k, &here, &there);

	(void)state;
	assert_int_equal(p.here, CEILING_DRAM_READ);
	assert_near(p.time.value, 2, 1e-9);
}

static void without_arithmetic_memory_decides(void **state)
{
	struct ceilings here = machine(1000e9, 100e9), there = machine(4000e9, 200e9);
	struct kernel_report k = kernel(LEAF_DRAM, 0, 1e6);
	struct projection p;

	(void)state;
	k.flops.known = false;
	k.pipe = CEILING_COUNT;
	p = projection_of(&k, &here, &there);
	assert_true(p.known);
	assert_near(p.time.value, 0.5, 1e-9);
	assert_near(p.time.high, 0.5, 1e-9);
}

static void nothing_is_said_of_other_kernels(void **state)
{
	struct ceilings here = machine(1000e9, 100e9), there = machine(4000e9, 200e9);
	struct kernel_report small = kernel(LEAF_UNDERFILLED, 1e6, 1e6),
			     blind = kernel(LEAF_COMPUTE, 1e6, 1e6),
			     fp64 = kernel(LEAF_COMPUTE, 1e6, 1e6);

	(void)state;
	blind.bytes.known = false;
	fp64.pipe = CEILING_FP64; /* not there */
	assert_false(projection_of(&small, &here, &there).known);
	assert_false(projection_of(&blind, &here, &there).known);
	assert_false(projection_of(&fp64, &here, &there).known);
}

static void a_sum_says_how_much_it_covers(void **state)
{
	struct kernel_report kernels[] = {kernel(LEAF_COMPUTE, 15e6, 1e6),
					  kernel(LEAF_DRAM, 1e6, 1e6),
					  kernel(LEAF_LATENCY, 1e6, 1e6)};
	struct device_report device = {
		.peaks = machine(1000e9, 100e9), .kernels = kernels, .kernel_count = 3};
	struct ceilings there = machine(4000e9, 200e9);
	struct projection_sum sum;

	(void)state;
	kernels[1].busy_ns = 3000;
	kernels[2].busy_ns = 6000;
	sum = projection_sum(&device, &there);
	assert_near(sum.covered, 0.4, 1e-9);
	assert_near(sum.moved, 0.25, 1e-9);
	assert_near(sum.time.value, (1000 / 3.0 + 1500) / 4000, 1e-9);
	device.kernel_count = 0;
	assert_false(projection_sum(&device, &there).time.known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_gpus_are_as_their_data_sheets_say),
		cmocka_unit_test(far_from_both_ridges_the_roof_decides),
		cmocka_unit_test(between_the_ridges_compute_becomes_memory),
		cmocka_unit_test(bounds_of_the_intensity_bound_the_time),
		cmocka_unit_test(the_label_says_the_side_of_the_ridge),
		cmocka_unit_test(without_arithmetic_memory_decides),
		cmocka_unit_test(nothing_is_said_of_other_kernels),
		cmocka_unit_test(a_sum_says_how_much_it_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
