/* Labels and waves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/decide.h"
#include "analysis/geometry.h"
#include "analysis/kernel_prior.h"
#include "tests/unit/trace_image.h"

static struct measure exactly(double value)
{
	return (struct measure){true, value, value, value};
}

/* Counters of a long kernel that fills the device. */
static struct decide_input counted(double compute, double dram, double l2, double l1)
{
	struct decide_input in = {.evidence = EVIDENCE_COUNTERS,
				  .waves = exactly(4),
				  .coverage = exactly(30),
				  .duration_ns = 100000,
				  .floor_ns = DECIDE_FLOOR_NS,
				  .prior = LEAF_UNKNOWN};

	in.unit_pct[UNIT_COMPUTE] = exactly(compute);
	in.unit_pct[UNIT_DRAM] = exactly(dram);
	in.unit_pct[UNIT_L2] = exactly(l2);
	in.unit_pct[UNIT_L1] = exactly(l1);
	return in;
}

static struct decide_input named(enum leaf prior, double waves, double coverage, double duration_ns)
{
	return (struct decide_input){.waves = exactly(waves),
				     .coverage = exactly(coverage),
				     .duration_ns = duration_ns,
				     .floor_ns = DECIDE_FLOOR_NS,
				     .prior = prior,
				     .prior_confidence = 0.4};
}

static void the_busiest_unit_from_60_percent_decides(void **state)
{
	static const struct {
		double compute, dram, l2, l1;
		enum leaf leaf;
		enum regime regime;
	} rows[] = {
		{90, 20, 30, 40, LEAF_COMPUTE, REGIME_COMPUTE},
		{20, 85, 50, 40, LEAF_DRAM, REGIME_MEMORY},
		{20, 30, 75, 40, LEAF_CACHE, REGIME_MEMORY},
		{20, 30, 40, 75, LEAF_CACHE, REGIME_MEMORY},
		{59, 50, 50, 50, LEAF_LATENCY, REGIME_OTHER},
		{65, 60, 20, 20, LEAF_COMPUTE, REGIME_MIXED}, /* a lead of 5 below 80 */
		{85, 82, 20, 20, LEAF_COMPUTE, REGIME_COMPUTE},
		{20, 65, 62, 20, LEAF_DRAM, REGIME_MEMORY}, /* both are memory */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct decide_input in =
			counted(rows[i].compute, rows[i].dram, rows[i].l2, rows[i].l1);
		struct decision d = decide(&in);

		assert_int_equal(d.leaf, rows[i].leaf);
		assert_int_equal(d.regime, rows[i].regime);
		assert_int_equal(d.evidence, EVIDENCE_COUNTERS);
	}
}

static void near_a_threshold_confidence_is_low(void **state)
{
	struct decide_input near = counted(61, 20, 20, 20), far = counted(95, 20, 20, 20);

	(void)state;
	assert_true(decide(&near).confidence <= 0.5);
	assert_true(decide(&far).confidence > 0.8);
}

/* Not only the busiest unit's interval counts, and not only the threshold of 60 %. */
static void what_any_unit_may_be_lowers_confidence(void **state)
{
	static const struct {
		double value[UNIT_COUNT - 1];
		unsigned unit; /* whose interval is */
		double low, high;
		bool sure;
	} rows[] = {
		{{40, 20, 35, 20}, UNIT_COMPUTE, 38, 42, true},
		{{40, 20, 35, 20}, UNIT_COMPUTE, 22, 58, false}, /* within the band of 60 */
		{{40, 20, 35, 20}, UNIT_L2, 30, 56, true},
		{{40, 20, 35, 20},
		 UNIT_L2,
		 30,
		 90,
		 false}, /* hidden: it may be a cache that binds */
		{{80, 20, 35, 70}, UNIT_L1, 65, 85, true},
		{{80, 20, 35, 70}, UNIT_L1, 65, 91, false}, /* it may lead by 10 points */
		{{75, 65, 35, 20}, UNIT_DRAM, 60, 71, true},
		{{75, 65, 35, 20}, UNIT_DRAM, 60, 73, false},
		{{80, 20, 35, 95}, UNIT_COMPUTE, 76, 81, true},
		{{80, 20, 35, 95}, UNIT_COMPUTE, 76, 83, true},  /* L1 would be off as much */
		{{80, 20, 35, 95}, UNIT_COMPUTE, 76, 88, false}, /* the cache may not lead */
		{{80, 20, 95, 35}, UNIT_L2, 86, 98, false},      /* L2 has a clock of its own */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const double *v = rows[i].value;
		struct decide_input in = counted(v[0], v[1], v[2], v[3]);

		in.unit_pct[rows[i].unit].low = rows[i].low;
		in.unit_pct[rows[i].unit].high = rows[i].high;
		assert_int_equal(decide(&in).confidence > 0.5, rows[i].sure);
	}
}

static void idle_units_say_what_a_kernel_leans_to(void **state)
{
	struct decide_input in = counted(10, 45, 20, 20);

	(void)state;
	assert_int_equal(decide(&in).leaf, LEAF_LATENCY);
	assert_int_equal(decide(&in).leans, LEAF_DRAM);
	in.waves = exactly(0.4);
	assert_int_equal(decide(&in).leaf, LEAF_UNDERFILLED);
	in.waves = exactly(4);
	in.duration_ns = 5000;
	assert_int_equal(decide(&in).leaf, LEAF_UNDERFILLED);
	/* Short and busy is busy. */
	in.unit_pct[UNIT_DRAM] = exactly(75);
	assert_int_equal(decide(&in).leaf, LEAF_DRAM);
}

static void without_counters_geometry_or_the_name_decide(void **state)
{
	struct decide_input in;

	(void)state;
	in = named(LEAF_COMPUTE, 0.3, 0.3, 50000);
	assert_int_equal(decide(&in).leaf, LEAF_UNDERFILLED);
	assert_int_equal(decide(&in).evidence, EVIDENCE_GEOMETRY);
	in = named(LEAF_DRAM, 3, 20, 4000);
	assert_int_equal(decide(&in).leaf, LEAF_UNDERFILLED);
	in = named(LEAF_DRAM, 3, 20, 50000);
	assert_int_equal(decide(&in).leaf, LEAF_DRAM);
	assert_int_equal(decide(&in).evidence, EVIDENCE_PRIOR);
	assert_true(decide(&in).confidence <= 0.4);
	/* A GEMM of just under one wave may well keep the tensor cores busy. */
	in = named(LEAF_COMPUTE, 0.97, 0.97, 50000);
	assert_int_equal(decide(&in).leaf, LEAF_UNKNOWN);
	assert_int_equal(decide(&in).evidence, EVIDENCE_NONE);
	in = named(LEAF_UNKNOWN, 3, 20, 50000);
	assert_int_equal(decide(&in).leaf, LEAF_UNKNOWN);
	in.collective = true;
	assert_int_equal(decide(&in).leaf, LEAF_COMMUNICATION);
}

/* Bytes by geometry, as DRAM utilisation. */
static struct decide_input estimated(double low, double value, double high, double waves,
				     double duration_ns)
{
	struct decide_input in = named(LEAF_DRAM, waves, 20, duration_ns);

	in.prior_confidence = 0;
	in.evidence = EVIDENCE_GEOMETRY;
	in.unit_pct[UNIT_DRAM] = (struct measure){true, value, low, high};
	return in;
}

static void bytes_by_geometry_tell_dram_from_latency(void **state)
{
	static const struct {
		double low, value, high, waves, duration_ns;
		bool cached;
		enum leaf leaf;
		double confidence; /* at most */
	} rows[] = {
		{80, 85, 90, 20, 100e3, false, LEAF_DRAM, 0.7},
		{30, 70, 90, 20, 30e3, false, LEAF_DRAM, 0.5},
		{30, 40, 90, 20, 30e3, false, LEAF_LATENCY, 0.5},
		{10, 20, 30, 20, 100e3, false, LEAF_LATENCY, 0.7},
		{10, 20, 30, 0.6, 100e3, false, LEAF_UNDERFILLED, 0.7},
		{80, 85, 90, 0.6, 100e3, false, LEAF_DRAM, 0.7}, /* busy all the same */
		{0, 70, 90, 20, 12e3, true, LEAF_LATENCY, 0.5},  /* L2 has it */
		{0, 45, 90, 2, 4e3, true, LEAF_UNDERFILLED, 0.5},
		{0, 45, 90, 2, 8.9e3, true, LEAF_UNDERFILLED, 0.5},
		{0, 45, 90, 2, 9.1e3, true, LEAF_LATENCY, 0.5},
		{0, 20, 58, 1.1, 5e3, true, LEAF_UNDERFILLED, 0.5}, /* 2 below the threshold */
		{61, 75, 80, 20, 100e3, false, LEAF_DRAM, 0.5},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct decide_input in = estimated(rows[i].low, rows[i].value, rows[i].high,
						   rows[i].waves, rows[i].duration_ns);
		struct decision d;

		in.cached = rows[i].cached;
		d = decide(&in);
		assert_int_equal(d.leaf, rows[i].leaf);
		assert_true(d.confidence <= rows[i].confidence);
		assert_int_equal(d.evidence, EVIDENCE_GEOMETRY);
	}
}

static void without_bytes_a_kernel_that_l2_can_feed_is_latency(void **state)
{
	struct decide_input in = named(LEAF_DRAM, 3, 20, 12e3);

	(void)state;
	in.prior_confidence = 0;
	assert_int_equal(decide(&in).leaf, LEAF_UNKNOWN);
	in.cached = true;
	assert_int_equal(decide(&in).leaf, LEAF_LATENCY);
	assert_int_equal(decide(&in).leans, LEAF_DRAM);
}

static void idle_by_library_calls_is_less_sure_than_by_counters(void **state)
{
	struct decide_input in = counted(30, 20, 20, 20);

	(void)state;
	in.evidence = EVIDENCE_LIBRARY;
	assert_int_equal(decide(&in).leaf, LEAF_LATENCY);
	assert_true(decide(&in).confidence <= 0.6);
}

static void a_copy_beside_a_gemm_tells_nothing_of_both(void **state)
{
	struct decide_input gemm = counted(90, 20, 20, 20), copy = estimated(80, 85, 90, 20, 100e3);

	(void)state;
	decide_add(&gemm, &copy);
	assert_int_equal(decide(&gemm).leaf, LEAF_UNKNOWN);
	gemm = copy;
	decide_add(&gemm, &copy);
	assert_int_equal(decide(&gemm).leaf, LEAF_DRAM);
}

static void mma_sync_on_9_0_keeps_l1_busy(void **state)
{
	static const char *const gemm =
		"cutlass_80_tensorop_bf16_s16816gemm_bf16_128x256_64x3_nn_align2";

	(void)state;
	assert_int_equal(kernel_prior_of(gemm, 9).leaf, LEAF_CACHE);
	assert_true(kernel_prior_of(gemm, 9).over_idle);
	assert_int_equal(kernel_prior_of(gemm, 8).leaf, LEAF_COMPUTE);
	assert_true(kernel_prior_of(gemm, 8).confidence == 0);
	assert_int_equal(kernel_prior_of("cutlass_80_simt_sgemm_64x64_8x5_nn_align1", 9).leaf,
			 LEAF_COMPUTE);
	assert_int_equal(kernel_prior_of("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_NNT", 9).leaf,
			 LEAF_COMPUTE);
	assert_int_equal(kernel_prior_of("void pytorch_flash::flash_fwd_kernel<"
					 "Flash_fwd_kernel_traits<128, 128, 64, 4> >()",
					 9)
				 .leaf,
			 LEAF_LATENCY);
}

static void half_a_picture_is_no_picture(void **state)
{
	struct decide_input in = counted(20, 85, 50, 40);

	(void)state;
	in.unit_pct[UNIT_COMPUTE].known = false;
	assert_int_equal(decide(&in).leaf, LEAF_UNKNOWN);
}

static void kernels_together_add_up(void **state)
{
	struct decide_input a = counted(35, 20, 10, 10), b = counted(40, 20, 10, 10);

	(void)state;
	decide_add(&a, &b);
	assert_true(a.unit_pct[UNIT_COMPUTE].value == 75);
	assert_true(a.waves.value == 8);
	assert_int_equal(decide(&a).leaf, LEAF_COMPUTE);
	decide_add(&a, &b);
	assert_true(a.unit_pct[UNIT_COMPUTE].value == 100);
	a = named(LEAF_DRAM, 0.6, 0.9, 50000);
	b = named(LEAF_DRAM, 0.6, 0.9, 50000);
	assert_int_equal(decide(&a).leaf, LEAF_UNDERFILLED);
	decide_add(&a, &b);
	assert_int_equal(decide(&a).leaf, LEAF_DRAM);
}

/* Any input gives a label with its own regime and a confidence in range. */
static void any_evidence_gives_an_answer(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		struct decide_input in =
			counted((double)random_below(101), (double)random_below(101),
				(double)random_below(101), (double)random_below(101));
		struct decision d;

		for (unsigned u = 0; u < UNIT_COUNT; u++)
			in.unit_pct[u].known = random_below(4);
		in.waves = exactly((double)random_below(30) / 10);
		in.waves.known = random_below(3);
		in.duration_ns = (double)random_below(50000);
		in.prior = (enum leaf)random_below(LEAF_COUNT);
		in.prior_confidence = 0.4;
		d = decide(&in);
		assert_true(d.confidence >= 0 && d.confidence <= 1);
		assert_true(d.regime == leaf_pillar(d.leaf) || d.regime == REGIME_MIXED);
		assert_int_equal(d.evidence == EVIDENCE_NONE, d.leaf == LEAF_UNKNOWN);
	}
}

static const struct device_shape h200 = {132, 2048, 32, 65536, 233472, 1024, 32};

static void occupancy_is_that_of_the_calculator(void **state)
{
	/* Checked with cudaOccupancyMaxActiveBlocksPerMultiprocessor's rules for 9.0. */
	static const struct {
		uint32_t block, registers;
		uint64_t shared, fit;
	} rows[] = {
		{256, 32, 0, 8},       {128, 16, 0, 16}, {1024, 64, 0, 1}, {32, 16, 0, 32},
		{384, 168, 200000, 1}, {128, 255, 0, 2}, {256, 40, 0, 6},  {64, 32, 16384, 13},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct signature s = {.grid = {1056, 1, 1},
				      .block = {rows[i].block, 1, 1},
				      .registers = rows[i].registers,
				      .shared_bytes = rows[i].shared,
				      .known = true};

		assert_int_equal(geometry_blocks_per_sm(&h200, &s), rows[i].fit);
	}
}

static void waves_are_unknown_where_the_device_is(void **state)
{
	struct device_shape nothing = {0};
	struct signature s = {.grid = {264, 1, 1}, .block = {256, 1, 1}, .known = true};

	(void)state;
	assert_false(geometry_waves(&nothing, &s).known);
	assert_true(fabs(geometry_waves(&h200, &s).value - 0.25) < 1e-9);
	assert_true(fabs(geometry_coverage(&h200, &s).value - 2) < 1e-9);
	s.known = false;
	assert_false(geometry_waves(&h200, &s).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_unit_from_60_percent_decides),
		cmocka_unit_test(near_a_threshold_confidence_is_low),
		cmocka_unit_test(what_any_unit_may_be_lowers_confidence),
		cmocka_unit_test(idle_units_say_what_a_kernel_leans_to),
		cmocka_unit_test(without_counters_geometry_or_the_name_decide),
		cmocka_unit_test(bytes_by_geometry_tell_dram_from_latency),
		cmocka_unit_test(without_bytes_a_kernel_that_l2_can_feed_is_latency),
		cmocka_unit_test(idle_by_library_calls_is_less_sure_than_by_counters),
		cmocka_unit_test(a_copy_beside_a_gemm_tells_nothing_of_both),
		cmocka_unit_test(mma_sync_on_9_0_keeps_l1_busy),
		cmocka_unit_test(half_a_picture_is_no_picture),
		cmocka_unit_test(kernels_together_add_up),
		cmocka_unit_test(any_evidence_gives_an_answer),
		cmocka_unit_test(occupancy_is_that_of_the_calculator),
		cmocka_unit_test(waves_are_unknown_where_the_device_is),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
