/* The attribution solver on timelines whose answers are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "tests/unit/attribute_scene.h"

#define INTERVAL 100000.0

/* A step of six kernels, from 2 to 40 us. */
static const struct {
	double ns, tensor, writes;
} mix[] = {{3000, 0, 2000},  {25000, 75, 600}, {8000, 0, 3800},
	   {12000, 47, 900}, {2000, 0, 0},     {40000, 92, 300}};

#define MIX (sizeof(mix) / sizeof(mix[0]))

/* Steps whose kernels stand at ever different places in samples. */
static void run_mix(struct scene *s, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		for (uint32_t k = 0; k < MIX; k++) {
			scene_run(s, k, mix[k].ns, mix[k].tensor, mix[k].writes);
			if (scene_random(s) < 0.3)
				scene_idle(s, 10000 * scene_random(s));
		}
		scene_idle(s, 20000 + 50000 * scene_random(s));
	}
}

static double scale_of(unsigned metric)
{
	return metric == SCENE_WRITES ? SCENE_PEAK / 100 : 1;
}

/* In points of the scale. */
static double error_of(const struct scene *s, const struct attribute *a, uint32_t signature,
		       unsigned metric)
{
	return fabs((double)attribute_find(a, signature, metric)->value -
		    scene_truth(s, signature, metric)) /
	       scale_of(metric);
}

static unsigned status_of(const struct attribute *a, uint32_t signature, unsigned metric)
{
	return attribute_find(a, signature, metric)->status;
}

/* The two kernels of 2 and 3 us are known less well. */
static void assert_mix_known(const struct scene *s, const struct attribute *a, double points)
{
	for (uint32_t k = 0; k < MIX; k++) {
		for (unsigned m = 0; m < SCENE_METRICS; m++) {
			if (error_of(s, a, k, m) > (mix[k].ns < 5000 ? 4 * points : points))
				fail_msg("kernel %u metric %u: %.2f instead of %.2f", k, m,
					 (double)attribute_find(a, k, m)->value,
					 scene_truth(s, k, m));
			assert_int_equal(status_of(a, k, m), ATTRIBUTE_IDENTIFIED);
		}
	}
}

static struct attribute *solve(const struct scene *s)
{
	struct attribute_options options = scene_options();

	return scene_solve(s, &options, NULL);
}

static void test_kernels_shorter_than_a_sample_are_told_apart(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 1);
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_mix_known(&s, a, 1.5);
	assert_int_equal(attribute_totals(a, 1).launches, 1500);
	assert_true(attribute_find(a, 5, SCENE_TENSOR)->samples_full > 100);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Both of a pair always lie whole within one sample, in the same proportion: only their mean can be
 * known. */
static void run_pairs(struct scene *s, double first_tensor, double second_tensor)
{
	s->spread = 0.01;
	for (unsigned i = 0; i < 600; i++) {
		s->now_ns = 1000000000 + 1000000 + i * 200000 + (uint64_t)(20000 * scene_random(s));
		scene_run(s, 0, 20000, first_tensor, 100);
		s->kernel[s->kernels - 1].end_ns = s->kernel[s->kernels - 1].begin_ns + 20000;
		s->now_ns = s->kernel[s->kernels - 1].end_ns;
		scene_run(s, 1, 20000, second_tensor, 100);
		s->kernel[s->kernels - 1].end_ns = s->kernel[s->kernels - 1].begin_ns + 20000;
		s->now_ns = s->kernel[s->kernels - 1].end_ns;
		scene_run(s, 2, 10000 + 10000 * scene_random(s), 50, 1000);
	}
	scene_sample(s, 1000000000, INTERVAL);
}

static void test_a_pair_that_is_never_apart_is_merged_or_said_to_be_unknown(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 2);
	run_pairs(&s, 80, 0);
	a = solve(&s);
	for (uint32_t k = 0; k < 2; k++) {
		const struct attribute_estimate *e = attribute_find(a, k, SCENE_TENSOR);

		assert_true(e->status == ATTRIBUTE_MERGED ||
			    e->status == ATTRIBUTE_NOT_IDENTIFIABLE);
		assert_true((double)e->low <= scene_truth(&s, k, SCENE_TENSOR) &&
			    scene_truth(&s, k, SCENE_TENSOR) <= (double)e->high + 0.5);
		if (e->status == ATTRIBUTE_MERGED) {
			assert_true(fabs((double)e->value - 40) < 2);
			assert_int_equal(e->group, 1);
		}
	}
	/* Their neighbour is known all the same. */
	assert_int_equal(status_of(a, 2, SCENE_TENSOR), ATTRIBUTE_IDENTIFIED);
	assert_true(error_of(&s, a, 2, SCENE_TENSOR) < 3);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Adjacent in the same order always, but cut by samples anywhere: that is enough. */
static void test_neighbours_that_samples_cut_are_told_apart(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 3);
	for (unsigned i = 0; i < 1000; i++) {
		scene_run(&s, 0, 30000, 90, 200);
		scene_run(&s, 1, 4000, 0, 3000);
		scene_idle(&s, 100000 * scene_random(&s));
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_true(error_of(&s, a, 0, SCENE_TENSOR) < 2);
	assert_true(attribute_find(a, 1, SCENE_TENSOR)->low < 1);
	assert_true(error_of(&s, a, 1, SCENE_WRITES) < 5);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_one_short_launch_is_not_known(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 4);
	run_mix(&s, 700);
	scene_run(&s, 100, 5000, 60, 1000);
	run_mix(&s, 700);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_int_equal(status_of(a, 100, SCENE_TENSOR), ATTRIBUTE_NOT_IDENTIFIABLE);
	assert_int_equal(attribute_find(a, 100, SCENE_TENSOR)->reason, ATTRIBUTE_FEW_SAMPLES);
	assert_int_equal(attribute_totals(a, 100).launches, 1);
	assert_mix_known(&s, a, 2.5);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_one_long_launch_is_known(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 5);
	run_mix(&s, 50);
	scene_run(&s, 100, 20000000, 60, 1000);
	run_mix(&s, 50);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_int_equal(status_of(a, 100, SCENE_TENSOR), ATTRIBUTE_IDENTIFIED);
	assert_true(error_of(&s, a, 100, SCENE_TENSOR) < 1);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Two launches of 210 us have six samples and fill four. */
static void test_a_few_samples_that_hold_little_else_are_enough(void **context)
{
	const struct attribute_estimate *e;
	struct attribute *a;
	struct scene s;
	double truth;

	(void)context;
	scene_init(&s, 31);
	run_mix(&s, 300);
	scene_run(&s, 9, 210000, 63, 1500);
	run_mix(&s, 300);
	scene_run(&s, 9, 210000, 63, 1500);
	run_mix(&s, 300);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	e = attribute_find(a, 9, SCENE_TENSOR);
	assert_true(e->samples < 8 && e->samples_full > 3);
	assert_int_equal(e->status, ATTRIBUTE_IDENTIFIED);
	assert_true(error_of(&s, a, 9, SCENE_TENSOR) < 2);
	truth = scene_truth(&s, 9, SCENE_TENSOR);
	assert_true((double)e->low <= truth && truth <= (double)e->high);
	attribute_destroy(a);
	scene_fini(&s);
}

/*
 * A maximum of two counters. Kernel 0 is busy with the first (65 %), kernel 1 with the second (21
 * %, of the first 10 %), and no sample is without kernel 0, so that the second never shows.
 */
static void test_what_a_maximum_hides_is_inside_the_interval(void **context)
{
	struct attribute_options options = scene_options();
	const struct attribute_estimate *e;
	struct attribute *a;
	struct scene s;

	(void)context;
	scene_init(&s, 32);
	for (unsigned i = 0; i < 800; i++) {
		scene_run(&s, 0, 109000 + 20000 * scene_random(&s), 65, SCENE_PEAK * 0.05);
		scene_run(&s, 1, 60000, 10, SCENE_PEAK * 0.21);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++) {
		struct attribute_sample *sample = &s.sample[i];
		double length = (double)(sample->end_ns - sample->begin_ns);
		double second = 100 * sample->value[SCENE_WRITES] / length / SCENE_PEAK;

		sample->value[SCENE_TENSOR] = fmax(sample->value[SCENE_TENSOR], second);
	}
	a = scene_solve(&s, &options, NULL);
	e = attribute_find(a, 1, SCENE_TENSOR);
	assert_true((double)e->value < 15 && (double)e->high < 21);
	attribute_destroy(a);
	options.metric[SCENE_TENSOR].maximum = true;
	a = scene_solve(&s, &options, NULL);
	e = attribute_find(a, 1, SCENE_TENSOR);
	assert_true((double)e->low < 21 && (double)e->high > 21 && (double)e->high < 60);
	e = attribute_find(a, 0, SCENE_TENSOR);
	assert_true((double)e->low < 65 && (double)e->high > 65 && (double)e->high < 70);
	attribute_destroy(a);
	scene_fini(&s);
}

/*
 * The same with kernels much shorter than a sample: of kernel 1 (10 us; 60 % of the second counter,
 * 35 % of the first) nothing shows but the first, since its neighbour keeps that at 45 % and the
 * second at 40.
 */
static void test_what_a_maximum_hides_of_a_short_kernel_may_be_much(void **context)
{
	struct attribute_options options = scene_options();
	const struct attribute_estimate *e;
	struct attribute *a;
	struct scene s;

	(void)context;
	scene_init(&s, 33);
	for (unsigned i = 0; i < 4000; i++) {
		scene_run(&s, 0, 40000 + 20000 * scene_random(&s), 45, SCENE_PEAK * 0.40);
		scene_run(&s, 1, 10000, 35, SCENE_PEAK * 0.60);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++) {
		struct attribute_sample *sample = &s.sample[i];
		double length = (double)(sample->end_ns - sample->begin_ns);
		double second = 100 * sample->value[SCENE_WRITES] / length / SCENE_PEAK;

		sample->value[SCENE_TENSOR] = fmax(sample->value[SCENE_TENSOR], second);
	}
	options.metric[SCENE_TENSOR].maximum = true;
	a = scene_solve(&s, &options, NULL);
	e = attribute_find(a, 1, SCENE_TENSOR);
	assert_true((double)e->value < 50 && (double)e->low < 60 && (double)e->high > 60);
	assert_true((double)e->high <= 100);
	e = attribute_find(a, 0, SCENE_TENSOR);
	assert_true((double)e->low < 45 && (double)e->high > 45 && (double)e->high < 52);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_what_was_never_sampled_has_no_value(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 6);
	run_mix(&s, 200);
	scene_sample(&s, 1000000000, INTERVAL);
	scene_idle(&s, 1e7);
	scene_run(&s, 50, 10000, 50, 100);
	a = solve(&s);
	assert_int_equal(status_of(a, 50, SCENE_TENSOR), ATTRIBUTE_NONE);
	assert_int_equal(attribute_totals(a, 50).launches, 1);
	assert_int_equal(status_of(a, 999, SCENE_TENSOR), ATTRIBUTE_NONE);
	assert_int_equal(attribute_totals(a, 999).launches, 0);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Every other sample is gone at random, and metrics take turns. */
static void test_missing_samples_and_metrics_only_cost_precision(void **context)
{
	struct scene s;
	struct attribute *a;
	size_t kept = 0;

	(void)context;
	scene_init(&s, 7);
	run_mix(&s, 4000);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++) {
		s.sample[i].present = i / 50 % 2 ? 3 : 4;
		if (scene_random(&s) < 0.5)
			s.sample[kept++] = s.sample[i];
	}
	s.samples = kept;
	a = solve(&s);
	assert_mix_known(&s, a, 2);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_a_clock_that_is_37_us_off_is_found(void **context)
{
	(void)context;
	for (int sign = -1; sign <= 1; sign += 2) {
		struct scene s;
		struct attribute *a;
		struct attribute_summary summary;

		scene_init(&s, 8);
		s.offset_ns = sign * 37000;
		run_mix(&s, 1500);
		scene_sample(&s, 1000000000, INTERVAL);
		a = solve(&s);
		summary = attribute_summary(a);
		assert_int_equal(summary.align.state, ALIGN_FOUND);
		assert_true(labs((long)(summary.align.offset_ns - s.offset_ns)) <= 1000);
		assert_mix_known(&s, a, 1.5);
		attribute_destroy(a);
		scene_fini(&s);
	}
}

/* Below what the search for an offset can see: each metric's own lag takes it up. */
static void test_counters_that_lag_by_a_microsecond_are_followed(void **context)
{
	struct scene s;
	struct attribute *a;
	double lag;

	(void)context;
	scene_init(&s, 9);
	s.offset_ns = 1200;
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	lag = attribute_summary(a).lag_ns[SCENE_TENSOR];
	assert_true(lag > 900 && lag < 1500);
	assert_int_equal(attribute_summary(a).align.offset_ns, 0);
	assert_mix_known(&s, a, 1.5);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_samples_of_something_else_are_refused(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 10);
	run_mix(&s, 300);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++)
		s.sample[i].value[SCENE_ACTIVE] = 100 * scene_random(&s);
	a = solve(&s);
	assert_int_equal(attribute_summary(a).align.state, ALIGN_POOR);
	assert_int_equal(status_of(a, 1, SCENE_TENSOR), ATTRIBUTE_NOT_IDENTIFIABLE);
	assert_int_equal(attribute_find(a, 1, SCENE_TENSOR)->reason, ATTRIBUTE_CLOCKS);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_kernels_side_by_side_add_up(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 11);
	for (unsigned i = 0; i < 800; i++) {
		struct scene_kernel k = {.signature = 10, .stream = 1, .begin_ns = s.now_ns};

		k.begin_ns += (uint64_t)(20000 * scene_random(&s));
		k.end_ns = k.begin_ns + 30000;
		k.value[SCENE_TENSOR] = 20;
		k.value[SCENE_WRITES] = 700;
		scene_run(&s, 0, 25000, 40, 300);
		scene_add(&s, &k);
		scene_run(&s, 1, 15000, 0, 1500);
		scene_idle(&s, 40000 + 60000 * scene_random(&s));
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_true(error_of(&s, a, 0, SCENE_TENSOR) < 1.5);
	assert_true(error_of(&s, a, 10, SCENE_TENSOR) < 1.5);
	assert_true(error_of(&s, a, 1, SCENE_WRITES) < 1.5);
	assert_true(error_of(&s, a, 10, SCENE_WRITES) < 1.5);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Two kernels slow each other down so much that together they do less than one alone: no sum of
 * values says that. */
static void test_a_kernel_that_only_takes_away_is_contradicted(void **context)
{
	struct scene s;
	struct attribute *a;
	const struct attribute_estimate *e;

	(void)context;
	scene_init(&s, 18);
	for (unsigned i = 0; i < 600; i++) {
		struct scene_kernel k;

		scene_run(&s, 0, 50000, 90, 300);
		scene_idle(&s, 50000 * scene_random(&s));
		scene_run(&s, 0, 50000, 50, 300);
		k = s.kernel[s.kernels - 1];
		k.signature = 1;
		k.stream = 1;
		k.value[SCENE_TENSOR] = 0;
		k.value[SCENE_ACTIVE] = 0;
		scene_add(&s, &k);
		scene_idle(&s, 80000 * scene_random(&s));
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	e = attribute_find(a, 1, SCENE_TENSOR);
	assert_int_equal(e->status, ATTRIBUTE_CONTRADICTED);
	assert_int_equal(e->reason, ATTRIBUTE_NEGATIVE);
	assert_true(e->value == 0);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Programmatic dependent launch: the second of a stream starts early and waits. The time is the
 * first one's. */
static void test_overlap_within_a_stream_is_the_earlier_ones(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 12);
	for (unsigned i = 0; i < 600; i++) {
		size_t second;

		scene_run(&s, 0, 20000, 60, 300);
		scene_run(&s, 1, 10000, 0, 2000);
		second = s.kernels - 1;
		scene_idle(&s, 60000 * scene_random(&s));
		s.kernel[second].begin_ns = s.kernel[second - 1].end_ns;
	}
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 1; i < s.kernels; i += 2)
		s.kernel[i].begin_ns -= 5000;
	a = solve(&s);
	assert_true(error_of(&s, a, 0, SCENE_TENSOR) < 1.5);
	assert_true(attribute_find(a, 1, SCENE_TENSOR)->value < 1);
	assert_true(fabs((double)attribute_totals(a, 1).total_ns / 600 - 10300) < 200);
	attribute_destroy(a);
	scene_fini(&s);
}

/* A fifth of what is written comes in the 10 us after the kernel's end, when mostly nothing runs.
 */
static void test_write_back_invents_nothing(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 13);
	s.tail_share = 0.2;
	s.tail_ns = 10000;
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	for (uint32_t k = 0; k < MIX; k++) {
		assert_true(error_of(&s, a, k, SCENE_TENSOR) < 1.5);
		assert_true(error_of(&s, a, k, SCENE_WRITES) <
			    0.25 * 100 * scene_truth(&s, k, SCENE_WRITES) / SCENE_PEAK + 12);
	}
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_two_percent_of_outliers_do_not_matter(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 14);
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++)
		if (scene_random(&s) < 0.02)
			for (unsigned m = 0; m < SCENE_METRICS; m++)
				s.sample[i].value[m] *= 0.3 * scene_random(&s);
	a = solve(&s);
	assert_mix_known(&s, a, 2);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Repeated, backward, empty, endless and senseless samples, as a full counter-data image gives
 * them. */
static void test_bad_samples_are_dropped_and_counted(void **context)
{
	struct scene s;
	struct attribute_options options = scene_options();
	struct attribute *a = attribute_create(&options);
	struct attribute_summary summary;
	size_t k = 0;

	(void)context;
	scene_init(&s, 15);
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++) {
		struct attribute_sample bad = s.sample[i];

		while (k < s.kernels && s.kernel[k].begin_ns < s.sample[i].begin_ns) {
			struct attribute_kernel in = {.signature = s.kernel[k].signature,
						      .begin_ns = s.kernel[k].begin_ns,
						      .end_ns = s.kernel[k].end_ns};

			attribute_add_kernel(a, &in);
			k++;
		}
		if (i == 100)
			s.sample[i].value[SCENE_TENSOR] = NAN;
		if (i == 101)
			s.sample[i].value[SCENE_TENSOR] = 250;
		if (i == 102)
			s.sample[i].value[SCENE_WRITES] = -5;
		attribute_add_sample(a, &s.sample[i]);
		if (i % 50 == 20) /* again */
			attribute_add_sample(a, &bad);
		bad.end_ns = bad.begin_ns;
		if (i % 50 == 21)
			attribute_add_sample(a, &bad);
		bad.end_ns = bad.begin_ns - 100;
		if (i % 50 == 22)
			attribute_add_sample(a, &bad);
	}
	assert_int_equal(attribute_solve(a), 0);
	summary = attribute_summary(a);
	assert_int_equal(summary.first_of_burst, 1);
	assert_int_equal(summary.bad_values, 3);
	assert_true(summary.bad_times >= 3 * (s.samples / 50));
	assert_true(summary.samples + summary.first_of_burst == s.samples);
	assert_mix_known(&s, a, 1.5);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Kernels whose records were lost: their time is known, what ran in it is not. */
/* Hands over kernels up to a sample, and the sample. */
static void add_with_kernels(struct attribute *a, const struct scene *s, size_t *k,
			     const struct attribute_sample *sample)
{
	for (; *k < s->kernels && s->kernel[*k].begin_ns < sample->begin_ns; ++*k) {
		struct attribute_kernel in = {.signature = s->kernel[*k].signature,
					      .begin_ns = s->kernel[*k].begin_ns,
					      .end_ns = s->kernel[*k].end_ns};

		assert_int_equal(attribute_add_kernel(a, &in), 0);
	}
	assert_int_equal(attribute_add_sample(a, sample), 0);
}

/*
 * Bursts of 40 ms with pauses of 60 between them, each with a first sample that spans from
 * configuration to start and says what was never so. Kernels run all the while.
 */
static void test_sampling_that_stops_and_starts_again_is_one(void **context)
{
	struct attribute_options options = scene_options();
	struct attribute *a = attribute_create(&options);
	struct attribute_summary summary;
	uint64_t bursts = 0;
	struct scene s;
	size_t k = 0;

	(void)context;
	scene_init(&s, 51);
	run_mix(&s, 9000);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 1; i < s.samples; i++) {
		struct attribute_sample sample = s.sample[i];

		if (i % 1000 >= 400)
			continue;
		if (i % 1000 == 0) {
			attribute_begin_burst(a);
			bursts++;
			sample.value[SCENE_TENSOR] = sample.value[SCENE_ACTIVE] = 100;
		}
		add_with_kernels(a, &s, &k, &sample);
	}
	assert_int_equal(attribute_solve(a), 0);
	summary = attribute_summary(a);
	assert_true(bursts > 10);
	/* and the very first */
	assert_int_equal(summary.first_of_burst, bursts + 1);
	assert_int_equal(summary.bad_times, 0);
	assert_mix_known(&s, a, 2);
	attribute_destroy(a);
	scene_fini(&s);
}

/* What an image gives twice when it fills: ten samples come again, with the kernels gone by. */
static void test_samples_that_come_twice_count_once(void **context)
{
	struct attribute_options options = scene_options();
	struct attribute *a = attribute_create(&options);
	struct scene s;
	size_t k = 0;

	(void)context;
	scene_init(&s, 52);
	run_mix(&s, 1500);
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++) {
		add_with_kernels(a, &s, &k, &s.sample[i]);
		if (i % 500 == 499)
			for (size_t again = i - 9; again <= i; again++)
				add_with_kernels(a, &s, &k, &s.sample[again]);
	}
	assert_int_equal(attribute_solve(a), 0);
	assert_int_equal(attribute_summary(a).bad_times, s.samples / 500 * 10);
	assert_mix_known(&s, a, 1.5);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_samples_over_lost_records_are_left_out(void **context)
{
	struct scene s;
	struct attribute_options options = scene_options();
	struct attribute *a = attribute_create(&options);
	size_t k = 0;
	uint64_t from, to;

	(void)context;
	scene_init(&s, 16);
	run_mix(&s, 2000);
	scene_sample(&s, 1000000000, INTERVAL);
	from = s.kernel[s.kernels / 3].begin_ns;
	to = s.kernel[s.kernels / 2].begin_ns;
	attribute_add_hole(a, from, to);
	for (size_t i = 0; i < s.samples; i++) {
		for (; k < s.kernels && s.kernel[k].begin_ns < s.sample[i].begin_ns; k++) {
			struct attribute_kernel in = {.signature = s.kernel[k].signature,
						      .begin_ns = s.kernel[k].begin_ns,
						      .end_ns = s.kernel[k].end_ns};

			if (in.begin_ns < from || in.begin_ns >= to)
				attribute_add_kernel(a, &in);
		}
		attribute_add_sample(a, &s.sample[i]);
	}
	assert_int_equal(attribute_solve(a), 0);
	assert_true(attribute_summary(a).in_holes >= (to - from) / 100000);
	assert_true(attribute_summary(a).idle_active < 0.1);
	assert_mix_known(&s, a, 1.5);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Another process keeps the SMs busy at times, also while nothing of ours runs. */
static void test_foreign_activity_shows_in_idle_samples(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 17);
	for (unsigned i = 0; i < 100; i++) {
		run_mix(&s, 1);
		scene_idle(&s, 1000000);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	for (size_t i = 0; i < s.samples; i++)
		if (i / 20 % 4 == 0)
			s.sample[i].value[SCENE_ACTIVE] =
				fmin(s.sample[i].value[SCENE_ACTIVE] + 30, 100);
	a = solve(&s);
	assert_true(attribute_summary(a).idle_active > 5);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_no_value_is_negative_and_intervals_hold_their_values(void **context)
{
	(void)context;
	for (uint64_t seed = 20; seed < 40; seed++) {
		struct scene s;
		struct attribute *a;

		scene_init(&s, seed);
		s.noise = 0.05;
		run_mix(&s, 40);
		scene_sample(&s, 1000000000, INTERVAL);
		a = solve(&s);
		for (uint32_t k = 0; k < MIX; k++) {
			for (unsigned m = 0; m < SCENE_METRICS; m++) {
				const struct attribute_estimate *e = attribute_find(a, k, m);

				assert_true(e->low >= 0 && e->low <= e->value &&
					    e->value <= e->high);
				assert_true((double)e->high <= 100 * scale_of(m) + 1e-3);
			}
		}
		attribute_destroy(a);
		scene_fini(&s);
	}
}

static void test_names_of_signatures_do_not_matter(void **context)
{
	static const uint32_t rename[MIX] = {40, 3, 77, 0, 12, 5};
	struct scene s;
	struct attribute_options options = scene_options();
	struct attribute *a, *b;

	(void)context;
	scene_init(&s, 41);
	run_mix(&s, 200);
	scene_sample(&s, 1000000000, INTERVAL);
	a = scene_solve(&s, &options, NULL);
	b = scene_solve(&s, &options, rename);
	for (uint32_t k = 0; k < MIX; k++) {
		for (unsigned m = 0; m < SCENE_METRICS; m++) {
			const struct attribute_estimate *x = attribute_find(a, k, m);
			const struct attribute_estimate *y = attribute_find(b, rename[k], m);

			assert_true(x->value == y->value && x->low == y->low && x->high == y->high);
			assert_int_equal(x->status, y->status);
		}
	}
	attribute_destroy(a);
	attribute_destroy(b);
	scene_fini(&s);
}

/* One kernel serves a small and a large shape, each with neighbours of its own. */
static void test_shapes_behind_one_signature_do_not_spoil_their_neighbours(void **context)
{
	struct scene s;
	struct attribute *a;

	(void)context;
	scene_init(&s, 42);
	for (unsigned i = 0; i < 500; i++) {
		scene_run(&s, 0, 10000, 45, 900);
		scene_run(&s, 1, 6000, 0, 1000);
		scene_run(&s, 0, 26000, 75, 600);
		scene_run(&s, 2, 6000, 5, 3000);
		scene_idle(&s, 80000 * scene_random(&s));
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_true(error_of(&s, a, 0, SCENE_TENSOR) < 1);
	assert_true(error_of(&s, a, 1, SCENE_TENSOR) < 2);
	assert_true(error_of(&s, a, 2, SCENE_TENSOR) < 2);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Room for a fraction of the rows: those that stay say the same, and the rare kernel keeps its own.
 */
/* As scene_run, of a shape. */
static void run_shape(struct scene *s, uint32_t signature, uint32_t shape, double ns, double tensor)
{
	scene_run(s, signature, ns, tensor, SCENE_PEAK * (1 - tensor / 100) / 2);
	s->kernel[s->kernels - 1].shape = shape;
}

static void assert_inside(const struct attribute_estimate *e, double truth, double points)
{
	assert_int_equal(e->status, ATTRIBUTE_IDENTIFIED);
	assert_true(fabs((double)e->value - truth) < points);
	assert_true((double)e->low <= truth && (double)e->high >= truth);
}

/*
 * One GEMM for two shapes that take as long, at 45 and 85 % of the tensor peak, each with a
 * neighbour of its own. Duration tells nothing: as one signature the value is right at neither, and
 * the neighbours pay.
 */
static void run_two_shapes(struct scene *s, unsigned steps)
{
	for (unsigned i = 0; i < steps; i++) {
		run_shape(s, 0, 1, 20000, 45);
		run_shape(s, 1, 0, 3000 + 9000 * scene_random(s), 0);
		run_shape(s, 0, 2, 20000, 85);
		run_shape(s, 2, 0, 3000 + 9000 * scene_random(s), 20);
		scene_idle(s, 30000 * scene_random(s));
	}
	scene_sample(s, 1000000000, INTERVAL);
}

static void test_shapes_of_equal_duration_are_told_apart(void **context)
{
	struct attribute_options options = scene_options();
	uint32_t shape[ATTRIBUTE_SHAPES + 1];
	struct attribute *a;
	struct scene s;

	(void)context;
	scene_init(&s, 41);
	run_two_shapes(&s, 3000);
	a = scene_solve(&s, &options, NULL);
	assert_int_equal(attribute_shapes(a, 0, shape), 2);
	assert_int_equal(shape[0], 1);
	assert_int_equal(shape[1], 2);
	assert_inside(attribute_find_shape(a, 0, 1, SCENE_TENSOR), 45, 2);
	assert_inside(attribute_find_shape(a, 0, 2, SCENE_TENSOR), 85, 2);
	/* the signature is the mean by time */
	assert_inside(attribute_find(a, 0, SCENE_TENSOR), scene_truth(&s, 0, SCENE_TENSOR), 1);
	assert_inside(attribute_find(a, 1, SCENE_TENSOR), 0, 1.5);
	assert_inside(attribute_find(a, 2, SCENE_TENSOR), 20, 1.5);
	assert_int_equal(attribute_totals(a, 0).launches, 6000);
	assert_int_equal(attribute_totals_shape(a, 0, 2).launches, 3000);
	/* of others there is nothing */
	assert_int_equal(attribute_find_shape(a, 0, 3, SCENE_TENSOR)->status, ATTRIBUTE_NONE);
	assert_int_equal(attribute_totals_shape(a, 0, 3).launches, 0);
	assert_int_equal(attribute_shapes(a, 7, shape), 0);
	/* one of a single shape is that shape */
	assert_int_equal(attribute_shapes(a, 1, shape), 1);
	assert_ptr_equal(attribute_find_shape(a, 1, 0, SCENE_TENSOR),
			 attribute_find(a, 1, SCENE_TENSOR));
	attribute_destroy(a);
	scene_fini(&s);
}

/* Both shapes do the same: nothing is lost but some precision of each alone. */
static void test_shapes_that_do_the_same_cost_nothing(void **context)
{
	struct attribute_options options = scene_options();
	const struct attribute_estimate *with, *without;
	struct attribute *a, *b;
	struct scene s;

	(void)context;
	scene_init(&s, 42);
	for (unsigned i = 0; i < 600; i++)
		for (uint32_t shape = 1; shape <= 3; shape++) {
			run_shape(&s, 0, shape, 15000, 70);
			run_shape(&s, 1, 0, 3000 + 9000 * scene_random(&s), 0);
		}
	scene_sample(&s, 1000000000, INTERVAL);
	a = scene_solve(&s, &options, NULL);
	for (size_t i = 0; i < s.kernels; i++)
		s.kernel[i].shape = 0;
	b = scene_solve(&s, &options, NULL);
	with = attribute_find(a, 0, SCENE_TENSOR);
	without = attribute_find(b, 0, SCENE_TENSOR);
	assert_inside(with, scene_truth(&s, 0, SCENE_TENSOR), 1.5);
	assert_true(fabs((double)(with->value - without->value)) < 0.5);
	assert_true((double)(with->high - with->low) <
		    1.3 * (double)(without->high - without->low) + 0.2);
	for (uint32_t shape = 1; shape <= 3; shape++)
		assert_true(fabs((double)attribute_find_shape(a, 0, shape, SCENE_TENSOR)->value -
				 70) < 2);
	attribute_destroy(a);
	attribute_destroy(b);
	scene_fini(&s);
}

/*
 * A decoder: each step has a shape of its own (the keys get longer), far more of them than are told
 * apart and each too rare to be known alone. Together they are known as without shapes.
 */
static void test_a_shape_for_each_step_is_as_none(void **context)
{
	struct attribute_options options = scene_options();
	uint32_t shape[ATTRIBUTE_SHAPES + 1];
	struct attribute *a;
	struct scene s;

	(void)context;
	scene_init(&s, 43);
	for (uint32_t i = 0; i < 2000; i++) {
		run_shape(&s, 0, 1 + i, 5000 + 5 * i, 30);
		run_shape(&s, 1, 0, 3000 + 9000 * scene_random(&s), 0);
		run_shape(&s, 2, 9000, 25000, 80);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = scene_solve(&s, &options, NULL);
	assert_int_equal(attribute_shapes(a, 0, shape), ATTRIBUTE_SHAPES + 1);
	assert_int_equal(shape[ATTRIBUTE_SHAPES], 0);
	assert_inside(attribute_find(a, 0, SCENE_TENSOR), 30, 2);
	assert_inside(attribute_find(a, 2, SCENE_TENSOR), 80, 2);
	assert_int_equal(attribute_totals(a, 0).launches, 2000);
	/* nothing is claimed of a single one */
	assert_int_not_equal(attribute_find_shape(a, 0, 10, SCENE_TENSOR)->status,
			     ATTRIBUTE_IDENTIFIED);
	/* a few columns, not thousands */
	assert_true(attribute_summary(a).columns < 20);
	attribute_destroy(a);
	scene_fini(&s);
}

/* A library that tries its kernels on every shape once: those trials do not hide the real one. */
static void test_trials_of_a_library_go_with_what_is_alike(void **context)
{
	struct attribute_options options = scene_options();
	struct attribute *a;
	struct scene s;

	(void)context;
	scene_init(&s, 44);
	for (uint32_t trial = 0; trial < 12; trial++) {
		run_shape(&s, 0, 100 + trial, 20000 + 3000 * trial, 50);
		run_shape(&s, 0, 100 + trial, 20000 + 3000 * trial, 50);
	}
	run_two_shapes(&s, 2000);
	a = scene_solve(&s, &options, NULL);
	assert_inside(attribute_find_shape(a, 0, 1, SCENE_TENSOR), 45, 2);
	assert_inside(attribute_find_shape(a, 0, 2, SCENE_TENSOR), 85, 2);
	assert_true(attribute_find_shape(a, 0, 100, SCENE_TENSOR)->status != ATTRIBUTE_IDENTIFIED);
	attribute_destroy(a);
	scene_fini(&s);
}

static void test_little_memory_costs_precision_only(void **context)
{
	struct scene s;
	struct attribute_options options = scene_options();
	struct attribute *a;

	(void)context;
	scene_init(&s, 43);
	for (unsigned i = 0; i < 30; i++) {
		run_mix(&s, 400);
		scene_run(&s, 9, 60000, 30, 1000);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	options.budget_bytes = 200000;
	a = scene_solve(&s, &options, NULL);
	assert_true(attribute_summary(a).thinned >= 2);
	assert_mix_known(&s, a, 2);
	assert_true(attribute_find(a, 9, SCENE_TENSOR)->samples >= 30);
	assert_true(error_of(&s, a, 9, SCENE_TENSOR) < 3);
	attribute_destroy(a);
	scene_fini(&s);
}

/* 800 signatures of ten launches each, and as many of one, beside six that make up the time. */
static void test_more_signatures_than_columns_leave_the_large_ones_known(void **context)
{
	struct scene s;
	struct attribute *a;
	unsigned reasons[8] = {0};

	(void)context;
	scene_init(&s, 44);
	for (unsigned i = 0; i < 8000; i++) {
		run_mix(&s, 1);
		scene_run(&s, 100 + i % 800, 3000, 10, 100);
		if (i % 10 == 0)
			scene_run(&s, 1000 + i / 10, 3000, 10, 100);
	}
	scene_sample(&s, 1000000000, INTERVAL);
	a = solve(&s);
	assert_true(attribute_summary(a).columns <= 640);
	for (uint32_t k = 100; k < 1800; k++)
		reasons[attribute_find(a, k, SCENE_TENSOR)->reason]++;
	assert_int_equal(reasons[ATTRIBUTE_CROWDED], attribute_summary(a).crowded);
	assert_true(reasons[ATTRIBUTE_CROWDED] > 150);
	assert_true(reasons[ATTRIBUTE_FEW_SAMPLES] > 800);
	assert_mix_known(&s, a, 2);
	attribute_destroy(a);
	scene_fini(&s);
}

/* Fourteen random kernels, repeated: a program of a tenth of a second. */
static void run_program(struct scene *s, uint64_t seed)
{
	double ns[14], tensor[14], writes[14];

	scene_init(s, seed);
	for (unsigned k = 0; k < 14; k++) {
		ns[k] = 1500 * exp(3.2 * scene_random(s));
		tensor[k] = scene_random(s) < 0.4 ? 100 * scene_random(s) : 0;
		writes[k] = scene_random(s) < 0.7 ? 0.9 * SCENE_PEAK * scene_random(s) : 0;
	}
	for (unsigned step = 0; step < 150; step++) {
		for (uint32_t k = 0; k < 14; k++) {
			for (unsigned r = 0; r < (k % 5 == 4 ? 4 : 1); r++)
				scene_run(s, k, ns[k], tensor[k], writes[k]);
			if (scene_random(s) < 0.3)
				scene_idle(s, 20000 * scene_random(s));
			if (k % 3 == 2)
				scene_run(s, k * 7 % 14, ns[k * 7 % 14], tensor[k * 7 % 14],
					  writes[k * 7 % 14]);
		}
		scene_idle(s, 5000 + 100000 * scene_random(s));
	}
	scene_sample(s, 1000000000, INTERVAL);
}

static void test_intervals_of_90_percent_hold_the_truth_nine_times_of_ten(void **context)
{
	unsigned held = 0, all = 0, known = 0, asked = 0;

	(void)context;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct scene s;
		struct attribute *a;

		run_program(&s, seed);
		a = solve(&s);
		for (uint32_t k = 0; k < 14; k++) {
			for (unsigned m = 0; m < SCENE_METRICS; m++) {
				const struct attribute_estimate *e = attribute_find(a, k, m);
				double truth = scene_truth(&s, k, m);

				/* A truth of zero is at the edge of every interval: too easy. */
				if (truth <= 0)
					continue;
				asked++;
				if (e->status != ATTRIBUTE_IDENTIFIED)
					continue;
				known++;
				all++;
				held += (double)e->low <= truth && truth <= (double)e->high;
			}
		}
		attribute_destroy(a);
		scene_fini(&s);
	}
	print_message("coverage of 90 %% intervals: %.3f of %u; identified: %.3f\n",
		      (double)held / all, all, (double)known / asked);
	assert_true((double)held / all > 0.80 && (double)held / all < 0.99);
	assert_true((double)known / asked > 0.85);
}

static long peak_kb(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* A million kernels of 600 signatures in 60 s, 10,000 samples a second. Generated as they are
 * added. */
static void test_a_million_kernels_take_64_mb(void **context)
{
	struct attribute_options options = scene_options();
	struct scene s;
	struct attribute *a;
	uint64_t now = 1000000000, next = now;
	double sum[SCENE_METRICS] = {0};
	clock_t begin = clock();
	long before = peak_kb();

	(void)context;
	scene_init(&s, 50);
	a = attribute_create(&options);
	for (unsigned i = 0; i < 1000000; i++) {
		/* Phases: each signature among 40 others. */
		uint32_t signature = i / 100000 * 56 + (uint32_t)(40 * scene_random(&s));
		uint64_t end =
			now + 2000 + signature % 17 * 5000 + (uint64_t)(500 * scene_random(&s));
		double value[SCENE_METRICS] = {signature % 3 * 30, 98, signature % 5 * 900};
		struct attribute_kernel k = {
			.signature = signature, .begin_ns = now, .end_ns = end};

		attribute_add_kernel(a, &k);
		while (next + 100000 <= end) {
			struct attribute_sample sample = {next, next + 100000, 7, {0}};

			for (unsigned m = 0; m < SCENE_METRICS; m++) {
				sum[m] += value[m] * (double)(next + 100000 - now);
				sample.value[m] = sum[m] / (m == SCENE_WRITES ? 1 : 100000);
				sum[m] = 0;
			}
			now = next += 100000;
			attribute_add_sample(a, &sample);
		}
		for (unsigned m = 0; m < SCENE_METRICS; m++)
			sum[m] += value[m] * (double)(end - now);
		now = end + 300;
	}
	assert_int_equal(attribute_solve(a), 0);
	print_message("1 M kernels, %u columns, 1 of %u samples: %.1f s, %ld kB more\n",
		      attribute_summary(a).columns, 1u << attribute_summary(a).thinned,
		      (double)(clock() - begin) / CLOCKS_PER_SEC, peak_kb() - before);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they need memory too */
	assert_true(peak_kb() - before < 64 * 1024);
#endif
	for (uint32_t k = 0; k < 40; k++)
		assert_true(fabs((double)attribute_find(a, k, SCENE_TENSOR)->value - k % 3 * 30) <
			    2);
	attribute_destroy(a);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: what it needs at most shows only while nothing needed more before. */
		cmocka_unit_test(test_a_million_kernels_take_64_mb),
		cmocka_unit_test(test_kernels_shorter_than_a_sample_are_told_apart),
		cmocka_unit_test(test_a_pair_that_is_never_apart_is_merged_or_said_to_be_unknown),
		cmocka_unit_test(test_neighbours_that_samples_cut_are_told_apart),
		cmocka_unit_test(test_one_short_launch_is_not_known),
		cmocka_unit_test(test_one_long_launch_is_known),
		cmocka_unit_test(test_a_few_samples_that_hold_little_else_are_enough),
		cmocka_unit_test(test_what_a_maximum_hides_is_inside_the_interval),
		cmocka_unit_test(test_what_a_maximum_hides_of_a_short_kernel_may_be_much),
		cmocka_unit_test(test_what_was_never_sampled_has_no_value),
		cmocka_unit_test(test_missing_samples_and_metrics_only_cost_precision),
		cmocka_unit_test(test_a_clock_that_is_37_us_off_is_found),
		cmocka_unit_test(test_counters_that_lag_by_a_microsecond_are_followed),
		cmocka_unit_test(test_samples_of_something_else_are_refused),
		cmocka_unit_test(test_kernels_side_by_side_add_up),
		cmocka_unit_test(test_a_kernel_that_only_takes_away_is_contradicted),
		cmocka_unit_test(test_overlap_within_a_stream_is_the_earlier_ones),
		cmocka_unit_test(test_write_back_invents_nothing),
		cmocka_unit_test(test_two_percent_of_outliers_do_not_matter),
		cmocka_unit_test(test_bad_samples_are_dropped_and_counted),
		cmocka_unit_test(test_sampling_that_stops_and_starts_again_is_one),
		cmocka_unit_test(test_samples_that_come_twice_count_once),
		cmocka_unit_test(test_samples_over_lost_records_are_left_out),
		cmocka_unit_test(test_foreign_activity_shows_in_idle_samples),
		cmocka_unit_test(test_no_value_is_negative_and_intervals_hold_their_values),
		cmocka_unit_test(test_names_of_signatures_do_not_matter),
		cmocka_unit_test(test_shapes_behind_one_signature_do_not_spoil_their_neighbours),
		cmocka_unit_test(test_shapes_of_equal_duration_are_told_apart),
		cmocka_unit_test(test_shapes_that_do_the_same_cost_nothing),
		cmocka_unit_test(test_a_shape_for_each_step_is_as_none),
		cmocka_unit_test(test_trials_of_a_library_go_with_what_is_alike),
		cmocka_unit_test(test_little_memory_costs_precision_only),
		cmocka_unit_test(test_more_signatures_than_columns_leave_the_large_ones_known),
		cmocka_unit_test(test_intervals_of_90_percent_hold_the_truth_nine_times_of_ten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
