/* Trace, clock, survey, steps, replay, summary: in this order. */
#include "process.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "layers_read.h"
#include "library_read.h"
#include "replay.h"
#include "stretch_read.h"
#include "summary.h"
#include "verdict.h"
#include "whatif.h"

struct work {
	bool plain; /* PROCESS_PLAIN */
	struct trace trace;
	struct clock clock;
	struct blind blind;
	struct survey survey;
	struct replay replay;
	uint8_t *role; /* of each signature in library calls */
	struct library *library;
	struct account account[SURVEY_DEVICES];
	struct step_list steps[SURVEY_DEVICES];
	struct signature_label *label[SURVEY_DEVICES];
	uint64_t origin_ns; /* first event */
};

static char *meta_copy(const struct vocabulary *v, const char *key)
{
	const char *value = vocabulary_meta(v, key);

	return value ? strdup(value) : NULL;
}

static uint64_t meta_number(const struct vocabulary *v, const char *key)
{
	const char *value = vocabulary_meta(v, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

/* "2026-08-20T12:34:56Z" */
static char *start_words(const struct trace *trace)
{
	uint64_t ns = meta_number(&trace->vocabulary, "process.start_ns");
	char text[64];
	struct tm tm;
	time_t t;

	if (!ns)
		ns = trace->reader.header.created_ns;
	t = (time_t)(ns / UINT64_C(1000000000));
	if (!gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return NULL;
	return strdup(text);
}

static char *cupti_words(const struct vocabulary *v)
{
	const char *state = vocabulary_meta(v, "cupti.state");
	const char *version = vocabulary_meta(v, "cupti.version");
	const char *reason = vocabulary_meta(v, "cupti.reason");
	char *words;

	if (!state && !version)
		return NULL;
	if (asprintf(&words, "%s%s%s%s%s", version ? version : "", version && state ? ", " : "",
		     state ? state : "", reason ? ": " : "", reason ? reason : "") < 0)
		return NULL;
	return words;
}

static void fill_identity(const struct trace *trace, struct process_report *report)
{
	const struct vocabulary *v = &trace->vocabulary;

	report->path = strdup(trace->path);
	report->command = meta_copy(v, "process.command");
	report->host = meta_copy(v, "host.name");
	report->rank = meta_copy(v, "run.rank");
	report->version = meta_copy(v, "boundshim.version");
	report->mode = meta_copy(v, "boundshim.mode");
	report->start = start_words(trace);
	report->cupti = cupti_words(v);
	report->pid = meta_number(v, "process.pid");
	report->driver_version = (unsigned)meta_number(v, "cuda.driver_version");
}

static void add_loss(struct coverage *c, const char *cause, uint64_t count)
{
	if (!count || !c->dropped)
		return;
	c->dropped[c->dropped_count++] = (struct loss_report){cause, count};
}

static void fill_losses(const struct work *w, struct coverage *c)
{
	const struct timeline_counts *ops = &w->survey.counts, *calls = &w->replay.call_counts;
	const struct bst_reader *reader = &w->trace.reader;
	uint64_t crowded = ops->crowded + calls->crowded;

	c->dropped = calloc(BST_CAUSE_COUNT + 3, sizeof(*c->dropped));
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++) {
		const char *name = bst_enum_name("loss", i + 1);

		add_loss(c, name ? name : "other", reader->losses[i]);
		/* Such records are there: only their times are not usable. */
		if (i + 1 != BST_ENUM_LOSS_TIME_INVALID)
			c->lost += reader->losses[i];
	}
	for (unsigned i = 0; i < SURVEY_DEVICES; i++)
		crowded += w->account[i].crowded;
	add_loss(c, "times_unusable", ops->time_invalid + calls->time_invalid);
	add_loss(c, "out_of_order", ops->late + calls->late);
	add_loss(c, "too_crowded", crowded);
}

static double share_kept(uint64_t kept, uint64_t lost)
{
	return lost ? (double)kept / ((double)kept + (double)lost) : 1;
}

/*
 * How much of what happened is in the trace. What the size of the file or the disk ended does not
 * count: it lies behind, or before, the part that is reported. A buffer refused is a record that
 * CUPTI counts as dropped too, or one that holds several: the larger count is taken.
 */
static double kept_share(const struct work *w, const struct coverage *c)
{
	const uint32_t *lost = w->trace.reader.losses;
	uint64_t refused = lost[BST_ENUM_LOSS_POOL_EXHAUSTED - 1];
	uint64_t dropped = lost[BST_ENUM_LOSS_CUPTI_DROPPED - 1];
	uint64_t device = (refused > dropped ? refused : dropped) +
			  lost[BST_ENUM_LOSS_UNKNOWN_RECORD - 1] + w->survey.counts.time_invalid;
	uint64_t calls =
		(uint64_t)lost[BST_ENUM_LOSS_RING_FULL - 1] + lost[BST_ENUM_LOSS_THREAD_LIMIT - 1];

	return fmin(share_kept(c->kernels + c->copies, device),
		    share_kept(c->launches_seen + c->launches_captured + c->graph_launches, calls));
}

/* With too little kept no label of the time can be trusted, whatever the rest says. */
static void withhold(struct process_report *report)
{
	for (size_t i = 0; i < report->device_count; i++)
		verdict_withhold(&report->devices[i].verdict, report->coverage.kept_share);
}

static void fill_coverage(const struct work *w, struct process_report *report)
{
	const struct replay *r = &w->replay;
	const struct cost_row *cost = w->trace.vocabulary.cost;
	struct coverage *c = &report->coverage;

	c->kernels = w->survey.counts.kernels;
	c->copies = w->survey.counts.copies;
	c->launches_hooked = r->launches_hooked;
	c->launches_seen = r->launches_seen;
	c->launches_captured = r->launches_captured;
	c->graph_launches = r->graph_launches;
	c->kernels_explained = r->kernels_explained;
	c->trace_bytes = w->trace.size;
	c->hook_ns =
		cost[BST_ENUM_COST_KIND_HOOK].total_ns + cost[BST_ENUM_COST_KIND_CALLBACK].total_ns;
	for (size_t i = 0; i < report->device_count; i++)
		c->tracing_ns += report->devices[i].whole.leaf_ns[LEAF_TRACING];
	fill_losses(w, c);
	c->kept_share = kept_share(w, c);
	withhold(report);
}

/* Library calls are extra evidence: without memory for them the analysis goes on. */
static void read_library(struct work *w)
{
	const struct vocabulary *v = &w->trace.vocabulary;

	w->role = calloc(v->signature_count + 1, sizeof(*w->role));
	if (!w->role)
		return;
	for (size_t i = 0; i < v->signature_count; i++)
		w->role[i] = (uint8_t)library_role_of(v->signature[i].name);
	w->library = library_create(w->role, v->signature_count);
	if (w->library && counters_in(&w->trace))
		library_keep_launches(w->library);
	if (w->library && library_read(w->library, w->trace.data, w->trace.size, v)) {
		library_destroy(w->library);
		w->library = NULL;
	}
}

/* Steps that are the equal layers of a pass become passes. Without memory they stay. */
static void join_layers(struct work *w, unsigned device)
{
	struct step_list *steps = &w->steps[device];
	const struct device_survey *d = w->survey.device[device];
	struct layer_input input = {&w->trace, &w->clock, device, w->library};
	struct layer_series series = {.sample_count = steps->sample_count,
				      .kernels = steps->anchor.step.kernels};
	struct layers layers;

	if (steps->sample_count < LAYER_SAMPLES)
		return;
	memcpy(series.sample, steps->sample, sizeof(series.sample));
	if (layer_series_read(&input, &series) == 0 && layers_find(&series, &layers))
		steps_join(&d->sequence, &w->trace.vocabulary, d->busy_ns, &layers, steps);
	layer_series_fini(&series);
}

static int find_steps(struct work *w)
{
	const struct vocabulary *v = &w->trace.vocabulary;
	struct device_attributes attributes;
	struct ceilings ceilings;
	struct measure clock;
	struct evidence_sources sources = {.library = w->library, .ceilings = &ceilings};

	for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
		struct device_survey *d = w->survey.device[i];
		struct account *a = &w->account[i];

		if (!d)
			continue;
		a->shared = counters_foreign_pct(w->survey.counters, i) > COUNTERS_FOREIGN_PCT;
		sources.counters = a->shared ? NULL : w->survey.counters;
		attributes = device_attributes_of(v, i);
		clock = counters_sm_clock(sources.counters, i);
		ceilings = ceilings_in_force(&attributes, &clock);
		w->label[i] = summary_labels(v, i, d, &sources, &a->label_count);
		if (!w->label[i])
			return -1;
		a->label = w->label[i];
		a->steady = d->phase;
		a->steady_count = d->phase_count;
		a->plain = w->plain;
		if (!w->plain && steps_find(&d->sequence, v, d->busy_ns, &w->steps[i])) {
			join_layers(w, i);
			a->steady = w->steps[i].interval;
			a->steady_count = w->steps[i].interval_count;
			a->outlier = w->steps[i].outlier;
			a->outlier_count = w->steps[i].outlier_intervals;
		}
		/* 80 MB on ten million kernels, not needed any more. */
		sequence_fini(&d->sequence);
		w->replay.account[i] = a;
	}
	return 0;
}

static uint64_t count_calls(const struct trace *trace)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < trace->chunk_count; i++)
		if (trace->chunk[i].table == BST_TABLE_CALL)
			calls += trace->chunk[i].rows;
	return calls;
}

/* From the first to the last of the steps that stand for all. */
static struct replay_span span_of(const struct step_list *steps)
{
	struct replay_span span = {.begin_ns = UINT64_MAX};

	if (steps->mark_count) {
		span.begin_ns = steps->mark_ns[0];
		span.end_ns = steps->mark_ns[steps->mark_count - 1];
	}
	return span;
}

static int run(struct work *w)
{
	const struct vocabulary *v = &w->trace.vocabulary;

	if (clock_init(&w->clock, v->clock, v->clock_count) ||
	    blind_init(&w->blind, &w->trace, &w->clock))
		return -1;
	read_library(w);
	if (survey_init(&w->survey, &w->trace, &w->clock, &w->blind, w->library, !w->plain) ||
	    find_steps(w))
		return -1;
	w->replay.trace = &w->trace;
	w->replay.clock = &w->clock;
	w->replay.blind = &w->blind;
	w->replay.plain = w->plain;
	w->replay.calls = count_calls(&w->trace);
	for (unsigned i = 0; i < SURVEY_DEVICES; i++)
		w->replay.span[i] = span_of(&w->steps[i]);
	if (replay_run(&w->replay, w->survey.first_ns, w->survey.last_ns))
		return -1;
	w->origin_ns = w->survey.first_ns;
	if (w->replay.first_call_ns && (!w->origin_ns || w->replay.first_call_ns < w->origin_ns))
		w->origin_ns = w->replay.first_call_ns;
	return 0;
}

/* Without device records there is one device, about which nothing is known but when its process
 * ran. */
static void fill_blank_device(const struct work *w, struct device_report *report)
{
	const struct vocabulary *v = &w->trace.vocabulary;

	summary_identity(v, v->attribute_count ? v->attribute[0].device : 0, report);
	report->whole.known = w->replay.end_ns > w->origin_ns;
	report->whole.window_ns = w->replay.end_ns - w->origin_ns;
	report->whole.leaf_ns[LEAF_UNKNOWN] = report->whole.window_ns;
	report->verdict = (struct verdict){REGIME_UNKNOWN, LEAF_UNKNOWN, 1, 0, NULL};
	summary_gaps(&w->trace, &w->replay.pauses, w->origin_ns, &report->gaps[LEAF_UNKNOWN]);
	if (asprintf(&report->verdict.sentence,
		     "without device records the trace only tells what the CPU did: %" PRIu64
		     " launches in %.1f s",
		     w->replay.launches_seen + w->replay.graph_launches,
		     (double)report->whole.window_ns / 1e9) < 0)
		report->verdict.sentence = NULL;
}

/* Estimates are extra: without memory for them there are none. */
static void estimate_changes(struct work *w, uint32_t index, struct device_report *device)
{
	const struct step_list *steps = &w->steps[index];
	const struct replay_span *span = &w->replay.span[index];
	const struct stretch_input in = {
		.trace = &w->trace,
		.clock = &w->clock,
		.device = index,
		.mark_ns = steps->mark_ns,
		.mark_count = steps->mark_count,
		.first_call_ns = span->first_call_ns,
		.last_call_ns = span->last_call_ns,
		.cost = w->account[index].rules.cost,
	};
	struct stretch stretch;

	if (w->plain)
		return;
	if (device->shared) {
		device->whatif.reason = "others use the GPU too";
		return;
	}
	if (stretch_read(&in, &stretch, &device->whatif.reason))
		return;
	whatif_fill(&stretch, &w->trace.vocabulary, device);
	stretch_fini(&stretch);
}

/* Handed over; times as those of windows. */
static void fill_collectives(struct work *w, uint32_t index, struct device_report *device)
{
	struct collective_list *list = &w->survey.device[index]->collectives;

	for (size_t i = 0; i < list->count; i++)
		list->run[i].begin_ns -= w->origin_ns;
	device->collectives = *list;
	*list = (struct collective_list){0};
}

static int fill_devices(struct work *w, struct process_report *report)
{
	uint64_t steady_ns = UINT64_MAX;

	report->devices = calloc(SURVEY_DEVICES, sizeof(*report->devices));
	if (!report->devices)
		return -1;
	for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
		struct device_report *device = &report->devices[report->device_count];
		struct summary_input in = {
			.trace = &w->trace,
			.device = i,
			.account = &w->account[i],
			.counters = w->survey.counters,
			.library = w->library,
			.steps = w->steps[i].count ? &w->steps[i] : NULL,
			.origin_ns = w->origin_ns,
		};

		if (!w->survey.device[i])
			continue;
		summary_device(&in, device);
		estimate_changes(w, i, device);
		fill_collectives(w, i, device);
		report->device_count++;
		if (device->steady.known && device->steady.begin_ns < steady_ns)
			steady_ns = device->steady.begin_ns;
	}
	if (!report->device_count)
		fill_blank_device(w, &report->devices[report->device_count++]);
	report->traced_ns = w->replay.end_ns - w->origin_ns;
	report->startup_ns = steady_ns == UINT64_MAX ? 0 : steady_ns;
	return 0;
}

static void finish(struct work *w)
{
	for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
		account_fini(&w->account[i]);
		steps_fini(&w->steps[i]);
		free(w->label[i]);
	}
	library_destroy(w->library);
	free(w->role);
	replay_fini(&w->replay);
	survey_fini(&w->survey);
	blind_fini(&w->blind);
	clock_fini(&w->clock);
	trace_close(&w->trace);
	free(w);
}

enum process_status process_analyze(const char *path, enum process_depth depth,
				    struct process_report *report, char **note)
{
	struct work *w = calloc(1, sizeof(*w));
	enum process_status status = PROCESS_NONE;
	uint64_t begin, end;

	*note = NULL;
	if (!w)
		return PROCESS_NONE;
	w->plain = depth == PROCESS_PLAIN;
	if (trace_open(&w->trace, path, note))
		goto out;
	if (run(w) || fill_devices(w, report)) {
		*note = strdup("out of memory");
		goto out;
	}
	fill_identity(&w->trace, report);
	fill_coverage(w, report);
	begin = w->origin_ns;
	end = w->replay.end_ns;
	report->complete = trace_complete(&w->trace);
	report->incomplete_reason =
		trace_damage(&w->trace, blind_intact(&w->blind, begin, end), end - begin);
	if (report->incomplete_reason)
		*note = strdup(report->incomplete_reason);
	status = trace_damaged(&w->trace) ? PROCESS_DAMAGED
		 : report->complete       ? PROCESS_WHOLE
					  : PROCESS_TORN;
out:
	finish(w);
	return status;
}
