/* Samples in a trace reach each kernel's figures and label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_builder.h"

#define US UINT64_C(1000)
#define SAMPLE_NS (100 * US)
#define KERNELS 4000u

enum slot {
	DRAM_READ,
	DRAM_WRITE,
	TENSOR,
	FMA,
	ALU,
	FP64,
	SM_ACTIVE,
	L2 = 8,
	L1,
	SLOTS
};

#define SM_CLOCK 10 /* its slot */

/* What each kind of kernel does to each unit, in per cent. */
static const double truth[3][SLOTS] = {
	{[DRAM_READ] = 8, [DRAM_WRITE] = 4, [TENSOR] = 92, [SM_ACTIVE] = 100, [L2] = 40, [L1] = 95},
	{[DRAM_READ] = 44, [DRAM_WRITE] = 40, [FMA] = 5, [SM_ACTIVE] = 100, [L2] = 50, [L1] = 20},
	{[DRAM_READ] = 2, [DRAM_WRITE] = 1, [ALU] = 20, [SM_ACTIVE] = 60, [L2] = 5, [L1] = 10},
};
static const uint64_t length_ns[3] = {70 * US, 45 * US, 30 * US};

struct run {
	uint64_t begin_ns, end_ns;
	unsigned kind;
};

static uint32_t seed = 12345;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static uint64_t make_runs(struct run *run)
{
	uint64_t t = 10000 * US;

	for (unsigned i = 0; i < KERNELS; i++) {
		unsigned kind = next_random(3);

		t += 2 * US + next_random(20) * US;
		run[i] = (struct run){t, t + length_ns[kind], kind};
		t += length_ns[kind];
	}
	return t;
}

static void add_samples(struct trace_builder *b, const struct run *run, uint64_t end)
{
	unsigned first = 0;

	for (uint64_t t = run[0].begin_ns; t + SAMPLE_NS < end; t += SAMPLE_NS) {
		double sum[SLOTS] = {0};
		uint64_t value[12] = {0};

		while (run[first].end_ns <= t)
			first++;
		for (unsigned i = first; i < KERNELS && run[i].begin_ns < t + SAMPLE_NS; i++) {
			uint64_t from = run[i].begin_ns > t ? run[i].begin_ns : t;
			uint64_t to = run[i].end_ns < t + SAMPLE_NS ? run[i].end_ns : t + SAMPLE_NS;

			for (unsigned s = 0; s < SLOTS; s++)
				sum[s] += truth[run[i].kind][s] * (double)(to - from) / SAMPLE_NS;
		}
		for (unsigned s = 0; s < SLOTS; s++)
			value[s] = (uint64_t)(sum[s] * 100 + 0.5);
		/* an idle GPU has another clock, which says nothing */
		value[SM_CLOCK] = sum[SM_ACTIVE] >= 50 ? 140000 : 60000;
		builder_sample(b, t, SAMPLE_NS, value);
	}
}

/* Of these kernels the records of mma_main are missing, if any are. */
#define LOST_FROM 1000u
#define LOST_TO 3000u

enum loss {
	NOTHING_LOST,
	LOST_UNTOLD,
	LOST_AND_TOLD,
};

static void build(struct trace_builder *b, bool sampled, enum loss loss)
{
	static const char *const names[3] = {"mma_main", "copy_main", "small_main"};
	static struct run run[KERNELS];
	uint64_t thread, launch, kernel[3], end = make_runs(run);

	builder_init(b, 1000);
	thread = builder_thread(b, 77);
	launch = builder_api(b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	for (unsigned k = 0; k < 3; k++)
		kernel[k] = builder_kernel(b, names[k], 4000, 256);
	if (sampled) {
		static const char *const metric[SLOTS] = {
			"dram_read", "dram_write", "tensor", "fma", "alu",
			"fp64",      "sm_active",  NULL,     "l2",  "l1"};

		for (unsigned s = 0; s < SLOTS; s++)
			if (metric[s])
				builder_metric(b, s, metric[s]);
		builder_metric(b, SM_CLOCK, "sm_clock");
	}
	for (unsigned i = 0; i < KERNELS; i++) {
		builder_call(b, &(struct builder_call){.thread = thread,
						       .api = launch,
						       .begin_ns = run[i].begin_ns - 5 * US,
						       .duration_ns = 2 * US,
						       .correlation = i + 1});
		if (loss != NOTHING_LOST && i >= LOST_FROM && i < LOST_TO && run[i].kind == 0)
			continue;
		builder_run(b, &(struct builder_run){.kernel = kernel[run[i].kind],
						     .begin_ns = run[i].begin_ns,
						     .duration_ns = run[i].end_ns - run[i].begin_ns,
						     .correlation = i + 1,
						     .stream = 7});
	}
	if (sampled)
		add_samples(b, run, end);
	if (loss == LOST_AND_TOLD)
		builder_loss(b, BST_ENUM_LOSS_CUPTI_DROPPED, 600, 0, run[LOST_FROM].begin_ns,
			     run[LOST_TO].end_ns);
}

static const struct kernel_report *kernel_named(const struct report *report, const char *name)
{
	const struct device_report *d = &report->processes[0].devices[0];

	for (size_t i = 0; i < d->kernel_count; i++)
		if (strcmp(d->kernels[i].name, name) == 0)
			return &d->kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static void near(const struct measure *m, double value)
{
	assert_true(m->known);
	if (fabs(m->value - value) > 1.0)
		fail_msg("%.2f (%.2f to %.2f), not %.2f", m->value, m->low, m->high, value);
	assert_true(m->low <= m->value && m->value <= m->high);
}

static void samples_tell_each_kernel_s_units(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct kernel_report *k;

	(void)state;
	build(&b, true, NOTHING_LOST);
	assert_int_equal(builder_analyze(&b, &report), 0);
	k = kernel_named(&report, "mma_main");
	near(&k->tensor_pct, 92);
	near(&k->dram_pct, 12);
	near(&k->l1_pct, 95);
	assert_int_equal(k->evidence, EVIDENCE_COUNTERS);
	assert_int_equal(k->verdict.leaf, LEAF_COMPUTE);
	k = kernel_named(&report, "copy_main");
	near(&k->dram_pct, 84);
	near(&k->tensor_pct, 0);
	assert_int_equal(k->verdict.leaf, LEAF_DRAM);
	assert_true(k->bytes.known);
	k = kernel_named(&report, "small_main");
	assert_int_equal(k->verdict.leaf, LEAF_LATENCY);
	assert_true(report.processes[0].devices[0].sm_clock_hz.known);
	assert_float_equal(report.processes[0].devices[0].sm_clock_hz.value, 1400, 1e-6);
	assert_float_equal(report.processes[0].devices[0].sm_clock_hz.low, 1400, 1e-6);
	report_fini(&report);
	builder_fini(&b);
}

static void without_samples_nothing_is_invented(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct kernel_report *k;

	(void)state;
	build(&b, false, NOTHING_LOST);
	assert_int_equal(builder_analyze(&b, &report), 0);
	k = kernel_named(&report, "mma_main");
	assert_false(k->tensor_pct.known);
	assert_false(k->bytes.known);
	assert_false(report.processes[0].devices[0].sm_clock_hz.known);
	assert_int_not_equal(k->evidence, EVIDENCE_COUNTERS);
	report_fini(&report);
	builder_fini(&b);
}

/* What nobody recorded is not put down to the kernels beside it. */
static void samples_over_lost_records_are_left_out(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct kernel_report *k;

	(void)state;
	build(&b, true, LOST_UNTOLD);
	assert_int_equal(builder_analyze(&b, &report), 0);
	k = kernel_named(&report, "mma_main");
	assert_true(!k->tensor_pct.known || fabs(k->tensor_pct.value - 92) > 1);
	report_fini(&report);
	builder_fini(&b);
	build(&b, true, LOST_AND_TOLD);
	assert_int_equal(builder_analyze(&b, &report), 0);
	k = kernel_named(&report, "mma_main");
	near(&k->tensor_pct, 92);
	near(&k->dram_pct, 12);
	k = kernel_named(&report, "copy_main");
	near(&k->dram_pct, 84);
	report_fini(&report);
	builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_tell_each_kernel_s_units),
		cmocka_unit_test(without_samples_nothing_is_invented),
		cmocka_unit_test(samples_over_lost_records_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
