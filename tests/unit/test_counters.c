/* Samples in a trace reach each kernel's figures and label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/trace/format.h"
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
static const double truth[4][SLOTS] = {
	{[DRAM_READ] = 8, [DRAM_WRITE] = 4, [TENSOR] = 92, [SM_ACTIVE] = 100, [L2] = 40, [L1] = 95},
	{[DRAM_READ] = 44, [DRAM_WRITE] = 40, [FMA] = 5, [SM_ACTIVE] = 100, [L2] = 50, [L1] = 20},
	{[DRAM_READ] = 2, [DRAM_WRITE] = 1, [ALU] = 20, [SM_ACTIVE] = 60, [L2] = 5, [L1] = 10},
	/* the first kernel serving its other shape, where there are shapes */
	{[DRAM_READ] = 20,
	 [DRAM_WRITE] = 9,
	 [TENSOR] = 46,
	 [SM_ACTIVE] = 100,
	 [L2] = 30,
	 [L1] = 50},
};
static const uint64_t length_ns[4] = {70 * US, 45 * US, 30 * US, 70 * US};

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

static void add_row(struct trace_builder *b, uint16_t table, const uint64_t *numbers)
{
	struct bst_cell cells[BST_COLUMN_LIMIT] = {{0}};
	unsigned n = 0;

	for (const struct bst_column_info *c = bst_table_info(table)->column; c->id; c++, n++)
		if (c->encoding == BST_BYTES)
			cells[n] = (struct bst_cell){.text = "", .size = 0};
		else
			cells[n].number = numbers[n];
	builder_row(b, table, cells);
}

/* Every other launch of the first kernel is of the other shape: each within a cuBLAS call. */
static void add_shapes(struct trace_builder *b, struct run *run, uint64_t thread, uint64_t api)
{
	unsigned count = 0;

	builder_meta(b, "library.state.cublas", "calls seen");
	for (uint64_t id = 1; id <= 2; id++)
		add_row(b, BST_TABLE_SHAPE,
			(uint64_t[]){id, BST_ENUM_LIBRARY_CUBLAS, BST_ENUM_OPERATION_GEMM, 64 * id,
				     32, 16, 1, 3, 3, 3, 2,
				     BST_ENUM_SHAPE_FLAG_FLOPS | BST_ENUM_SHAPE_FLAG_BYTES, 1000,
				     1000, 0});
	for (unsigned i = 0; i < KERNELS; i++) {
		if (run[i].kind != 0)
			continue;
		run[i].kind = ++count % 2 ? 0 : 3;
		add_row(b, BST_TABLE_LIBRARY,
			(uint64_t[]){thread, api, run[i].begin_ns - 6 * US, 4 * US,
				     run[i].kind ? 2 : 1, 0, 0, 0, 0});
	}
}

static void build_with(struct trace_builder *b, bool sampled, enum loss loss, bool shapes)
{
	static const char *const names[3] = {"mma_main", "copy_main", "small_main"};
	static struct run run[KERNELS];
	uint64_t thread, launch, kernel[4], end = make_runs(run);

	builder_init(b, 1000);
	thread = builder_thread(b, 77);
	launch = builder_api(b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	for (unsigned k = 0; k < 3; k++)
		kernel[k] = builder_kernel(b, names[k], 4000, 256);
	kernel[3] = kernel[0];
	if (shapes)
		add_shapes(b, run, thread, builder_api(b, "cublasGemmEx", 0));
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

static void build(struct trace_builder *b, bool sampled, enum loss loss)
{
	build_with(b, sampled, loss, false);
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

static void a_kernel_of_two_shapes_has_a_label_for_each(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct kernel_report *k;

	(void)state;
	build_with(&b, true, NOTHING_LOST, true);
	assert_int_equal(builder_analyze(&b, &report), 0);
	k = kernel_named(&report, "mma_main");
	assert_int_equal(k->shape_count, 2);
	near(&k->tensor_pct, 69);
	for (unsigned i = 0; i < 2; i++) {
		const struct shape_report *shape = &k->shapes[i];
		bool first = strcmp(shape->words, "gemm 64 x 32 x 16") == 0;

		assert_string_equal(shape->words,
				    first ? "gemm 64 x 32 x 16" : "gemm 128 x 32 x 16");
		near(&shape->tensor_pct, first ? 92 : 46);
		near(&shape->dram_pct, first ? 12 : 29);
		assert_int_equal(shape->leaf, first ? LEAF_COMPUTE : LEAF_LATENCY);
		assert_int_equal(shape->evidence, EVIDENCE_COUNTERS);
		assert_float_equal(shape->mean_ns, 70 * US, 1);
	}
	assert_int_equal(k->shapes[0].launches + k->shapes[1].launches, k->launches);
	assert_int_equal(kernel_named(&report, "copy_main")->shape_count, 0);
	near(&kernel_named(&report, "copy_main")->dram_pct, 84);
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
static struct bst_cell text(const char *words)
{
	return (struct bst_cell){.text = words, .size = (uint32_t)strlen(words)};
}

/* Kernel `main` on two devices, at 80 % of the tensor peak on the one and at 30 on the other. */
static const unsigned tensor_of[2] = {80, 30};

static void add_device(struct trace_builder *b, unsigned device, uint64_t kernel)
{
	static const char *const metric[] = {"dram_read", "dram_write", "tensor", "sm_active"};
	static const unsigned slot[] = {DRAM_READ, DRAM_WRITE, TENSOR, SM_ACTIVE};

	for (unsigned m = 0; m < 4; m++)
		builder_row(b, BST_TABLE_METRIC,
			    (struct bst_cell[]){{.number = device + 1},
						{.number = slot[m]},
						text(metric[m]),
						{.number = 100},
						text("pct"),
						text("vendor__name.pct")});
	for (unsigned i = 0; i < 2000; i++) {
		uint64_t begin = 10000 * US + i * 90 * US + device * 13 * US;

		builder_run(b, &(struct builder_run){.kernel = kernel,
						     .begin_ns = begin,
						     .duration_ns = 60 * US,
						     .correlation = 1 + 2 * i + device,
						     .stream = 7,
						     .device = device});
	}
	/* bursts of 20 ms in turns, ten each: never both at once */
	for (unsigned i = 0; i < 1700; i++) {
		uint64_t begin = 10000 * US + i * 100 * US, busy = 0;
		uint64_t row[16] = {device, device + 1, begin + BUILDER_DEVICE_OFFSET, 100 * US};

		if (i / 200 % 2 != device)
			continue;
		for (uint64_t t = begin; t < begin + 100 * US; t += US)
			busy += t >= 10000 * US + device * 13 * US &&
				(t - 10000 * US - device * 13 * US) / US % 90 < 60;
		row[4 + TENSOR] = busy * tensor_of[device];
		row[4 + SM_ACTIVE] = busy * 100;
		add_row(b, BST_TABLE_SAMPLE, row);
	}
}

static void two_devices_have_figures_of_their_own(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct process_report *p;
	uint64_t kernel;

	(void)state;
	builder_init(&b, 500);
	builder_text(&b, 1, "name", "NVIDIA H200");
	kernel = builder_kernel(&b, "main", 4000, 256);
	for (unsigned device = 0; device < 2; device++)
		add_device(&b, device, kernel);
	assert_int_equal(builder_analyze(&b, &report), 0);
	p = &report.processes[0];
	assert_int_equal(p->device_count, 2);
	for (unsigned device = 0; device < 2; device++) {
		assert_int_equal(p->devices[device].kernel_count, 1);
		near(&p->devices[device].kernels[0].tensor_pct, tensor_of[device]);
	}
	report_fini(&report);
	builder_fini(&b);
}

/* As on a MIG instance, or where an administrator keeps the counters: the report says so. */
static void refused_counters_are_told_and_nothing_is_claimed(void **state)
{
	static const char *const reasons[] = {
		"cuptiPmSamplingEnable: not supported on this device (CUPTI 43)",
		"hardware counters: not permitted; an administrator can allow it (CUPTI 35)",
		"decoding: no memory, or the hardware buffer overflowed (CUPTI 8)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		struct trace_builder b;
		struct report report;
		const struct device_report *d;

		build(&b, false, NOTHING_LOST);
		builder_row(&b, BST_TABLE_BURST,
			    (struct bst_cell[]){{.number = 0},
						{.number = 1},
						{.number = 10000 * US},
						{.number = 10100 * US},
						{.number = SAMPLE_NS},
						{.number = 0},
						{.number = 1},
						{.number = 100000},
						text(reasons[i])});
		assert_int_equal(builder_analyze(&b, &report), 0);
		d = &report.processes[0].devices[0];
		assert_true(d->counters.known);
		assert_string_equal(d->counters.reason, reasons[i]);
		assert_int_equal(d->counters.bursts, 0);
		for (size_t k = 0; k < d->kernel_count; k++) {
			assert_int_not_equal(d->kernels[k].evidence, EVIDENCE_COUNTERS);
			assert_false(d->kernels[k].dram_pct.known);
		}
		report_fini(&report);
		builder_fini(&b);
	}
}

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
		cmocka_unit_test(a_kernel_of_two_shapes_has_a_label_for_each),
		cmocka_unit_test(without_samples_nothing_is_invented),
		cmocka_unit_test(samples_over_lost_records_are_left_out),
		cmocka_unit_test(two_devices_have_figures_of_their_own),
		cmocka_unit_test(refused_counters_are_told_and_nothing_is_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
