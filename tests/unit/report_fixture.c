/* Reports as analyze.c would fill them. */
#include "tests/unit/report_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_name.h"

static struct measure known(double value)
{
	return (struct measure){true, value, value, value};
}

static void add_process(struct report *report, const char *command)
{
	struct process_report *p;

	report->processes = realloc(report->processes,
				    (report->process_count + 1) * sizeof(*report->processes));
	p = &report->processes[report->process_count++];
	*p = (struct process_report){
		.path = strdup("run.bst"),
		.command = strdup(command),
		.host = strdup("a1"),
		.rank = strdup(""),
		.start = strdup("2026-11-30T23:45:07Z"),
		.version = strdup("0.1.0"),
		.mode = strdup("trace"),
		.cupti = strdup("13.0, on"),
		.pid = 4242 + report->process_count - 1,
		.complete = true,
		.driver_version = 13000,
	};
}

static struct device_report *add_device(struct report *report)
{
	struct process_report *p = &report->processes[report->process_count - 1];
	struct device_report *d;

	p->devices = realloc(p->devices, (p->device_count + 1) * sizeof(*p->devices));
	d = &p->devices[p->device_count];
	*d = (struct device_report){
		.index = (unsigned)p->device_count++,
		.name = strdup("NVIDIA H200"),
		.uuid = strdup("GPU-0"),
		.attributes = {.cc_major = 9, .sm_count = 132},
	};
	return d;
}

static struct kernel_report *add_kernel(struct device_report *d, const char *name, double share,
					uint64_t launches, double mean_ns)
{
	struct kernel_report *k;

	d->kernels = realloc(d->kernels, (d->kernel_count + 1) * sizeof(*d->kernels));
	k = &d->kernels[d->kernel_count++];
	*k = (struct kernel_report){
		.name = kernel_demangle(name),
		.category = kernel_kind_of(name)->name,
		.grid = {64, 1, 1},
		.block = {128, 1, 1},
		.registers = 32,
		.launches = launches,
		.total_ns = (uint64_t)(mean_ns * (double)launches),
		.busy_ns = (uint64_t)(mean_ns * (double)launches),
		.mean_ns = mean_ns,
		.deviation_ns = known(mean_ns / 20),
		.share = share,
		.verdict = {.regime = REGIME_OVERHEAD,
			    .leaf = LEAF_UNDERFILLED,
			    .share = share,
			    .confidence = 0.8},
		.leans = LEAF_UNKNOWN,
		.evidence = EVIDENCE_GEOMETRY,
		.waves = known(0.06),
	};
	k->short_name = kernel_short_name(k->name);
	return k;
}

static void set_gaps(struct device_report *d, enum leaf leaf, uint64_t count, const char *before)
{
	struct gap_report *g = &d->gaps[leaf];

	g->count = count;
	g->total_ns = d->steady.leaf_ns[leaf];
	g->worst_count = 2;
	g->worst[0] = (struct gap){12000000, 3 * g->total_ns / count, strdup(before), 4242};
	g->worst[1] = (struct gap){15000000, 2 * g->total_ns / count, strdup(before), 4242};
}

static void mlp_kernels(struct device_report *d)
{
	struct kernel_report *k;

	add_kernel(d, "nvjet_sm90_tst_64x8_64x16_2x4_h_bz_bias_TNT", 0.061, 2400, 13900);
	add_kernel(
		d,
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
		0.031, 3600, 1280);
	k = add_kernel(
		d,
		"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
		"at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
		"float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, "
		"4, 4> >(int)",
		0.022, 900, 3410);
	k->verdict = (struct verdict){REGIME_MEMORY, LEAF_DRAM, 0.022, 0.3, NULL};
	k->evidence = EVIDENCE_PRIOR;
	k = add_kernel(d, "saxpy(float*, float const*, float, int)", 0.004, 300, 1510);
	k->verdict = (struct verdict){REGIME_UNKNOWN, LEAF_UNKNOWN, 0.004, 0, NULL};
	k->evidence = EVIDENCE_NONE;
}

static void set_leaves(struct window *w, uint64_t window_ns, const double percent[LEAF_COUNT])
{
	uint64_t sum = 0;
	enum leaf largest = LEAF_UNKNOWN;

	w->known = true;
	w->window_ns = window_ns;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		w->leaf_ns[i] = (uint64_t)((double)window_ns * percent[i] / 100);
		sum += w->leaf_ns[i];
		if (w->leaf_ns[i] > w->leaf_ns[largest])
			largest = (enum leaf)i;
	}
	w->leaf_ns[largest] += window_ns - sum;
}

/* Stretches of steps that lie this far to both sides of the median. */
static void set_batches(struct steps *steps, uint64_t swing_ns)
{
	steps->batch_count = STEP_BATCHES;
	for (unsigned i = 0; i < STEP_BATCHES; i++)
		steps->batch_ns[i] =
			i % 2 ? steps->period_ns + swing_ns : steps->period_ns - swing_ns;
}

static void set_coverage(struct process_report *p, uint64_t kernels, uint64_t bytes)
{
	p->coverage = (struct coverage){
		.kernels = kernels,
		.copies = 300,
		.launches_hooked = kernels * 72 / 100,
		.launches_seen = kernels,
		.kernels_explained = kernels,
		.trace_bytes = bytes,
		.tracing_ns = 11000000,
	};
}

static void set_change(struct whatif *w, enum change_kind kind, uint64_t touched,
		       struct measure step)
{
	w->change[kind] = (struct change_report){.known = true, .step = step, .touched = touched};
}

static void mlp_whatif(struct whatif *w)
{
	*w = (struct whatif){.known = true,
			     .steps = 32,
			     .operations = 800,
			     .recorded_ns = 1830000,
			     .replayed_ns = 1829000,
			     .error = 0.00055,
			     .base_ns = 1790000,
			     .together = {true, 500000, 430000, 640000}};
	set_change(w, CHANGE_GRAPHS, 24, (struct measure){true, 600000, 520000, 700000});
	set_change(w, CHANGE_SYNC, 1, (struct measure){true, 1650000, 1640000, 1790000});
	set_change(w, CHANGE_PINNED, 1, (struct measure){true, 1690000, 1600000, 1790000});
	/* Too little to speak of. */
	set_change(w, CHANGE_ALLOC, 1, (struct measure){true, 1780000, 1770000, 1790000});
	w->change[CHANGE_PINNED].touched_ns = 73000;
}

void report_fixture_mlp(struct report *report)
{
	static const double steady[LEAF_COUNT] = {
		[LEAF_DRAM] = 2.2,    [LEAF_TRANSFER] = 3, [LEAF_HOST] = 58,
		[LEAF_LAUNCH] = 12,   [LEAF_SYNC] = 5,     [LEAF_UNDERFILLED] = 17,
		[LEAF_TRACING] = 2.1, [LEAF_UNKNOWN] = 0.7};
	static const double whole[LEAF_COUNT] = {
		[LEAF_HOST] = 70, [LEAF_ALLOC] = 25, [LEAF_UNDERFILLED] = 5};
	struct device_report *d;

	report_init(report);
	add_process(report, "python train.py --lr 0.1");
	d = add_device(report);
	report->processes[0].traced_ns = UINT64_C(12400000000);
	report->processes[0].startup_ns = UINT64_C(9800000000);
	set_coverage(&report->processes[0], 110780, 640000);
	set_leaves(&d->steady, 549000000, steady);
	set_leaves(&d->whole, UINT64_C(12400000000), whole);
	d->steady.busy_ns = 126000000;
	d->whole.busy_ns = 620000000;
	d->steady.launch_queue_gap_ns = 10000000;
	d->steps = (struct steps){.known = true,
				  .count = 300,
				  .warmup_count = 12,
				  .outlier_count = 3,
				  .period_ns = 1830000,
				  .low_ns = 1790000,
				  .high_ns = 1950000,
				  .kernels = 24,
				  .detected_by = "kernel sequence"};
	set_batches(&d->steps, 40000);
	d->verdict = (struct verdict){
		REGIME_OVERHEAD, LEAF_HOST, 0.94, 0.9,
		strdup("the GPU was idle 77 % of each step, mostly because the CPU had not called launch yet")};
	report->verdict = d->verdict;
	report->verdict.sentence = strdup(d->verdict.sentence);
	mlp_kernels(d);
	set_gaps(d, LEAF_HOST, 6300, d->kernels[1].short_name);
	set_gaps(d, LEAF_LAUNCH, 7100, d->kernels[0].short_name);
	set_gaps(d, LEAF_SYNC, 300, d->kernels[2].short_name);
	d->copies = calloc(1, sizeof(*d->copies));
	d->copy_count = 1;
	d->copies[0] = (struct copy_report){"host to device",       "pageable", "device", 300,
					    300 * UINT64_C(401408), 22000000,   16470000};
	mlp_whatif(&d->whatif);
}

static void fill_gemm(struct report *report, const char *command)
{
	static const double steady[LEAF_COUNT] = {
		[LEAF_COMPUTE] = 99.2, [LEAF_LAUNCH] = 0.5, [LEAF_TRACING] = 0.3};
	struct process_report *p;
	struct device_report *d;
	struct kernel_report *k;

	add_process(report, command);
	p = &report->processes[report->process_count - 1];
	d = add_device(report);
	p->traced_ns = UINT64_C(4100000000);
	p->startup_ns = UINT64_C(2900000000);
	set_coverage(p, 800, 21000);
	set_leaves(&d->steady, UINT64_C(1200000000), steady);
	d->whole = d->steady;
	d->steady.busy_ns = UINT64_C(1194000000);
	d->steps = (struct steps){.known = true,
				  .count = 800,
				  .warmup_count = 4,
				  .period_ns = 1500000,
				  .low_ns = 1490000,
				  .high_ns = 1520000,
				  .kernels = 1,
				  .detected_by = "kernel sequence"};
	set_batches(&d->steps, 5000);
	d->verdict =
		(struct verdict){REGIME_COMPUTE, LEAF_COMPUTE, 0.995, 0.95,
				 strdup("the tensor pipe is the busiest unit 99 % of the time")};
	k = add_kernel(d, "nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT", 0.992, 800, 1488000);
	k->verdict = (struct verdict){REGIME_COMPUTE, LEAF_COMPUTE, 0.992, 0.95, NULL};
	k->evidence = EVIDENCE_COUNTERS;
	k->tensor_pct = (struct measure){true, 93.8, 92.9, 94.4};
	k->dram_pct = known(21);
	k->waves = known(13);
	k->grid[0] = 132;
	k->block[0] = 384;
}

void report_fixture_gemm(struct report *report)
{
	report_init(report);
	fill_gemm(report, "python gemm.py");
	report->verdict = report->processes[0].devices[0].verdict;
	report->verdict.sentence = strdup(report->verdict.sentence);
}

/* 1.1 TFLOP in 1.488 ms by a library call, 803 GB/s by counters. */
static void set_gemm_work(struct kernel_report *k)
{
	k->flops = known(1.0995e12);
	k->flops_source = EVIDENCE_LIBRARY;
	k->bytes = (struct measure){true, 1.195e9, 1.1e9, 1.3e9};
	k->bytes_source = EVIDENCE_COUNTERS;
	k->pipe = CEILING_TENSOR_BF16;
}

static void add_gelu(struct device_report *d)
{
	struct kernel_report *k = add_kernel(
		d,
		"void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor>(int)",
		0.005, 800, 7500);

	k->flops = (struct measure){true, 2e7, 0, 3e7};
	k->flops_source = EVIDENCE_COUNTERS;
	k->bytes = known(2.4e7);
	k->bytes_source = EVIDENCE_LIBRARY;
	k->pipe = CEILING_FP32;
}

void report_fixture_roofline(struct report *report)
{
	struct device_report *d;

	report_fixture_gemm(report);
	d = &report->processes[0].devices[0];
	d->attributes = (struct device_attributes){9, 0, 132, 1980000, 3201000, 6016, 62914560};
	d->peaks = ceilings_derive(&d->attributes);
	d->ceilings = d->peaks;
	strcpy(d->ceilings.date, "2026-12-01T01:14:56Z");
	d->ceilings.of[CEILING_DRAM_READ] =
		(struct ceiling_value){CEILING_CALIBRATED, {true, 4.494e12, 4.486e12, 4.501e12}};
	d->ceilings.of[CEILING_TENSOR_BF16] =
		(struct ceiling_value){CEILING_CALIBRATED, {true, 7.7e14, 7.6e14, 7.8e14}};
	set_gemm_work(&d->kernels[0]);
	add_gelu(d);
	add_kernel(d, "softmax_warp_forward", 0.001, 800, 1500);
	for (size_t i = 0; i < d->kernel_count; i++)
		d->kernels[i].class = kernel_kind_of(d->kernels[i].name)->class;
	roofline_fill(d);
	classes_fill(d);
}

void report_fixture_hooks(struct report *report)
{
	struct process_report *p;

	report_init(report);
	add_process(report, "./app");
	p = &report->processes[0];
	free(p->mode);
	free(p->cupti);
	p->mode = strdup("hooks");
	p->cupti = strdup("off: libcupti.so not found");
	p->complete = false;
	p->incomplete_reason =
		strdup("it has no trailer (the program was killed), 3.1 s are there");
	p->traced_ns = UINT64_C(3100000000);
	p->coverage = (struct coverage){
		.launches_hooked = 45321, .launches_seen = 45321, .trace_bytes = 98304, .lost = 12};
	p->coverage.dropped = calloc(1, sizeof(*p->coverage.dropped));
	p->coverage.dropped_count = 1;
	p->coverage.dropped[0] = (struct loss_report){"ring_full", 12};
	report->verdict.leaf = LEAF_UNKNOWN;
}

void report_fixture_ranks(struct report *report)
{
	report_fixture_mlp(report);
	fill_gemm(report, "python gemm.py");
	for (unsigned i = 0; i < 2; i++) {
		free(report->processes[i].rank);
		report->processes[i].rank = strdup(i ? "1" : "0");
	}
	free(report->verdict.sentence);
	report->verdict =
		(struct verdict){REGIME_MIXED, LEAF_COMPUTE, 0.5, 0.6,
				 strdup("rank 0 is overhead-bound, rank 1 compute-bound")};
}

void report_fixture_hostile(struct report *report)
{
	char *longest = malloc(100001);
	struct kernel_report *k;

	report_fixture_gemm(report);
	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	free(report->processes[0].command);
	report->processes[0].command =
		strdup("python -c '\033]0;owned\007\033[2J\n\xff\xfe' \xe2\x80\xae"
		       "evil \xc2\x9b"
		       "31m");
	k = &report->processes[0].devices[0].kernels[0];
	free(k->name);
	free(k->short_name);
	k->name = longest;
	k->short_name = strdup("ke\033[31mrnel\r\n\xed\xa0\x80\xf0\x9f\x94\xa5\tx");
}
