/* Kernels of the samples, joined to their launches. */
#include "layers_read.h"

#include <stdlib.h>

#include "array.h"
#include "timeline.h"

#define SLACK_NS UINT64_C(50000) /* by which clocks of host and device may differ */
#define DEPTH 1100               /* launches that may be queued: 1,024 on an H200 */
#define THREADS 64

/* A launch, and how long its thread has done other things than to launch until then. */
struct outside {
	uint32_t correlation, thread;
	uint64_t ns;
	struct layer_operand operand;
};

struct reader {
	const struct layer_input *in;
	struct layer_series *series;
	struct outside *launch;
	size_t launch_count, launch_capacity;
	size_t kernels, copies; /* of the sample */
	size_t row;
};

static int by_correlation(const void *a, const void *b)
{
	uint32_t x = ((const struct outside *)a)->correlation;
	uint32_t y = ((const struct outside *)b)->correlation;

	return (x > y) - (x < y);
}

struct thread_time {
	uint64_t end_ns, outside_ns;
};

static struct layer_operand operand_of(const struct reader *r, const struct call *call)
{
	struct layer_operand operand = {0};
	uint32_t in;

	if (!r->in->library)
		return operand;
	in = library_at(r->in->library, call->thread, call->begin_ns);
	library_operands_of_call(r->in->library, in, &operand.a, &operand.b);
	return operand;
}

static bool issues(const struct call *call)
{
	return call->klass == BST_ENUM_CLASS_LAUNCH || call->klass == BST_ENUM_CLASS_SET;
}

/* A wait is as good a pause as any. A launch is none: it may wait for room in the queue. */
static int take_call(struct reader *r, const struct call *call, struct thread_time *thread)
{
	if (!issues(call))
		return 0;
	if (thread->end_ns && call->begin_ns > thread->end_ns)
		thread->outside_ns += call->begin_ns - thread->end_ns;
	if (call->end_ns > thread->end_ns)
		thread->end_ns = call->end_ns;
	if (call->klass != BST_ENUM_CLASS_LAUNCH || !call->correlation)
		return 0;
	if (array_reserve((void **)&r->launch, &r->launch_capacity, r->launch_count + 1,
			  sizeof(*r->launch)))
		return -1;
	r->launch[r->launch_count++] = (struct outside){call->correlation, call->thread,
							thread->outside_ns, operand_of(r, call)};
	return 0;
}

/* A kernel's call comes before it by no more launches than a queue holds. */
static int read_calls(struct reader *r, const struct layer_sample *sample)
{
	uint64_t length = sample->end_ns - sample->begin_ns;
	uint64_t kernels = (uint64_t)sample->count * r->series->kernels;
	uint64_t lead = SLACK_NS + length / (kernels ? kernels : 1) * DEPTH;
	uint64_t from = sample->begin_ns > lead ? sample->begin_ns - lead : 0;
	struct thread_time thread[THREADS] = {{0}};
	struct timeline t;
	const struct call *call;
	int status = timeline_init_between(&t, r->in->trace, r->in->clock, TIMELINE_CALLS, from,
					   sample->end_ns + SLACK_NS);

	r->launch_count = 0;
	if (status)
		return -1;
	while (!status && (call = timeline_call(&t)) && call->begin_ns <= sample->end_ns + SLACK_NS)
		if (call->begin_ns >= from)
			status = call->thread < THREADS ? take_call(r, call, &thread[call->thread])
							: -1;
	timeline_fini(&t);
	if (r->launch_count)
		qsort(r->launch, r->launch_count, sizeof(*r->launch), by_correlation);
	return status;
}

static const struct outside *launch_of(const struct reader *r, const struct op *op)
{
	struct outside key = {.correlation = op->correlation};

	return r->launch_count
		       ? bsearch(&key, r->launch, r->launch_count, sizeof(key), by_correlation)
		       : NULL;
}

static uint32_t clipped(uint64_t ns)
{
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* The kernels of a sample. The first of a run is not known to be behind another one. */
static int read_kernels(struct reader *r, const struct layer_sample *sample)
{
	size_t want = sample->count * r->series->kernels;
	const struct outside *before = NULL, *launch;
	uint64_t before_ns = sample->begin_ns;
	struct layer_series *s = r->series;
	struct timeline t;
	const struct op *op;
	int status = timeline_init_between(&t, r->in->trace, r->in->clock, TIMELINE_OPS,
					   sample->begin_ns, sample->end_ns);

	r->kernels = r->copies = 0;
	if (status)
		return -1;
	while (!status && r->kernels < want && (op = timeline_op(&t))) {
		if (op->device != r->in->device || op->begin_ns < sample->begin_ns)
			continue;
		if (op->is_copy) {
			r->copies += op->copy_kind == BST_ENUM_COPY_KIND_HOST_TO_DEVICE ||
				     op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST;
			continue;
		}
		launch = launch_of(r, op);
		if (!launch ||
		    (before && (launch->thread != before->thread || launch->ns < before->ns))) {
			status = -1;
			break;
		}
		s->host_ns[r->row] = before ? clipped(launch->ns - before->ns) : 0;
		s->operand[r->row] = launch->operand;
		s->apart_ns[r->row] = clipped(op->begin_ns - before_ns);
		s->run_ns[r->row++] = clipped(op->end_ns - op->begin_ns);
		before = launch;
		before_ns = op->begin_ns;
		r->kernels++;
	}
	timeline_fini(&t);
	return status || r->kernels < want || r->copies >= sample->count / 2 ? -1 : 0;
}

int layer_series_read(const struct layer_input *input, struct layer_series *series)
{
	struct reader r = {.in = input, .series = series};
	size_t rows = 1;
	int status = 0;

	for (unsigned i = 0; i < series->sample_count; i++)
		rows += series->sample[i].count * series->kernels;
	series->host_ns = calloc(rows, sizeof(*series->host_ns));
	series->run_ns = calloc(rows, sizeof(*series->run_ns));
	series->apart_ns = calloc(rows, sizeof(*series->apart_ns));
	series->operand = calloc(rows, sizeof(*series->operand));
	if (!series->host_ns || !series->run_ns || !series->apart_ns || !series->operand)
		return -1;
	for (unsigned i = 0; !status && i < series->sample_count; i++)
		status = read_calls(&r, &series->sample[i]) || read_kernels(&r, &series->sample[i])
				 ? -1
				 : 0;
	free(r.launch);
	return status;
}

void layer_series_fini(struct layer_series *series)
{
	free(series->host_ns);
	free(series->run_ns);
	free(series->apart_ns);
	free(series->operand);
	*series = (struct layer_series){0};
}
