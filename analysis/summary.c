/* Names, medians and order for what was counted. */
#include "summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "kernel_name.h"
#include "kernel_shapes.h"
#include "kernel_work.h"
#include "outlier_causes.h"
#include "summary_ranges.h"
#include "verdict.h"

static void label_signature(const struct tensor_sources *tensors,
			    const struct estimate_source *device,
			    const struct evidence_sources *sources, uint32_t signature,
			    uint32_t index, struct signature_label *label)
{
	const struct kernel_survey *seen = &tensors->survey->kernel[signature];
	struct estimate_source source = *device;

	arithmetic_of(sources->library, signature, seen->launches, sources->ceilings,
		      &label->arithmetic);
	source.signature = &tensors->vocabulary->signature[signature];
	source.duration_ns = (double)seen->total_ns / (double)seen->launches;
	source.arithmetic = &label->arithmetic;
	source.sizes = tensor_sizes_of(tensors, signature);
	estimate(&source, &label->input, &label->geometry_bytes);
	if (sources->counters &&
	    counters_find(sources->counters, index, signature, &label->counters))
		counters_decide_input(&label->counters, &label->input);
}

struct signature_label *summary_labels(const struct vocabulary *v, uint32_t device,
				       const struct device_survey *survey,
				       const struct evidence_sources *sources, size_t *count)
{
	struct device_shape shape = device_shape_of(v, device);
	struct device_attributes attributes = device_attributes_of(v, device);
	const struct estimate_source source = {
		.shape = &shape, .attributes = &attributes, .peaks = sources->ceilings};
	struct tensor_sources tensors = tensor_sources_of(v, survey, sources->library);
	struct signature_label *labels;

	*count = v->signature_count ? v->signature_count : 1;
	labels = calloc(*count, sizeof(*labels));
	if (!labels)
		return NULL;
	for (size_t i = 0; i < *count; i++) {
		labels[i].input.prior = LEAF_UNKNOWN;
		labels[i].input.floor_ns = DECIDE_FLOOR_NS;
		if (i < v->signature_count && survey->kernel[i].launches)
			label_signature(&tensors, &source, sources, (uint32_t)i, device,
					&labels[i]);
		labels[i].decision = decide(&labels[i].input);
	}
	return labels;
}

static char *copy_text(const char *text)
{
	return strdup(text && *text ? text : "unknown");
}

static bool has_flag(const struct vocabulary *v, uint32_t device, const char *key)
{
	uint64_t value;

	return vocabulary_number(v, device, key, &value) && value;
}

void summary_identity(const struct vocabulary *v, uint32_t device, struct device_report *report)
{
	report->index = device;
	report->name = copy_text(vocabulary_text(v, device, "name"));
	report->uuid = copy_text(vocabulary_text(v, device, "uuid"));
	report->attributes = device_attributes_of(v, device);
	report->mps = has_flag(v, device, "mps");
	report->mig = has_flag(v, device, "mig");
	report->peaks = ceilings_derive(&report->attributes);
	report->ceilings = report->peaks;
}

static struct measure median_of(const struct quantile *q)
{
	double value = q ? quantile_at(q, 0.5) : 0;

	if (!q || !q->count)
		return (struct measure){0};
	return (struct measure){true, value, value * (1 - QUANTILE_ERROR),
				value * (1 + QUANTILE_ERROR)};
}

static void fill_work(const struct signature *s, const struct signature_label *label,
		      const struct ceilings *peaks, struct kernel_report *k)
{
	const struct kernel_work_input in = {
		.name = s ? s->name : "",
		.class = k->class,
		.duration_ns = k->mean_ns,
		.arithmetic = &label->arithmetic,
		.counters = &label->counters,
		.geometry_bytes = &label->geometry_bytes,
		.peaks = peaks,
	};
	struct kernel_work work = kernel_work_of(&in);

	k->flops = work.flops;
	k->bytes = work.bytes;
	k->flops_source = work.flops_source;
	k->bytes_source = work.bytes_source;
	k->pipe = work.pipe;
}

/* Of the durations; known for two launches or more. */
static struct measure deviation_of(const struct kernel_stat *stat)
{
	double n = (double)stat->launches, mean, variance, deviation;

	if (stat->launches < 2)
		return (struct measure){0};
	mean = (double)stat->total_ns / n;
	variance = (stat->square_ns - n * mean * mean) / (n - 1);
	deviation = variance > 0 ? sqrt(variance) : 0;
	return (struct measure){true, deviation, deviation, deviation};
}

static void fill_kernel(const struct summary_input *in, uint32_t signature, double window_ns,
			const struct ceilings *peaks, struct kernel_report *k)
{
	const struct vocabulary *v = &in->trace->vocabulary;
	const struct kernel_stat *stat = &in->account->kernel[signature];
	const struct signature_label *label = &in->account->label[signature];
	const struct signature *s =
		signature < v->signature_count ? &v->signature[signature] : NULL;

	k->signature = signature;
	k->name = s && *s->name ? kernel_demangle(s->name) : strdup("(unknown kernel)");
	k->short_name =
		k->name && s && *s->name ? kernel_short_name(k->name) : strdup("(unknown kernel)");
	k->category = kernel_kind_of(s ? s->name : "")->name;
	k->class = kernel_kind_of(s ? s->name : "")->class;
	if (s) {
		memcpy(k->grid, s->grid, sizeof(k->grid));
		memcpy(k->block, s->block, sizeof(k->block));
		k->registers = s->registers;
		k->shared_bytes = s->shared_bytes;
	}
	k->launches = stat->launches;
	k->graph_launches = stat->graph_launches;
	k->total_ns = stat->total_ns;
	k->busy_ns = stat->busy_ns;
	k->mean_ns = stat->launches ? (double)stat->total_ns / (double)stat->launches : 0;
	k->deviation_ns = deviation_of(stat);
	k->share = window_ns > 0 ? (double)stat->busy_ns / window_ns : 0;
	k->verdict = (struct verdict){label->decision.regime, label->decision.leaf, k->share,
				      label->decision.confidence, NULL};
	k->leans = label->decision.leans;
	k->evidence = label->decision.evidence;
	k->waves = label->input.waves;
	k->tensor_pct = label->counters.tensor;
	k->fma_pct = label->counters.fma;
	k->dram_pct = counters_dram(&label->counters);
	k->l2_pct = label->counters.l2;
	k->l1_pct = label->counters.l1;
	k->samples = label->counters.samples;
	fill_work(s, label, peaks, k);
	k->queue_ns = median_of(stat->queue);
	k->gap_ns = median_of(stat->gap);
}

static int by_share(const void *a, const void *b)
{
	const struct kernel_report *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns < y->busy_ns ? 1 : -1;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return (x->launches < y->launches) - (x->launches > y->launches);
}

static void fill_shapes(const struct summary_input *in, bool shared, uint32_t signature,
			struct kernel_report *k)
{
	const struct kernel_shapes_input input = {
		.counters = shared ? NULL : in->counters,
		.library = in->library,
		.device = in->device,
		.signature = signature,
		.label = &in->account->label[signature],
	};

	kernel_shapes_fill(&input, k);
}

static void fill_kernels(const struct summary_input *in, double window_ns,
			 struct device_report *report)
{
	struct ceilings peaks = ceilings_in_force(&report->attributes, &report->sm_clock_hz);
	size_t n = 0;

	for (size_t i = 0; i < in->account->label_count; i++)
		n += in->account->kernel[i].launches || in->account->kernel[i].busy_ns;
	if (!n)
		return;
	report->kernels = calloc(n, sizeof(*report->kernels));
	for (size_t i = 0; report->kernels && i < in->account->label_count; i++) {
		const struct kernel_stat *stat = &in->account->kernel[i];

		if (!stat->launches && !stat->busy_ns)
			continue;
		fill_kernel(in, (uint32_t)i, window_ns, &peaks,
			    &report->kernels[report->kernel_count]);
		fill_shapes(in, report->shared, (uint32_t)i,
			    &report->kernels[report->kernel_count++]);
	}
	if (report->kernels)
		qsort(report->kernels, n, sizeof(*report->kernels), by_share);
}

static const char *direction_words(uint32_t kind)
{
	static const char *const words[] = {
		[BST_ENUM_COPY_KIND_UNKNOWN] = "unknown",
		[BST_ENUM_COPY_KIND_HOST_TO_DEVICE] = "host to device",
		[BST_ENUM_COPY_KIND_DEVICE_TO_HOST] = "device to host",
		[BST_ENUM_COPY_KIND_DEVICE_TO_DEVICE] = "device to device",
		[BST_ENUM_COPY_KIND_HOST_TO_HOST] = "host to host",
		[BST_ENUM_COPY_KIND_PEER_TO_PEER] = "peer to peer",
		[BST_ENUM_COPY_KIND_ARRAY] = "array",
		[BST_ENUM_COPY_KIND_SET] = "set",
	};

	return kind < sizeof(words) / sizeof(words[0]) ? words[kind] : "unknown";
}

static const char *memory_words(uint32_t kind)
{
	const char *name = bst_enum_name("memory_kind", kind);

	return name ? name : "unknown";
}

static int by_exposure(const void *a, const void *b)
{
	const struct copy_report *x = a, *y = b;

	if (x->exposed_ns != y->exposed_ns)
		return x->exposed_ns < y->exposed_ns ? 1 : -1;
	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static void fill_copies(const struct account *a, struct device_report *report)
{
	if (!a->copy_count)
		return;
	report->copies = calloc(a->copy_count, sizeof(*report->copies));
	for (unsigned i = 0; report->copies && i < a->copy_count; i++) {
		const struct copy_stat *c = &a->copy[i];

		if (!c->count && !c->exposed_ns)
			continue;
		report->copies[report->copy_count++] =
			(struct copy_report){direction_words(c->kind),
					     memory_words(c->source),
					     memory_words(c->target),
					     c->count,
					     c->bytes,
					     c->total_ns,
					     c->exposed_ns};
	}
	if (report->copies)
		qsort(report->copies, report->copy_count, sizeof(*report->copies), by_exposure);
}

char *summary_gap_words(const struct vocabulary *v, const struct worst_gap *gap)
{
	char *demangled, *words;

	switch (gap->before) {
	case GAP_BEFORE_KERNEL:
		if (gap->what >= v->signature_count || !*v->signature[gap->what].name)
			return strdup("(unknown kernel)");
		demangled = kernel_demangle(v->signature[gap->what].name);
		words = demangled ? kernel_short_name(demangled) : NULL;
		free(demangled);
		return words;
	case GAP_BEFORE_COPY:
		if (gap->what == BST_ENUM_COPY_KIND_SET)
			return strdup("memory set");
		return asprintf(&words, "copy %s", direction_words(gap->what)) < 0 ? NULL : words;
	case GAP_BEFORE_CALL:
		return copy_text(gap->what && gap->what <= v->apis.count
					 ? v->api[gap->what - 1].name
					 : NULL);
	case GAP_AT_END:
		break;
	}
	return strdup("(end of the trace)");
}

void summary_gaps(const struct trace *trace, const struct gap_stat *stat, uint64_t origin_ns,
		  struct gap_report *report)
{
	const struct vocabulary *v = &trace->vocabulary;

	report->count = stat->count;
	report->total_ns = stat->total_ns;
	report->worst_count = stat->worst_count;
	for (unsigned i = 0; i < stat->worst_count; i++) {
		const struct worst_gap *gap = &stat->worst[i];

		report->worst[i] = (struct gap){
			.begin_ns = gap->begin_ns - origin_ns,
			.duration_ns = gap->duration_ns,
			.before = summary_gap_words(v, gap),
			.tid = gap->thread && gap->thread <= v->threads.count
				       ? v->thread[gap->thread - 1].tid
				       : 0,
		};
	}
}

/* Mean confidence in the labels of kernels, by their time. */
static double busy_confidence(const struct device_report *report)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < report->kernel_count; i++) {
		const struct kernel_report *k = &report->kernels[i];

		if (k->verdict.leaf == LEAF_UNKNOWN)
			continue;
		sum += k->verdict.confidence * (double)k->busy_ns;
		weight += (double)k->busy_ns;
	}
	return weight > 0 ? sum / weight : 0;
}

static void fill_steps(const struct summary_input *in, struct steps *steps)
{
	const struct step_list *list = in->steps;
	uint64_t launches = 0;

	if (!list)
		return;
	for (size_t i = 0; i < in->account->label_count; i++)
		launches += in->account->kernel[i].launches;
	*steps = (struct steps){
		.known = true,
		.count = list->count,
		.warmup_count = list->warmup_count,
		.outlier_count = list->outlier_count,
		.period_ns = list->median_ns,
		.low_ns = list->low_ns,
		.high_ns = list->high_ns,
		.kernels = (launches + list->count / 2) / list->count,
		.layers = list->layers,
		.detected_by = list->detected_by,
		.batch_count = list->batch_count,
	};
	memcpy(steps->batch_ns, list->batch_ns, sizeof(steps->batch_ns));
	memcpy(steps->outlier_ns, in->account->outlier_ns, sizeof(steps->outlier_ns));
	outlier_causes_fill(&in->trace->vocabulary, in->account, steps);
}

/* Bursts of set 0 speak of the sampling as a whole. */
static void fill_counters(const struct summary_input *in, struct counters_report *report)
{
	const struct vocabulary *v = &in->trace->vocabulary;

	for (size_t i = 0; i < v->burst_count; i++) {
		const struct burst_row *b = &v->burst[i];

		if (b->device != in->device && b->interval_ns)
			continue;
		report->known = true;
		report->bursts += b->samples > 0;
		report->samples += b->samples;
		report->dropped += b->dropped;
		report->cpu_ns += b->cpu_ns;
		if (b->interval_ns)
			report->interval_ns = b->interval_ns;
		if (*b->reason && !report->reason)
			report->reason = strdup(b->reason);
	}
	if (in->counters)
		report->foreign_pct = counters_foreign_pct(in->counters, in->device);
}

static uint64_t untraced(uint64_t period_ns, const struct window *w)
{
	double share = w->window_ns ? (double)w->leaf_ns[LEAF_TRACING] / (double)w->window_ns : 0;

	return (uint64_t)((double)period_ns * (1 - share) + 0.5);
}

void summary_device(const struct summary_input *in, struct device_report *report)
{
	const struct account *a = in->account;
	const struct window *window;

	summary_identity(&in->trace->vocabulary, in->device, report);
	report->whole = a->whole;
	report->whole.begin_ns = a->begin_ns - in->origin_ns;
	report->steady = a->steady_window;
	if (a->steady_count)
		report->steady.begin_ns = a->steady[0].begin_ns - in->origin_ns;
	window = report->steady.known ? &report->steady : &report->whole;
	fill_counters(in, &report->counters);
	report->shared = report->counters.foreign_pct > COUNTERS_FOREIGN_PCT;
	if (!report->shared)
		report->sm_clock_hz = counters_sm_clock(in->counters, in->device);
	fill_steps(in, &report->steps);
	report->steps.untraced_ns = untraced(report->steps.period_ns, &report->steady);
	fill_kernels(in, (double)window->window_ns, report);
	roofline_fill(report);
	classes_fill(report);
	fill_copies(a, report);
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++)
		summary_gaps(in->trace, &a->gap[leaf], in->origin_ns, &report->gaps[leaf]);
	summary_ranges(&in->trace->vocabulary, a, &report->ranges);
	report->verdict = verdict_of(window, busy_confidence(report), report->steps.known);
}
