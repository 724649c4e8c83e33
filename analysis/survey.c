/* One walk over the operations. */
#include "survey.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "kernel_name.h"

static struct device_survey *device_of(struct survey *survey, unsigned index, size_t signatures)
{
	struct device_survey *d = survey->device[index];

	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	sequence_init(&d->sequence);
	d->kernel = calloc(signatures, sizeof(*d->kernel));
	if (!d->kernel) {
		free(d);
		return NULL;
	}
	survey->device[index] = d;
	return d;
}

static int note_phase(struct device_survey *d, const struct op *op)
{
	struct interval *last = d->phase_count ? &d->phase[d->phase_count - 1] : NULL;

	if (last && op->begin_ns <= last->end_ns + PHASE_GAP_NS) {
		if (op->end_ns > last->end_ns)
			last->end_ns = op->end_ns;
		return 0;
	}
	if (array_reserve((void **)&d->phase, &d->phase_capacity, d->phase_count + 1,
			  sizeof(*d->phase)))
		return -1;
	d->phase[d->phase_count++] = (struct interval){op->begin_ns, op->end_ns};
	return 0;
}

static int note_collective(struct device_survey *d, const struct op *op, uint64_t name)
{
	struct collective_run run = {op->begin_ns, op->end_ns - op->begin_ns, name};

	return name ? collectives_add(&d->collectives, &run) : 0;
}

static int note_op(const struct survey *survey, struct device_survey *d, const struct op *op,
		   bool steps)
{
	if (!d->first_ns)
		d->first_ns = op->begin_ns;
	if (op->end_ns > d->last_ns)
		d->last_ns = op->end_ns;
	if (!op->is_copy) {
		if (steps)
			sequence_add(&d->sequence, op);
		d->kernel[op->signature].launches++;
		d->kernel[op->signature].total_ns += op->end_ns - op->begin_ns;
		if (note_collective(d, op, survey->collective[op->signature]))
			return -1;
	}
	return note_phase(d, op);
}

static void close_device(struct survey *survey, struct device_survey *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->phase_count; i++) {
		/* A phase of no length has no time to account for. */
		if (d->phase[i].end_ns <= d->phase[i].begin_ns)
			continue;
		d->phase[kept++] = d->phase[i];
		d->busy_ns += d->phase[i].end_ns - d->phase[i].begin_ns;
	}
	d->phase_count = kept;
	if (!survey->first_ns || d->first_ns < survey->first_ns)
		survey->first_ns = d->first_ns;
	if (d->last_ns > survey->last_ns)
		survey->last_ns = d->last_ns;
}

/* Names are looked at once. */
static uint64_t *find_collectives(const struct vocabulary *v)
{
	uint64_t *name = calloc(v->signature_count ? v->signature_count : 1, sizeof(*name));

	for (size_t i = 0; name && i < v->signature_count; i++)
		if (kernel_kind_of(v->signature[i].name)->collective)
			name[i] = collectives_name(v->signature[i].name);
	return name;
}

int survey_init(struct survey *survey, struct trace *trace, const struct clock *clock,
		const struct blind *blind, struct library *library, bool steps)
{
	size_t signatures = trace->vocabulary.signature_count;
	struct timeline timeline;
	const struct op *op;
	int status = 0;

	memset(survey, 0, sizeof(*survey));
	survey->collective = find_collectives(&trace->vocabulary);
	if (!survey->collective)
		return -1;
	if (timeline_init(&timeline, trace, clock, TIMELINE_OPS)) {
		survey_fini(survey);
		return -1;
	}
	survey->counters = counters_create(trace, clock, blind, library);
	while (!status && (op = timeline_op(&timeline))) {
		struct device_survey *d =
			device_of(survey, op->device, signatures ? signatures : 1);

		status = d ? note_op(survey, d, op, steps) : -1;
		if (!status && survey->counters)
			status = counters_add(survey->counters, op);
	}
	survey->counts = timeline.counts;
	timeline_fini(&timeline);
	if (!status && survey->counters)
		status = counters_solve(survey->counters);
	for (unsigned i = 0; i < SURVEY_DEVICES; i++)
		if (survey->device[i])
			close_device(survey, survey->device[i]);
	if (status)
		survey_fini(survey);
	return status;
}

void survey_fini(struct survey *survey)
{
	counters_destroy(survey->counters);
	survey->counters = NULL;
	free(survey->collective);
	survey->collective = NULL;
	for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
		struct device_survey *d = survey->device[i];

		if (!d)
			continue;
		sequence_fini(&d->sequence);
		collectives_fini(&d->collectives);
		free(d->kernel);
		free(d->phase);
		free(d);
		survey->device[i] = NULL;
	}
}
