/* Rooflines, and FLOPs and bytes of a launch, against numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/kernel_operands.h"
#include "analysis/kernel_work.h"
#include "analysis/pipe_flops.h"
#include "analysis/report.h"
#include "analysis/roofline.h"

static struct measure around(double low, double value, double high)
{
	return (struct measure){true, value, low, high};
}

static void assert_measure(struct measure m, double low, double value, double high)
{
	assert_true(m.known);
	assert_true(fabs(m.value - value) <= 1e-9 * fabs(value) + 1e-12);
	assert_true(fabs(m.low - low) <= 1e-9 * fabs(low) + 1e-12);
	assert_true(fabs(m.high - high) <= 1e-9 * fabs(high) + 1e-12);
}

/* 1000 GFLOP/s, 100 GB/s: the ridge is at 10 FLOP/B. */
static struct ceilings machine(void)
{
	struct ceilings c = {0};

	c.of[CEILING_FP32] = (struct ceiling_value){CEILING_DERIVED, measure_exact(1000e9)};
	c.of[CEILING_FP64] = (struct ceiling_value){CEILING_DERIVED, measure_exact(500e9)};
	c.of[CEILING_TENSOR_BF16] =
		(struct ceiling_value){CEILING_DERIVED, around(7000e9, 10000e9, 11000e9)};
	c.of[CEILING_DRAM_READ] =
		(struct ceiling_value){CEILING_CALIBRATED, around(90e9, 100e9, 110e9)};
	c.of[CEILING_DRAM_COPY] =
		(struct ceiling_value){CEILING_CALIBRATED, around(80e9, 85e9, 88e9)};
	return c;
}

static void below_the_ridge_memory_is_the_roof(void **state)
{
	/* 2 MFLOP and 1 MB in 20 us: 100 GFLOP/s, 50 GB/s, 2 FLOP/B; attainable 200 GFLOP/s. */
	const struct roofline_input in = {measure_exact(2e6), measure_exact(1e6), 20e3,
					  CEILING_FP32};
	struct ceilings c = machine();
	struct roofline r = roofline_of(&in, &c);

	(void)state;
	assert_measure(r.flops_per_s, 100e9, 100e9, 100e9);
	assert_measure(r.bytes_per_s, 50e9, 50e9, 50e9);
	assert_measure(r.intensity, 2, 2, 2);
	assert_int_equal(r.roof, CEILING_DRAM_READ);
	/* 50 of 110, of 100, and of the 80 that mixed traffic is sure to reach. */
	assert_measure(r.pct, 100 * 50.0 / 110, 50, 62.5);
}

static void above_the_ridge_the_pipe_is_the_roof(void **state)
{
	/* 10 MFLOP and 0.1 MB in 20 us: 500 GFLOP/s of 1000, 5 GB/s of 100, 100 FLOP/B. */
	const struct roofline_input in = {measure_exact(10e6), measure_exact(0.1e6), 20e3,
					  CEILING_FP32};
	struct ceilings c = machine();
	struct roofline r = roofline_of(&in, &c);

	(void)state;
	assert_int_equal(r.roof, CEILING_FP32);
	assert_measure(r.pct, 50, 50, 50);
	assert_measure(r.intensity, 100, 100, 100);
}

static void achieved_over_attainable_is_the_same(void **state)
{
	static const double flops[] = {1e3, 1e5, 1e6, 1e7, 2e7};
	struct ceilings c = machine();

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		const struct roofline_input in = {measure_exact(flops[i]), measure_exact(5e5), 20e3,
						  CEILING_FP32};
		double achieved = flops[i] / 20e-6, intensity = flops[i] / 5e5;
		double attainable = fmin(1000e9, intensity * 100e9);

		assert_true(fabs(roofline_of(&in, &c).pct.value - 100 * achieved / attainable) <
			    1e-9);
	}
}

static void bounds_go_through(void **state)
{
	/* 80 to 120 MFLOP and 1 to 4 MB in 100 us: 0.8 to 1.2 TFLOP/s, 10 to 40 GB/s. */
	const struct roofline_input in = {around(80e6, 100e6, 120e6), around(1e6, 2e6, 4e6), 100e3,
					  CEILING_TENSOR_BF16};
	struct ceilings c = machine();
	struct roofline r = roofline_of(&in, &c);

	(void)state;
	assert_measure(r.intensity, 20, 50, 120);
	/* The larger of 0.8/11, 1/10, 1.2/7 and 10/110, 20/100, 40/80. */
	assert_measure(r.pct, 100 * 10.0 / 110, 20, 50);
	assert_int_equal(r.roof, CEILING_DRAM_READ);
}

static void traffic_of_nothing_has_a_roof_and_no_intensity(void **state)
{
	const struct roofline_input in = {measure_exact(10e6), around(0, 0, 0.2e6), 20e3,
					  CEILING_FP32};
	struct ceilings c = machine();
	struct roofline r = roofline_of(&in, &c);

	(void)state;
	assert_false(r.intensity.known);
	assert_measure(r.pct, 50, 50, 50);
}

static void unknown_stays_unknown(void **state)
{
	const struct measure flops = measure_exact(2e6), bytes = measure_exact(1e6), unknown = {0};
	const struct roofline_input no_flops = {unknown, bytes, 20e3, CEILING_FP32};
	const struct roofline_input no_bytes = {flops, unknown, 20e3, CEILING_FP32};
	const struct roofline_input no_pipe = {flops, bytes, 20e3, CEILING_COUNT};
	const struct roofline_input no_ceiling = {flops, bytes, 20e3, CEILING_TENSOR_FP8};
	const struct roofline_input no_time = {flops, bytes, 0, CEILING_FP32};
	struct ceilings c = machine();

	(void)state;
	assert_false(roofline_of(&no_flops, &c).pct.known);
	assert_false(roofline_of(&no_flops, &c).flops_per_s.known);
	assert_true(roofline_of(&no_flops, &c).bytes_per_s.known);
	assert_false(roofline_of(&no_bytes, &c).pct.known);
	assert_true(roofline_of(&no_bytes, &c).flops_per_s.known);
	assert_false(roofline_of(&no_pipe, &c).pct.known);
	assert_true(roofline_of(&no_pipe, &c).intensity.known);
	assert_false(roofline_of(&no_ceiling, &c).pct.known);
	assert_false(roofline_of(&no_time, &c).flops_per_s.known);
	assert_int_equal(roofline_of(&no_bytes, &c).roof, CEILING_COUNT);
}

static void headroom_is_by_ceilings_not_by_peaks(void **state)
{
	struct kernel_report k = {.flops = measure_exact(10e6),
				  .bytes = measure_exact(1e3),
				  .mean_ns = 20e3,
				  .pipe = CEILING_FP32};
	struct device_report d = {.kernels = &k, .kernel_count = 1};

	(void)state;
	d.peaks = machine();
	d.ceilings = machine();
	d.ceilings.of[CEILING_FP32].measure = measure_exact(625e9);
	roofline_fill(&d);
	assert_measure(k.roofline.pct, 80, 80, 80);
}

/* --- FLOPs by pipes --- */

static struct kernel_counters counted(double tensor, double fma, double fp64)
{
	return (struct kernel_counters){.tensor = measure_exact(tensor),
					.fma = measure_exact(fma),
					.fp64 = measure_exact(fp64)};
}

static void tensor_flops_are_of_the_operands_in_the_name(void **state)
{
	struct kernel_counters counters = counted(50, 1, 0);
	struct ceilings c = machine();
	struct pipe_flops found;

	(void)state;
	assert_true(pipe_flops_of(&counters, "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_bias_TNT",
				  CLASS_CONTRACTION, &c, &found));
	/* Half of 10 TFLOP/s and a hundredth of 1; at least 0.46 of the first, at most half of 11. */
	assert_measure(found.per_s, 2300e9, 5010e9, 5510e9);
	assert_int_equal(found.pipe, CEILING_TENSOR_BF16);
	/* Busy tensor cores with operands of a type that nothing tells. */
	assert_false(pipe_flops_of(&counters, "mystery", CLASS_REST, &c, &found));
}

static void pointwise_kernels_use_no_tensor_cores(void **state)
{
	struct kernel_counters counters = counted(3, 10, 0);
	struct ceilings c = machine();
	struct pipe_flops found;

	(void)state;
	assert_true(pipe_flops_of(&counters, "vectorized_elementwise_kernel bf16", CLASS_POINTWISE,
				  &c, &found));
	assert_measure(found.per_s, 0, 100e9, 100e9);
	assert_int_equal(found.pipe, CEILING_FP32);
}

static void fp64_is_a_pipe_of_its_own(void **state)
{
	struct kernel_counters counters = counted(0, 1, 80);
	struct ceilings c = machine();
	struct pipe_flops found;

	(void)state;
	assert_true(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
	assert_measure(found.per_s, 200e9, 410e9, 410e9);
	assert_int_equal(found.pipe, CEILING_FP64);
}

static void a_pipe_that_is_not_known_leaves_flops_unknown(void **state)
{
	struct kernel_counters counters = counted(0, 1, 0);
	struct ceilings c = machine(), none = {0};
	struct pipe_flops found;

	(void)state;
	assert_true(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
	assert_false(pipe_flops_of(&counters, "stencil", CLASS_REST, &none, &found));
	counters.fp64.known = false;
	assert_true(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
	counters.pipe_unknown = true;
	assert_false(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
	counters = counted(0, 1, 0);
	counters.fma.known = false;
	assert_false(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
	counters = counted(0, 1, 0);
	counters.tensor.known = false;
	assert_false(pipe_flops_of(&counters, "stencil", CLASS_REST, &c, &found));
}

static void names_tell_operands(void **state)
{
	static const struct {
		const char *name;
		enum ceiling ceiling;
	} rows[] = {
		{"nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", CEILING_TENSOR_BF16},
		{"nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", CEILING_TENSOR_FP16},
		{"cutlass_80_bf16_s16816gemm_bf16_128x256_64x3_nn_align8", CEILING_TENSOR_BF16},
		{"turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn", CEILING_TENSOR_FP16},
		{"cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4", CEILING_TENSOR_TF32},
		{"sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n_tilesize64x64x64", CEILING_TENSOR_TF32},
		{"cutlass_80_tensorop_i16832gemm_s8_256x128_64x3_tn_align16", CEILING_TENSOR_INT8},
		{"sm89_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n", CEILING_TENSOR_FP8},
		{"cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", CEILING_TENSOR_FP64},
		{"_Z3fooI13__nv_bfloat16EvPT_", CEILING_TENSOR_BF16},
		{"cutlass_80_simt_sgemm_64x64_8x5_tn_align1", CEILING_COUNT},
		{"mystery", CEILING_COUNT},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kernel_operands(rows[i].name) != rows[i].ceiling)
			fail_msg("%s", rows[i].name);
}

/* --- the work of a launch --- */

static const struct measure no_bytes;

static struct kernel_work_input work_input(const struct kernel_arithmetic *arithmetic,
					   const struct kernel_counters *counters,
					   const struct ceilings *peaks)
{
	return (struct kernel_work_input){"cutlass_80_simt_sgemm",
					  CLASS_CONTRACTION,
					  10e3,
					  arithmetic,
					  counters,
					  &no_bytes,
					  peaks};
}

static void library_flops_before_counters_and_counted_bytes_before_operands(void **state)
{
	const struct kernel_arithmetic called = {.flops = measure_exact(4e6),
						 .bytes = measure_exact(1e5),
						 .pipe = CEILING_TENSOR_BF16};
	const struct kernel_arithmetic silent = {.pipe = CEILING_COUNT};
	const struct kernel_counters none = {0};
	struct kernel_counters counters = counted(0, 50, 0);
	struct ceilings c = machine();
	struct kernel_work_input both = work_input(&called, &counters, &c);
	struct kernel_work_input by_library = work_input(&called, &none, &c);
	struct kernel_work_input by_counters = work_input(&silent, &counters, &c);
	struct kernel_work_input by_nothing = work_input(&silent, &none, &c);
	struct kernel_work_input by_geometry = by_nothing;
	const struct measure touched = {true, 2e4, 1e4, 3e4};
	struct kernel_work w;

	(void)state;
	counters.dram_read = measure_exact(20);
	counters.dram_write = measure_exact(10);
	w = kernel_work_of(&both);
	assert_measure(w.flops, 4e6, 4e6, 4e6);
	assert_int_equal(w.flops_source, EVIDENCE_LIBRARY);
	assert_int_equal(w.pipe, CEILING_TENSOR_BF16);
	/* 30 % of the highest bandwidth, 110 GB/s, for 10 us. */
	assert_measure(w.bytes, 3.3e5, 3.3e5, 3.3e5);
	assert_int_equal(w.bytes_source, EVIDENCE_COUNTERS);
	w = kernel_work_of(&by_library);
	assert_measure(w.bytes, 1e5, 1e5, 1e5);
	assert_int_equal(w.bytes_source, EVIDENCE_LIBRARY);
	w = kernel_work_of(&by_counters);
	/* Half of 1 TFLOP/s for 10 us, if all are FMAs. */
	assert_measure(w.flops, 0, 5e6, 5e6);
	assert_int_equal(w.flops_source, EVIDENCE_COUNTERS);
	assert_int_equal(w.pipe, CEILING_FP32);
	by_library.geometry_bytes = &touched;
	assert_int_equal(kernel_work_of(&by_library).bytes_source, EVIDENCE_LIBRARY);
	by_geometry.geometry_bytes = &touched;
	w = kernel_work_of(&by_geometry);
	assert_measure(w.bytes, 1e4, 2e4, 3e4);
	assert_int_equal(w.bytes_source, EVIDENCE_GEOMETRY);
	w = kernel_work_of(&by_nothing);
	assert_false(w.flops.known || w.bytes.known);
	assert_int_equal(w.flops_source, EVIDENCE_NONE);
	assert_int_equal(w.pipe, CEILING_COUNT);
}

/* The call leaves it to the library whether fp32 operands are rounded to tf32. */
static void the_kernel_tells_what_the_call_left_open(void **state)
{
	const struct kernel_arithmetic called = {.flops = measure_exact(4e6),
						 .pipe = CEILING_COUNT};
	const struct kernel_counters none = {0};
	struct kernel_counters counters = counted(0, 50, 0);
	struct ceilings c = machine();
	struct kernel_work_input in = work_input(&called, &counters, &c);

	(void)state;
	assert_int_equal(kernel_work_of(&in).pipe, CEILING_FP32);
	in.counters = &none;
	assert_int_equal(kernel_work_of(&in).pipe, CEILING_COUNT);
	in.name = "cutlass_80_tensorop_s1688gemm_128x128_16x5_tn_align4";
	assert_int_equal(kernel_work_of(&in).pipe, CEILING_TENSOR_TF32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_ridge_memory_is_the_roof),
		cmocka_unit_test(above_the_ridge_the_pipe_is_the_roof),
		cmocka_unit_test(achieved_over_attainable_is_the_same),
		cmocka_unit_test(bounds_go_through),
		cmocka_unit_test(traffic_of_nothing_has_a_roof_and_no_intensity),
		cmocka_unit_test(unknown_stays_unknown),
		cmocka_unit_test(headroom_is_by_ceilings_not_by_peaks),
		cmocka_unit_test(tensor_flops_are_of_the_operands_in_the_name),
		cmocka_unit_test(pointwise_kernels_use_no_tensor_cores),
		cmocka_unit_test(fp64_is_a_pipe_of_its_own),
		cmocka_unit_test(a_pipe_that_is_not_known_leaves_flops_unknown),
		cmocka_unit_test(names_tell_operands),
		cmocka_unit_test(library_flops_before_counters_and_counted_bytes_before_operands),
		cmocka_unit_test(the_kernel_tells_what_the_call_left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
