/* FLOPs against time by class, summed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/kernel_name.h"
#include "analysis/report.h"

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-12 + 1e-9 * fabs(expected))
		fail_msg("%.12g, not %.12g", value, expected);
}

static struct kernel_report kernel(enum kernel_class class, uint64_t launches, uint64_t busy_ns,
				   struct measure flops)
{
	return (struct kernel_report){
		.class = class, .launches = launches, .busy_ns = busy_ns, .flops = flops};
}

static void shares_of_time_and_flops(void **state)
{
	struct kernel_report k[] = {
		kernel(CLASS_CONTRACTION, 10, 600, measure_exact(900)),
		kernel(CLASS_CONTRACTION, 5, 10, measure_exact(180)),
		kernel(CLASS_POINTWISE, 100, 190, (struct measure){true, 0.6, 0, 1}),
		kernel(CLASS_NORMALISATION, 20, 200, (struct measure){true, 2, 1, 4}),
	};
	struct device_report d = {.kernels = k, .kernel_count = 4};
	const struct class_report *c = d.classes;

	(void)state;
	k[0].bytes = measure_exact(7);
	classes_fill(&d);
	assert_int_equal(c[CLASS_CONTRACTION].launches, 15);
	assert_int_equal(c[CLASS_CONTRACTION].time_ns, 610);
	assert_near(c[CLASS_CONTRACTION].time_share, 0.61);
	assert_near(c[CLASS_CONTRACTION].flops.value, 9900);
	assert_near(c[CLASS_POINTWISE].flops.value, 60);
	assert_near(c[CLASS_NORMALISATION].flops.high, 80);
	/* 9900 + 60 + 40; at least 9900 of 9900 + 100 + 80, at most of 9900 + 0 + 20. */
	assert_near(c[CLASS_CONTRACTION].flops_share.value, 0.99);
	assert_near(c[CLASS_CONTRACTION].flops_share.low, 9900.0 / 10080);
	assert_near(c[CLASS_CONTRACTION].flops_share.high, 9900.0 / 9920);
	assert_near(c[CLASS_POINTWISE].flops_share.low, 0);
	assert_near(c[CLASS_POINTWISE].flops_share.high, 100.0 / 10020);
	assert_near(c[CLASS_CONTRACTION].bytes.value, 70);
	assert_near(c[CLASS_CONTRACTION].bytes_known_share, 600.0 / 610);
	assert_near(c[CLASS_CONTRACTION].known_share, 1);
	assert_false(c[CLASS_POINTWISE].bytes.known);
	assert_near(classes_known_share(&d), 1);
}

static void what_is_not_known_is_no_part_and_counts_against_coverage(void **state)
{
	struct kernel_report k[] = {
		kernel(CLASS_CONTRACTION, 1, 300, measure_exact(1000)),
		kernel(CLASS_CONTRACTION, 1, 100, (struct measure){0}),
		kernel(CLASS_POINTWISE, 1, 600, (struct measure){0}),
	};
	struct device_report d = {.kernels = k, .kernel_count = 3};

	(void)state;
	classes_fill(&d);
	assert_near(d.classes[CLASS_CONTRACTION].known_share, 0.75);
	assert_near(d.classes[CLASS_CONTRACTION].flops_share.value, 1);
	assert_false(d.classes[CLASS_POINTWISE].flops.known);
	assert_false(d.classes[CLASS_POINTWISE].flops_share.known);
	assert_near(d.classes[CLASS_POINTWISE].known_share, 0);
	assert_near(classes_known_share(&d), 0.3);
}

static void no_kernels_no_shares(void **state)
{
	struct device_report d = {0};

	(void)state;
	classes_fill(&d);
	for (unsigned i = 0; i < CLASS_COUNT; i++) {
		assert_false(d.classes[i].flops.known || d.classes[i].flops_share.known);
		assert_near(d.classes[i].time_share, 0);
	}
	assert_near(classes_known_share(&d), 0);
}

static void classes_are_those_of_categories(void **state)
{
	static const struct {
		const char *name;
		enum kernel_class class;
	} rows[] = {
		{"nvjet_sm90_tst_64x8_64x16_2x4_h_bz_bias_TNT", CLASS_CONTRACTION},
		{"sm80_xmma_fprop_implicit_gemm_f16f16", CLASS_CONTRACTION},
		{"cudnn_sdpa_sm90_flash_fprop_wgmma_f16", CLASS_CONTRACTION},
		{"void splitKreduce_kernel<32>", CLASS_CONTRACTION},
		{"vectorized_layer_norm_kernel", CLASS_NORMALISATION},
		{"softmax_warp_forward", CLASS_NORMALISATION},
		{"reduce_kernel<512>", CLASS_NORMALISATION},
		{"vectorized_elementwise_kernel<4, GeluFunctor>", CLASS_POINTWISE},
		{"fused_dropout_kernel_vec", CLASS_POINTWISE},
		{"multi_tensor_apply_kernel", CLASS_POINTWISE},
		{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", CLASS_REST},
		{"my_kernel", CLASS_REST},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kernel_kind_of(rows[i].name)->class != rows[i].class)
			fail_msg("%s: %s", rows[i].name,
				 class_name(kernel_kind_of(rows[i].name)->class));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_time_and_flops),
		cmocka_unit_test(what_is_not_known_is_no_part_and_counts_against_coverage),
		cmocka_unit_test(no_kernels_no_shares),
		cmocka_unit_test(classes_are_those_of_categories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
