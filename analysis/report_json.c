/* Builds the JSON tree with jansson. */
#include "report_json.h"

#include <jansson.h>
#include <stdlib.h>

#include "json_value.h"
#include "label.h"
#include "outliers.h"
#include "printable.h"
#include "projection.h"
#include "whatif.h"

static json_t *leaves_of(const uint64_t leaf_ns[LEAF_COUNT])
{
	json_t *leaves = json_object();

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		json_object_set_new(leaves, leaf_name((enum leaf)i), json_count(leaf_ns[i]));
	return leaves;
}

static json_t *pillars_of(const uint64_t leaf_ns[LEAF_COUNT])
{
	static const enum regime order[] = {REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD,
					    REGIME_OTHER};
	json_t *pillars = json_object();

	for (unsigned p = 0; p < 4; p++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < LEAF_COUNT; i++)
			if (leaf_pillar((enum leaf)i) == order[p])
				sum += leaf_ns[i];
		json_object_set_new(pillars, regime_name(order[p]), json_count(sum));
	}
	return pillars;
}

static json_t *host_of(const struct host_parts *host)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "running", json_count(host->running_ns), "blocked",
			 json_count(host->blocked_ns), "preempted", json_count(host->preempted_ns),
			 "unmeasured", json_count(host->unmeasured_ns));
}

/* NULL where the window is not known. */
static json_t *window_of(const struct window *window)
{
	if (!window->known)
		return json_null();
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "begin",
		json_count(window->begin_ns), "window_ns", json_count(window->window_ns), "busy_ns",
		json_count(window->busy_ns), "kernel_ns", json_count(window->kernel_ns), "leaves",
		leaves_of(window->leaf_ns), "host", host_of(&window->host), "tracing_device_ns",
		json_count(window->tracing_device_ns), "launch_queue_gap_ns",
		json_count(window->launch_queue_gap_ns), "pillars", pillars_of(window->leaf_ns));
}

static json_t *step_of(const struct steps *steps)
{
	if (!steps->known)
		return json_null();
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "period_ns",
		json_count(steps->period_ns), "untraced_ns", json_count(steps->untraced_ns),
		"count", json_count(steps->count), "detected_by", json_text(steps->detected_by),
		"low_ns", json_count(steps->low_ns), "high_ns", json_count(steps->high_ns),
		"kernels", json_count(steps->kernels), "layers",
		steps->layers ? json_count(steps->layers) : json_null(), "warmup_count",
		json_count(steps->warmup_count), "outlier_count", json_count(steps->outlier_count));
}

static json_t *causes_of(const struct steps *steps)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < steps->cause_count; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:s, s:o}", "what", json_text(steps->cause[i].what),
					"how", steps->cause[i].idle ? "idle before" : "busy",
					"more_ns", json_number(steps->cause[i].more_ns)));
	return list;
}

static json_t *outliers_json(const struct device_report *device)
{
	struct outliers o = outliers_of(device);
	json_t *more;

	if (!o.known)
		return json_null();
	more = json_object();
	for (unsigned i = 0; i < LEAF_COUNT; i++)
		json_object_set_new(more, leaf_name((enum leaf)i), json_number(o.more_ns[i]));
	return json_pack("{s:o, s:o, s:o, s:o}", "count", json_count(device->steps.outlier_count),
			 "mean_ns", json_number(o.mean_ns), "more_ns", more, "causes",
			 causes_of(&device->steps));
}

static json_t *steady_of(const struct device_report *device)
{
	json_t *steady = window_of(&device->steady);

	if (json_is_object(steady))
		json_object_set_new(steady, "step", step_of(&device->steps));
	if (json_is_object(steady))
		json_object_set_new(steady, "outliers", outliers_json(device));
	return steady;
}

static json_t *source_of(enum evidence source)
{
	return source == EVIDENCE_NONE ? json_null() : json_string(label_evidence(source));
}

static json_t *shape_of(const struct shape_report *shape)
{
	json_t *json = json_pack(
		"{s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:s, s:o}", "shape", json_text(shape->words),
		"launches", json_count(shape->launches), "total_ns", json_count(shape->total_ns),
		"mean_ns", json_number(shape->mean_ns), "regime", regime_name(shape->regime),
		"leaf", leaf_name(shape->leaf), "confidence", json_number(shape->confidence),
		"evidence", label_evidence(shape->evidence), "samples",
		json_number(shape->samples));

	json_object_set_new(json, "tensor_pct", json_measure(&shape->tensor_pct));
	json_object_set_new(json, "fma_pct", json_measure(&shape->fma_pct));
	json_object_set_new(json, "dram_pct", json_measure(&shape->dram_pct));
	json_object_set_new(json, "l2_pct", json_measure(&shape->l2_pct));
	json_object_set_new(json, "l1_pct", json_measure(&shape->l1_pct));
	return json;
}

static json_t *shapes_of(const struct kernel_report *kernel)
{
	json_t *list = json_array();

	for (size_t i = 0; i < kernel->shape_count; i++)
		json_array_append_new(list, shape_of(&kernel->shapes[i]));
	return list;
}

static json_t *kernel_of(const struct kernel_report *kernel)
{
	const struct roofline *r = &kernel->roofline;
	bool leans = kernel->leans != LEAF_UNKNOWN;
	json_t *json = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		json_text(kernel->name), "short_name", json_text(kernel->short_name), "category",
		json_text(kernel->category), "grid", json_three(kernel->grid), "block",
		json_three(kernel->block), "registers", json_count(kernel->registers),
		"shared_bytes", json_count(kernel->shared_bytes), "launches",
		json_count(kernel->launches), "graph_launches", json_count(kernel->graph_launches),
		"total_ns", json_count(kernel->total_ns), "busy_ns", json_count(kernel->busy_ns),
		"mean_ns", json_number(kernel->mean_ns));
	json_t *label = json_pack(
		"{s:o, s:s, s:s, s:o, s:o, s:s}", "share", json_number(kernel->share), "regime",
		regime_name(kernel->verdict.regime), "leaf", leaf_name(kernel->verdict.leaf),
		"leans", leans ? json_string(leaf_name(kernel->leans)) : json_null(), "confidence",
		json_number(kernel->verdict.confidence), "evidence",
		label_evidence(kernel->evidence));
	const struct {
		const char *key;
		const struct measure *measure;
	} measures[] = {
		{"tensor_pct", &kernel->tensor_pct}, {"fma_pct", &kernel->fma_pct},
		{"dram_pct", &kernel->dram_pct},     {"l2_pct", &kernel->l2_pct},
		{"l1_pct", &kernel->l1_pct},         {"waves", &kernel->waves},
		{"flops", &kernel->flops},           {"bytes", &kernel->bytes},
		{"queue_ns", &kernel->queue_ns},     {"gap_ns", &kernel->gap_ns},
		{"flops_per_s", &r->flops_per_s},    {"bytes_per_s", &r->bytes_per_s},
		{"intensity", &r->intensity},        {"roofline_pct", &r->pct},
	};

	json_object_update(json, label);
	json_decref(label);
	json_object_set_new(json, "samples", json_number(kernel->samples));
	for (unsigned i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		json_object_set_new(json, measures[i].key, json_measure(measures[i].measure));
	json_object_set_new(json, "flops_source", source_of(kernel->flops_source));
	json_object_set_new(json, "bytes_source", source_of(kernel->bytes_source));
	json_object_set_new(json, "roof",
			    r->pct.known ? json_string(ceiling_name(r->roof)) : json_null());
	json_object_set_new(json, "class", json_string(class_name(kernel->class)));
	json_object_set_new(json, "shapes", shapes_of(kernel));
	return json;
}

static json_t *kernel_on(const struct kernel_report *kernel, const struct device_report *device,
			 const struct ceilings *there)
{
	struct projection p = projection_of(kernel, &device->peaks, there);

	if (!p.known)
		return json_null();
	return json_pack("{s:s, s:s, s:o}", "roof_here", ceiling_name(p.here), "roof",
			 ceiling_name(p.there), "time", json_measure(&p.time));
}

static json_t *kernels_of(const struct device_report *device, const struct view *view)
{
	json_t *list = json_array();
	struct ceilings there = {0};

	if (view->on)
		there = ceilings_derive(&view->on->attributes);
	for (size_t i = 0; i < device->kernel_count && (!view->top || i < view->top); i++) {
		json_t *kernel = kernel_of(&device->kernels[i]);

		if (view->on)
			json_object_set_new(kernel, "on",
					    kernel_on(&device->kernels[i], device, &there));
		json_array_append_new(list, kernel);
	}
	return list;
}

/* The prediction for another GPU; its own peaks by name. */
static json_t *device_on(const struct device_report *device, const struct gpu_model *on)
{
	struct ceilings there = ceilings_derive(&on->attributes);
	struct projection_sum sum = projection_sum(device, &there);
	json_t *peaks = json_object();

	for (unsigned i = 0; i < CEILING_COUNT; i++)
		json_object_set_new(peaks, ceiling_name((enum ceiling)i),
				    json_measure(&there.of[i].measure));
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", on->name, "words",
			 on->words, "source", on->source, "peaks", peaks, "covered",
			 json_number(sum.covered), "moved", json_number(sum.moved), "time",
			 json_measure(&sum.time));
}

static json_t *copies_of(const struct device_report *device)
{
	json_t *list = json_array();

	for (size_t i = 0; i < device->copy_count; i++) {
		const struct copy_report *copy = &device->copies[i];
		json_t *rate =
			copy->total_ns
				? json_number((double)copy->bytes * 1e9 / (double)copy->total_ns)
				: json_null();

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "direction",
				  json_text(copy->direction), "source", json_text(copy->source),
				  "target", json_text(copy->target), "count",
				  json_count(copy->count), "bytes", json_count(copy->bytes),
				  "total_ns", json_count(copy->total_ns), "exposed_ns",
				  json_count(copy->exposed_ns), "bytes_per_s", rate));
	}
	return list;
}

static json_t *gap_of(const struct gap_report *gaps)
{
	json_t *worst = json_array();

	for (unsigned i = 0; i < gaps->worst_count; i++)
		json_array_append_new(worst,
				      json_pack("{s:o, s:o, s:o, s:o}", "begin",
						json_count(gaps->worst[i].begin_ns), "duration_ns",
						json_count(gaps->worst[i].duration_ns), "before",
						json_text(gaps->worst[i].before), "tid",
						json_count(gaps->worst[i].tid)));
	return json_pack("{s:o, s:o, s:o}", "count", json_count(gaps->count), "total_ns",
			 json_count(gaps->total_ns), "worst", worst);
}

static json_t *gaps_of(const struct device_report *device)
{
	json_t *gaps = json_object();

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		if (leaf_idle((enum leaf)i))
			json_object_set_new(gaps, leaf_name((enum leaf)i),
					    gap_of(&device->gaps[i]));
	return gaps;
}

static json_t *advice_of(const struct device_report *device)
{
	json_t *list = json_array();

	for (size_t i = 0; i < device->advice_count; i++) {
		const struct advice *advice = &device->advice[i];
		json_t *targets = json_array();

		for (unsigned t = 0; t < advice->target_count; t++)
			if (advice->targets[t] < device->kernel_count)
				json_array_append_new(
					targets,
					json_text(device->kernels[advice->targets[t]].short_name));
		for (unsigned k = 0; k < CHANGE_CALLS && advice->calls[k]; k++)
			json_array_append_new(targets, json_text(advice->calls[k]));
		json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
						      json_text(advice->id), "title",
						      json_text(advice->title), "why",
						      json_text(advice->why), "targets", targets,
						      "saves_ns", json_measure(&advice->saves_ns),
						      "speedup", json_measure(&advice->speedup),
						      "how", json_text(advice->how)));
	}
	return list;
}

static uint64_t sum_of(const uint64_t leaf_ns[LEAF_COUNT])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += leaf_ns[i];
	return sum;
}

static json_t *range_window_of(const struct range_window *window)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", json_count(window->count),
			 "total_ns", json_count(sum_of(window->total_ns)), "self_ns",
			 json_count(sum_of(window->self_ns)), "pillars",
			 pillars_of(window->total_ns), "self_leaves", leaves_of(window->self_ns));
}

static json_t *range_of(const struct range_report *range)
{
	return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o}", "name", json_text(range->name), "domain",
			 json_text(range->domain), "depth", (int)range->depth, "opened",
			 json_count(range->opened), "whole", range_window_of(&range->whole),
			 "steady", range_window_of(&range->steady));
}

static json_t *outside_of(const struct range_report *range)
{
	return json_pack("{s:o, s:o}", "whole", range_window_of(&range->whole), "steady",
			 range_window_of(&range->steady));
}

static json_t *ranges_of(const struct ranges_report *ranges)
{
	json_t *tree;

	if (!ranges->known)
		return json_null();
	tree = json_array();
	for (size_t i = 0; i < ranges->count; i++)
		json_array_append_new(tree, range_of(&ranges->range[i]));
	return json_pack("{s:o, s:o, s:o, s:o}", "tree", tree, "outside",
			 outside_of(&ranges->outside), "threads_without",
			 outside_of(&ranges->stranger), "crowded", json_count(ranges->crowded));
}

static json_t *changes_of(const struct whatif *w)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < CHANGE_COUNT; i++) {
		const struct change_report *change = &w->change[i];

		if (change->known)
			json_array_append_new(list,
					      json_pack("{s:s, s:o, s:o, s:o}", "id",
							change_id((enum change_kind)i), "step_ns",
							json_measure(&change->step), "touched",
							json_count(change->touched), "touched_ns",
							json_number(change->touched_ns)));
	}
	return list;
}

/* What the advice stands on. */
static json_t *whatif_of(const struct whatif *w)
{
	if (!w->known)
		return json_pack("{s:b, s:o}", "known", 0, "reason", json_text(w->reason));
	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "known", 1, "steps",
			 json_count(w->steps), "operations", json_count(w->operations),
			 "recorded_step_ns", json_number(w->recorded_ns), "replayed_step_ns",
			 json_number(w->replayed_ns), "replay_error", json_number(w->error),
			 "untraced_step_ns", json_number(w->base_ns), "together_step_ns",
			 json_measure(&w->together), "changes", changes_of(w));
}

/* Of the hardware: no less than its value. */
static json_t *peak_of(const struct device_report *device, enum ceiling ceiling)
{
	struct measure peak = device->peaks.of[ceiling].measure;

	peak.low = peak.value;
	return json_measure(&peak);
}

static json_t *ceiling_of(const struct ceiling_value *ceiling)
{
	json_t *json = json_measure(&ceiling->measure);

	if (json_is_object(json))
		json_object_set_new(json, "source",
				    json_string(ceiling_source_name(ceiling->source)));
	return json;
}

static json_t *ceilings_of(const struct device_report *device)
{
	const struct ceilings *c = &device->ceilings;
	json_t *json = json_pack("{s:o, s:o, s:o}", "dram_peak_bytes_per_s",
				 peak_of(device, CEILING_DRAM_READ), "tensor_peak_flops",
				 peak_of(device, CEILING_TENSOR_FP16), "fma_peak_flops",
				 peak_of(device, CEILING_FP32));

	json_object_set_new(json, "calibrated", json_text(*c->date ? c->date : NULL));
	for (unsigned i = 0; i < CEILING_COUNT; i++)
		json_object_set_new(json, ceiling_name((enum ceiling)i), ceiling_of(&c->of[i]));
	return json;
}

static json_t *classes_of(const struct device_report *device)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < CLASS_COUNT; i++) {
		const struct class_report *c = &device->classes[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "class",
				  class_name((enum kernel_class)i), "launches",
				  json_count(c->launches), "time_ns", json_count(c->time_ns),
				  "time_share", json_number(c->time_share), "flops",
				  json_measure(&c->flops), "flops_share",
				  json_measure(&c->flops_share), "bytes", json_measure(&c->bytes),
				  "known_share", json_number(c->known_share), "bytes_known_share",
				  json_number(c->bytes_known_share)));
	}
	return list;
}

static json_t *counters_of(const struct counters_report *counters)
{
	if (!counters->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bursts",
			 json_count(counters->bursts), "samples", json_count(counters->samples),
			 "dropped", json_count(counters->dropped), "cpu_ns",
			 json_count(counters->cpu_ns), "interval_ns",
			 json_count(counters->interval_ns), "foreign_pct",
			 json_number(counters->foreign_pct), "reason", json_text(counters->reason));
}

static json_t *device_of(const struct device_report *device, const struct process_report *process,
			 const struct view *view)
{
	char cc[24], driver[24];
	const struct device_attributes *a = &device->attributes;
	struct measure sm_clock_mhz = measure_scaled(device->sm_clock_hz, 1e-6);
	struct measure clock_mhz = {0};
	json_t *json;

	if (a->clock_khz)
		clock_mhz = measure_exact((double)a->clock_khz / 1e3);
	snprintf(cc, sizeof(cc), "%u.%u", (unsigned)a->cc_major, (unsigned)a->cc_minor);
	snprintf(driver, sizeof(driver), "%u.%u", process->driver_version / 1000,
		 process->driver_version % 1000 / 10);
	json = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "index",
			 (int)device->index, "name", json_text(device->name), "uuid",
			 json_text(device->uuid), "cc", json_text(a->cc_major ? cc : NULL),
			 "sm_count", a->sm_count ? json_count(a->sm_count) : json_null(), "driver",
			 json_text(process->driver_version ? driver : NULL), "cupti",
			 json_text(process->cupti), "shared", (int)device->shared, "ceilings",
			 ceilings_of(device), "clock_mhz", json_measure(&clock_mhz));
	json_object_set_new(json, "mps", json_boolean(device->mps));
	json_object_set_new(json, "mig", json_boolean(device->mig));
	json_object_set_new(json, "sm_clock_mhz", json_measure(&sm_clock_mhz));
	json_object_set_new(json, "whole", window_of(&device->whole));
	json_object_set_new(json, "steady", steady_of(device));
	json_object_set_new(json, "verdict", json_verdict(&device->verdict));
	json_object_set_new(json, "kernels", kernels_of(device, view));
	if (view->on)
		json_object_set_new(json, "on", device_on(device, view->on));
	json_object_set_new(json, "classes", classes_of(device));
	json_object_set_new(json, "copies", copies_of(device));
	json_object_set_new(json, "counters", counters_of(&device->counters));
	json_object_set_new(json, "gaps", gaps_of(device));
	json_object_set_new(json, "ranges", ranges_of(&device->ranges));
	json_object_set_new(json, "whatif", whatif_of(&device->whatif));
	json_object_set_new(json, "advice", advice_of(device));
	return json;
}

static json_t *coverage_of(const struct coverage *coverage)
{
	json_t *dropped = json_object();

	for (size_t i = 0; i < coverage->dropped_count; i++) {
		char *cause = printable_copy(coverage->dropped[i].cause, PRINTABLE_JSON, 256);

		json_object_set_new(dropped, cause, json_count(coverage->dropped[i].count));
		free(cause);
	}
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kernels",
		json_count(coverage->kernels), "copies", json_count(coverage->copies),
		"launches_hooked", json_count(coverage->launches_hooked), "launches_seen",
		json_count(coverage->launches_seen), "launches_captured",
		json_count(coverage->launches_captured), "graph_launches",
		json_count(coverage->graph_launches), "kernels_explained",
		json_count(coverage->kernels_explained), "kept_share",
		json_real(coverage->kept_share), "lost", json_count(coverage->lost), "dropped",
		dropped, "trace_bytes", json_count(coverage->trace_bytes), "tracing_ns",
		json_count(coverage->tracing_ns), "hook_ns", json_count(coverage->hook_ns));
}

static json_t *run_of(const struct process_report *process)
{
	bool ranked = process->rank && *process->rank;

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "command",
		json_text(process->command), "host", json_text(process->host), "pid",
		process->pid ? json_count(process->pid) : json_null(), "rank",
		json_text(ranked ? process->rank : NULL), "start", json_text(process->start),
		"trace", json_text(process->path), "complete", (int)process->complete,
		"incomplete_reason", json_text(process->incomplete_reason), "boundshim_version",
		json_text(process->version), "mode", json_text(process->mode), "traced_ns",
		json_count(process->traced_ns), "startup_ns", json_count(process->startup_ns));
}

static json_t *process_of(const struct process_report *process, const struct view *view)
{
	json_t *devices = json_array();

	for (size_t i = 0; i < process->device_count; i++)
		if (view_has_device(view, &process->devices[i]))
			json_array_append_new(devices,
					      device_of(&process->devices[i], process, view));
	return json_pack("{s:o, s:o, s:o}", "run", run_of(process), "coverage",
			 coverage_of(&process->coverage), "devices", devices);
}

static json_t *rank_of(const struct report *report, const struct rank_collectives *rank)
{
	const struct process_report *process = &report->processes[rank->process];

	return json_pack("{s:o, s:o, s:i, s:o, s:o, s:o}", "rank",
			 json_text(process->rank && *process->rank ? process->rank : NULL), "pid",
			 process->pid ? json_count(process->pid) : json_null(), "device",
			 (int)process->devices[rank->device].index, "total_ns",
			 json_count(rank->total_ns), "waiting_ns", json_count(rank->waiting_ns),
			 "transfer_ns", json_count(rank->total_ns - rank->waiting_ns));
}

static json_t *collectives_of(const struct report *report)
{
	const struct collectives_report *c = &report->collectives;
	json_t *ranks = json_array();

	for (size_t r = 0; c->known && r < c->rank_count; r++)
		json_array_append_new(ranks, rank_of(report, &c->rank[r]));
	return json_pack(
		"{s:o, s:o, s:o, s:o}", "count", c->known ? json_count(c->count) : json_null(),
		"reason", json_text(c->reason), "ranks", ranks, "slowest",
		c->known && c->slowest < c->rank_count ? rank_of(report, &c->rank[c->slowest])
						       : json_null());
}

int report_json_print(const struct report *report, const struct view *view, FILE *out)
{
	json_t *processes = json_array(), *root;
	int status;

	for (size_t i = 0; i < report->process_count; i++)
		if (view_has_process(view, &report->processes[i]))
			json_array_append_new(processes, process_of(&report->processes[i], view));
	root = json_pack("{s:s, s:o, s:o, s:o}", "schema", "boundshim.report/1", "verdict",
			 json_verdict(&report->verdict), "processes", processes, "collectives",
			 report->process_count > 1 ? collectives_of(report) : json_null());
	status = json_write(root, out);
	json_decref(root);
	return status;
}
