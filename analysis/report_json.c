/* Builds the JSON tree with jansson. */
#include "report_json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "printable.h"

#define TEXT_LIMIT 16384

/* NULL where there is no text. */
static json_t *text_of(const char *text)
{
	char *clean;
	json_t *json;

	if (!text)
		return json_null();
	clean = printable_copy(text, PRINTABLE_JSON, TEXT_LIMIT);
	json = json_string(clean);
	free(clean);
	return json;
}

static json_t *integer(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* JSON has no infinity: a number that is none is null. */
static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *measure_of(const struct measure *measure)
{
	if (!measure->known || !isfinite(measure->value))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "value", number(measure->value), "low",
			 number(measure->low), "high", number(measure->high));
}

static const char *evidence_name(enum evidence evidence)
{
	static const char *const names[] = {
		[EVIDENCE_NONE] = "none",         [EVIDENCE_PRIOR] = "prior",
		[EVIDENCE_GEOMETRY] = "geometry", [EVIDENCE_LIBRARY] = "library",
		[EVIDENCE_COUNTERS] = "counters",
	};

	return names[evidence];
}

static json_t *verdict_of(const struct verdict *verdict)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "regime", regime_name(verdict->regime),
			 "leaf", leaf_name(verdict->leaf), "share", number(verdict->share),
			 "confidence", number(verdict->confidence), "sentence",
			 text_of(verdict->sentence));
}

static json_t *leaves_of(const struct window *window)
{
	json_t *leaves = json_object();

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		json_object_set_new(leaves, leaf_name((enum leaf)i), integer(window->leaf_ns[i]));
	return leaves;
}

static json_t *pillars_of(const struct window *window)
{
	static const enum regime order[] = {REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD,
					    REGIME_OTHER};
	json_t *pillars = json_object();

	for (unsigned p = 0; p < 4; p++) {
		uint64_t sum = 0;

		for (unsigned i = 0; i < LEAF_COUNT; i++)
			if (leaf_pillar((enum leaf)i) == order[p])
				sum += window->leaf_ns[i];
		json_object_set_new(pillars, regime_name(order[p]), integer(sum));
	}
	return pillars;
}

/* NULL where the window is not known. */
static json_t *window_of(const struct window *window)
{
	if (!window->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "begin", integer(window->begin_ns),
			 "window_ns", integer(window->window_ns), "busy_ns",
			 integer(window->busy_ns), "kernel_ns", integer(window->kernel_ns),
			 "leaves", leaves_of(window), "launch_queue_gap_ns",
			 integer(window->launch_queue_gap_ns), "pillars", pillars_of(window));
}

static json_t *step_of(const struct steps *steps)
{
	if (!steps->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "period_ns",
			 integer(steps->period_ns), "count", integer(steps->count), "detected_by",
			 text_of(steps->detected_by), "low_ns", integer(steps->low_ns), "high_ns",
			 integer(steps->high_ns), "kernels", integer(steps->kernels),
			 "warmup_count", integer(steps->warmup_count), "outlier_count",
			 integer(steps->outlier_count));
}

static json_t *steady_of(const struct device_report *device)
{
	json_t *steady = window_of(&device->steady);

	if (json_is_object(steady))
		json_object_set_new(steady, "step", step_of(&device->steps));
	return steady;
}

static json_t *three(const uint32_t size[3])
{
	return json_pack("[o, o, o]", integer(size[0]), integer(size[1]), integer(size[2]));
}

static json_t *source_of(enum evidence source)
{
	return source == EVIDENCE_NONE ? json_null() : json_string(evidence_name(source));
}

static json_t *kernel_of(const struct kernel_report *kernel)
{
	const struct roofline *r = &kernel->roofline;
	bool leans = kernel->leans != LEAF_UNKNOWN;
	json_t *json =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			  text_of(kernel->name), "short_name", text_of(kernel->short_name),
			  "category", text_of(kernel->category), "grid", three(kernel->grid),
			  "block", three(kernel->block), "registers", integer(kernel->registers),
			  "shared_bytes", integer(kernel->shared_bytes), "launches",
			  integer(kernel->launches), "graph_launches",
			  integer(kernel->graph_launches), "total_ns", integer(kernel->total_ns),
			  "busy_ns", integer(kernel->busy_ns), "mean_ns", number(kernel->mean_ns));
	json_t *label = json_pack(
		"{s:o, s:s, s:s, s:o, s:o, s:s}", "share", number(kernel->share), "regime",
		regime_name(kernel->verdict.regime), "leaf", leaf_name(kernel->verdict.leaf),
		"leans", leans ? json_string(leaf_name(kernel->leans)) : json_null(), "confidence",
		number(kernel->verdict.confidence), "evidence", evidence_name(kernel->evidence));
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
	json_object_set_new(json, "samples", number(kernel->samples));
	for (unsigned i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		json_object_set_new(json, measures[i].key, measure_of(measures[i].measure));
	json_object_set_new(json, "flops_source", source_of(kernel->flops_source));
	json_object_set_new(json, "bytes_source", source_of(kernel->bytes_source));
	json_object_set_new(json, "roof",
			    r->pct.known ? json_string(ceiling_name(r->roof)) : json_null());
	json_object_set_new(json, "class", json_string(class_name(kernel->class)));
	return json;
}

static json_t *kernels_of(const struct device_report *device, const struct view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < device->kernel_count && (!view->top || i < view->top); i++)
		json_array_append_new(list, kernel_of(&device->kernels[i]));
	return list;
}

static json_t *copies_of(const struct device_report *device)
{
	json_t *list = json_array();

	for (size_t i = 0; i < device->copy_count; i++) {
		const struct copy_report *copy = &device->copies[i];
		json_t *rate = copy->total_ns
				       ? number((double)copy->bytes * 1e9 / (double)copy->total_ns)
				       : json_null();

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "direction",
					text_of(copy->direction), "source", text_of(copy->source),
					"target", text_of(copy->target), "count",
					integer(copy->count), "bytes", integer(copy->bytes),
					"total_ns", integer(copy->total_ns), "exposed_ns",
					integer(copy->exposed_ns), "bytes_per_s", rate));
	}
	return list;
}

static json_t *gap_of(const struct gap_report *gaps)
{
	json_t *worst = json_array();

	for (unsigned i = 0; i < gaps->worst_count; i++)
		json_array_append_new(worst,
				      json_pack("{s:o, s:o, s:o, s:o}", "begin",
						integer(gaps->worst[i].begin_ns), "duration_ns",
						integer(gaps->worst[i].duration_ns), "before",
						text_of(gaps->worst[i].before), "tid",
						integer(gaps->worst[i].tid)));
	return json_pack("{s:o, s:o, s:o}", "count", integer(gaps->count), "total_ns",
			 integer(gaps->total_ns), "worst", worst);
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
					text_of(device->kernels[advice->targets[t]].short_name));
		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
					text_of(advice->id), "title", text_of(advice->title), "why",
					text_of(advice->why), "targets", targets, "saves_ns",
					measure_of(&advice->saves_ns), "speedup",
					measure_of(&advice->speedup), "how", text_of(advice->how)));
	}
	return list;
}

/* Of the hardware: no less than its value. */
static json_t *peak_of(const struct device_report *device, enum ceiling ceiling)
{
	struct measure peak = device->peaks.of[ceiling].measure;

	peak.low = peak.value;
	return measure_of(&peak);
}

static json_t *ceiling_of(const struct ceiling_value *ceiling)
{
	json_t *json = measure_of(&ceiling->measure);

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

	json_object_set_new(json, "calibrated", text_of(*c->date ? c->date : NULL));
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
			list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "class",
					class_name((enum kernel_class)i), "launches",
					integer(c->launches), "time_ns", integer(c->time_ns),
					"time_share", number(c->time_share), "flops",
					measure_of(&c->flops), "flops_share",
					measure_of(&c->flops_share), "bytes", measure_of(&c->bytes),
					"known_share", number(c->known_share), "bytes_known_share",
					number(c->bytes_known_share)));
	}
	return list;
}

static json_t *counters_of(const struct counters_report *counters)
{
	if (!counters->known)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bursts", integer(counters->bursts),
			 "samples", integer(counters->samples), "dropped",
			 integer(counters->dropped), "cpu_ns", integer(counters->cpu_ns),
			 "interval_ns", integer(counters->interval_ns), "foreign_pct",
			 number(counters->foreign_pct), "reason", text_of(counters->reason));
}

static json_t *device_of(const struct device_report *device, const struct process_report *process,
			 const struct view *view)
{
	char cc[24], driver[24];
	const struct device_attributes *a = &device->attributes;
	struct measure clock_mhz = {0};
	json_t *json;

	if (a->clock_khz)
		clock_mhz = measure_exact((double)a->clock_khz / 1e3);
	snprintf(cc, sizeof(cc), "%u.%u", (unsigned)a->cc_major, (unsigned)a->cc_minor);
	snprintf(driver, sizeof(driver), "%u.%u", process->driver_version / 1000,
		 process->driver_version % 1000 / 10);
	json = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "index",
			 (int)device->index, "name", text_of(device->name), "uuid",
			 text_of(device->uuid), "cc", text_of(a->cc_major ? cc : NULL), "sm_count",
			 a->sm_count ? integer(a->sm_count) : json_null(), "driver",
			 text_of(process->driver_version ? driver : NULL), "cupti",
			 text_of(process->cupti), "shared", (int)device->shared, "ceilings",
			 ceilings_of(device), "clock_mhz", measure_of(&clock_mhz));
	json_object_set_new(json, "whole", window_of(&device->whole));
	json_object_set_new(json, "steady", steady_of(device));
	json_object_set_new(json, "verdict", verdict_of(&device->verdict));
	json_object_set_new(json, "kernels", kernels_of(device, view));
	json_object_set_new(json, "classes", classes_of(device));
	json_object_set_new(json, "copies", copies_of(device));
	json_object_set_new(json, "counters", counters_of(&device->counters));
	json_object_set_new(json, "gaps", gaps_of(device));
	json_object_set_new(json, "advice", advice_of(device));
	return json;
}

static json_t *coverage_of(const struct coverage *coverage)
{
	json_t *dropped = json_object();

	for (size_t i = 0; i < coverage->dropped_count; i++) {
		char *cause = printable_copy(coverage->dropped[i].cause, PRINTABLE_JSON, 256);

		json_object_set_new(dropped, cause, integer(coverage->dropped[i].count));
		free(cause);
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kernels",
			 integer(coverage->kernels), "copies", integer(coverage->copies),
			 "launches_hooked", integer(coverage->launches_hooked), "launches_seen",
			 integer(coverage->launches_seen), "launches_captured",
			 integer(coverage->launches_captured), "graph_launches",
			 integer(coverage->graph_launches), "kernels_explained",
			 integer(coverage->kernels_explained), "lost", integer(coverage->lost),
			 "dropped", dropped, "trace_bytes", integer(coverage->trace_bytes),
			 "tracing_ns", integer(coverage->tracing_ns), "hook_ns",
			 integer(coverage->hook_ns));
}

static json_t *run_of(const struct process_report *process)
{
	bool ranked = process->rank && *process->rank;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "command",
			 text_of(process->command), "host", text_of(process->host), "pid",
			 process->pid ? integer(process->pid) : json_null(), "rank",
			 text_of(ranked ? process->rank : NULL), "start", text_of(process->start),
			 "trace", text_of(process->path), "complete", (int)process->complete,
			 "incomplete_reason", text_of(process->incomplete_reason),
			 "boundshim_version", text_of(process->version), "mode",
			 text_of(process->mode), "traced_ns", integer(process->traced_ns),
			 "startup_ns", integer(process->startup_ns));
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

int report_json_print(const struct report *report, const struct view *view, FILE *out)
{
	json_t *processes = json_array(), *root;
	int status;

	for (size_t i = 0; i < report->process_count; i++)
		if (view_has_process(view, &report->processes[i]))
			json_array_append_new(processes, process_of(&report->processes[i], view));
	root = json_pack("{s:s, s:o, s:o}", "schema", "boundshim.report/1", "verdict",
			 verdict_of(&report->verdict), "processes", processes);
	status = root ? json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : -1;
	if (status == 0 && fputc('\n', out) == EOF)
		status = -1;
	json_decref(root);
	return status;
}
