/* Samples are read chunk by chunk, up to the begin of the operation at hand: the recorder wrote them in the order of time. */
#include "counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More than this between two samples of a device: another burst. */
#define BURST_GAP_NS 1000000u

/* Fewer samples of an idle device say nothing about others on it. */
#define IDLE_SAMPLES_LEAST 20u

#define BOUND_PCT 60.0 /* as decide.c */

/* The SM clock is looked at while SMs are this active: an idle GPU's says nothing of kernels. */
#define CLOCK_ACTIVE_PCT 50.0
#define Z90 1.645

#define SAMPLE_SLOTS (BST_SAMPLE_V11 - BST_SAMPLE_V0 + 1)

/* The metrics that are solved for, by the names of the trace. */
enum metric {
	SM_ACTIVE,
	DRAM_READ,
	DRAM_WRITE,
	TENSOR,
	FMA,
	ALU,
	FP64,
	XU,
	L2,
	L1,
	METRICS
};

static const char *const metric_name[METRICS] = {
	[SM_ACTIVE] = "sm_active",
	[DRAM_READ] = "dram_read",
	[DRAM_WRITE] = "dram_write",
	[TENSOR] = "tensor",
	[FMA] = "fma",
	[ALU] = "alu",
	[FP64] = "fp64",
	[XU] = "xu",
	[L2] = "l2",
	[L1] = "l1",
};

/* Where a set keeps a metric; slot < 0 = it does not have it. */
struct slot {
	int slot;
	double scale;
};

/* Of the SM clock, in Hz, over samples in which SMs were active; each counts as much as they were. */
struct clock_sums {
	double weight, sum, square_sum, least, most;
};

struct device_counters {
	struct attribute *attribute;
	struct slot slot[METRICS];
	struct slot sm_clock;
	struct clock_sums clock;
	uint64_t last_end_ns; /* of the last sample */
};

struct counters {
	struct trace *trace;
	const struct clock *clock;
	struct library *library; /* may be NULL */
	struct clock_cursor cursor;
	size_t chunk;         /* the next one to look at */
	struct bst_rows rows; /* of the open chunk */
	uint32_t row;
	uint32_t copies_from; /* signatures from here on stand for copy kinds */
	struct device_counters *device[COUNTERS_DEVICES];
};

/* Where a set keeps what; the recorder gives set number index + 1 to a device. */
static void find_slots(struct device_counters *d, const struct vocabulary *v, unsigned index)
{
	d->sm_clock.slot = -1;
	for (size_t i = 0; i < v->metric_count; i++) {
		struct slot slot = {(int)v->metric[i].slot, v->metric[i].scale};

		if (v->metric[i].set != index + 1 || v->metric[i].slot >= SAMPLE_SLOTS ||
		    slot.scale <= 0)
			continue;
		for (unsigned m = 0; m < METRICS; m++)
			if (strcmp(v->metric[i].name, metric_name[m]) == 0)
				d->slot[m] = slot;
		if (strcmp(v->metric[i].name, "sm_clock") == 0)
			d->sm_clock = slot;
	}
}

static struct device_counters *make_device(const struct counters *c, unsigned index)
{
	struct attribute_options options = {
		.metrics = METRICS,
		.has_active = true,
		.active = SM_ACTIVE,
		.model_share = ATTRIBUTE_MODEL_SHARE,
		.model_points = ATTRIBUTE_MODEL_POINTS,
	};
	const struct vocabulary *v = &c->trace->vocabulary;
	struct device_counters *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	for (unsigned m = 0; m < METRICS; m++) {
		options.metric[m] = (struct attribute_metric){
			.kind = ATTRIBUTE_PERCENT,
			.most = 100,
			.maximum = m == L1 || m == L2,
		};
		d->slot[m].slot = -1;
	}
	find_slots(d, v, index);
	d->attribute = attribute_create(&options);
	if (d->attribute)
		return d;
	free(d);
	return NULL;
}

/* Samples over lost records say nothing of the kernels whose records are there. */
static int add_holes(struct counters *c, const struct blind *blind)
{
	for (unsigned i = 0; i < COUNTERS_DEVICES; i++)
		for (size_t k = 0; c->device[i] && k < blind->count; k++) {
			const struct blind_stretch *s = &blind->stretch[k];

			if (!s->thread &&
			    attribute_add_hole(c->device[i]->attribute, s->begin_ns, s->end_ns))
				return -1;
		}
	return 0;
}

bool counters_in(const struct trace *trace)
{
	for (size_t i = 0; i < trace->chunk_count; i++)
		if (trace->chunk[i].table == BST_TABLE_SAMPLE)
			return true;
	return false;
}

struct counters *counters_create(struct trace *trace, const struct clock *clock,
				 const struct blind *blind, struct library *library)
{
	struct counters *c = counters_in(trace) ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->trace = trace;
	c->clock = clock;
	c->library = library;
	c->copies_from = (uint32_t)trace->vocabulary.signature_count + 1;
	bst_rows_init(&c->rows);
	for (size_t i = 0; i < trace->vocabulary.metric_count; i++) {
		uint32_t index = trace->vocabulary.metric[i].set - 1;

		if (index < COUNTERS_DEVICES && !c->device[index])
			c->device[index] = make_device(c, index);
	}
	if (!add_holes(c, blind))
		return c;
	counters_destroy(c);
	return NULL;
}

void counters_destroy(struct counters *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < COUNTERS_DEVICES; i++) {
		if (!c->device[i])
			continue;
		attribute_destroy(c->device[i]->attribute);
		free(c->device[i]);
	}
	bst_rows_fini(&c->rows);
	free(c);
}

/* Opens the next chunk of samples; false at the end. */
static bool open_chunk(struct counters *c)
{
	for (; c->chunk < c->trace->chunk_count; c->chunk++) {
		struct trace_chunk *chunk = &c->trace->chunk[c->chunk];
		enum bst_status status;

		if (chunk->table != BST_TABLE_SAMPLE || chunk->bad)
			continue;
		status = bst_rows_decode(&c->rows, chunk->payload, chunk->payload_bytes,
					 BST_ALL_COLUMNS);
		if (status) {
			trace_reject(c->trace, chunk, status);
			continue;
		}
		c->row = 0;
		if (c->rows.number[BST_SAMPLE_BEGIN] && c->rows.number[BST_SAMPLE_DURATION]) {
			c->chunk++;
			return true;
		}
	}
	c->rows.count = 0;
	return false;
}

static double value_in(const struct counters *c, const struct slot *slot)
{
	return (double)bst_value(&c->rows, BST_SAMPLE_V0 + (unsigned)slot->slot, c->row, 0) /
	       slot->scale;
}

static void take_clock(const struct counters *c, struct device_counters *d)
{
	struct clock_sums *s = &d->clock;
	double active, hz;

	if (d->sm_clock.slot < 0 || d->slot[SM_ACTIVE].slot < 0)
		return;
	active = value_in(c, &d->slot[SM_ACTIVE]);
	hz = value_in(c, &d->sm_clock);
	if (!(active >= CLOCK_ACTIVE_PCT) || !(hz > 0))
		return;
	s->least = s->weight > 0 ? fmin(s->least, hz) : hz;
	s->most = fmax(s->most, hz);
	s->weight += active;
	s->sum += active * hz;
	s->square_sum += active * hz * hz;
}

static int take_sample(struct counters *c, uint64_t begin_ns)
{
	uint64_t index = bst_value(&c->rows, BST_SAMPLE_DEVICE, c->row, COUNTERS_DEVICES);
	uint64_t length = c->rows.number[BST_SAMPLE_DURATION][c->row];
	struct attribute_sample sample = {.begin_ns = begin_ns, .end_ns = begin_ns + length};
	struct device_counters *d = index < COUNTERS_DEVICES ? c->device[index] : NULL;

	if (!d || sample.end_ns < begin_ns)
		return 0;
	for (unsigned m = 0; m < METRICS; m++) {
		if (d->slot[m].slot < 0)
			continue;
		sample.present |= 1u << m;
		sample.value[m] = value_in(c, &d->slot[m]);
	}
	take_clock(c, d);
	if (d->last_end_ns && begin_ns > d->last_end_ns + BURST_GAP_NS)
		attribute_begin_burst(d->attribute);
	d->last_end_ns = sample.end_ns;
	return attribute_add_sample(d->attribute, &sample);
}

/* Hands over the samples that begin before `until_ns`. */
static int advance(struct counters *c, uint64_t until_ns)
{
	for (;; c->row++) {
		uint64_t begin_ns;

		if (c->row >= c->rows.count && !open_chunk(c))
			return 0;
		begin_ns =
			clock_host(c->clock, c->rows.number[BST_SAMPLE_BEGIN][c->row], &c->cursor);
		if (begin_ns >= until_ns)
			return 0;
		if (take_sample(c, begin_ns))
			return -1;
	}
}

static uint32_t shape_of(struct counters *c, const struct op *op)
{
	if (!c->library || op->is_copy)
		return 0;
	return op->graph ? library_shape_of_node(c->library, op->node)
			 : library_shape_of_launch(c->library, op->correlation);
}

int counters_add(struct counters *c, const struct op *op)
{
	struct device_counters *d = op->device < COUNTERS_DEVICES ? c->device[op->device] : NULL;
	struct attribute_kernel kernel = {
		.signature = op->is_copy ? c->copies_from + op->copy_kind : op->signature,
		.shape = d ? shape_of(c, op) : 0,
		.stream = op->stream,
		.begin_ns = op->begin_ns,
		.end_ns = op->end_ns,
	};

	if (advance(c, op->begin_ns))
		return -1;
	return d ? attribute_add_kernel(d->attribute, &kernel) : 0;
}

int counters_solve(struct counters *c)
{
	if (advance(c, UINT64_MAX))
		return -1;
	for (unsigned i = 0; i < COUNTERS_DEVICES; i++)
		if (c->device[i] && attribute_solve(c->device[i]->attribute))
			return -1;
	return 0;
}

static const struct device_counters *device_of(const struct counters *c, unsigned device)
{
	return c && device < COUNTERS_DEVICES ? c->device[device] : NULL;
}

static struct measure measure_of(const struct attribute_estimate *e)
{
	if (e->status != ATTRIBUTE_IDENTIFIED && e->status != ATTRIBUTE_MERGED)
		return (struct measure){0};
	return (struct measure){true, e->value, e->low, e->high};
}

/* From the estimates of all metrics. False if nothing is known. */
static bool take_estimates(const struct device_counters *d,
			   const struct attribute_estimate *const of[METRICS],
			   struct kernel_counters *found)
{
	found->tensor = measure_of(of[TENSOR]);
	found->fma = measure_of(of[FMA]);
	found->alu = measure_of(of[ALU]);
	found->fp64 = measure_of(of[FP64]);
	found->xu = measure_of(of[XU]);
	found->dram_read = measure_of(of[DRAM_READ]);
	found->dram_write = measure_of(of[DRAM_WRITE]);
	found->l2 = measure_of(of[L2]);
	found->l1 = measure_of(of[L1]);
	for (unsigned m = TENSOR; m <= XU; m++)
		found->pipe_unknown |= d->slot[m].slot >= 0 && !measure_of(of[m]).known;
	found->samples = of[DRAM_READ]->samples_full;
	return found->tensor.known || found->dram_read.known;
}

bool counters_find(const struct counters *c, unsigned device, uint32_t signature,
		   struct kernel_counters *found)
{
	const struct device_counters *d = device_of(c, device);
	const struct attribute_estimate *of[METRICS];

	memset(found, 0, sizeof(*found));
	for (unsigned m = 0; d && m < METRICS; m++)
		of[m] = attribute_find(d->attribute, signature, m);
	return d && take_estimates(d, of, found);
}

bool counters_find_shape(const struct counters *c, unsigned device, uint32_t signature,
			 uint32_t shape, struct kernel_counters *found)
{
	const struct device_counters *d = device_of(c, device);
	const struct attribute_estimate *of[METRICS];

	memset(found, 0, sizeof(*found));
	for (unsigned m = 0; d && m < METRICS; m++)
		of[m] = attribute_find_shape(d->attribute, signature, shape, m);
	return d && take_estimates(d, of, found);
}

struct attribute_totals counters_totals_shape(const struct counters *c, unsigned device,
					      uint32_t signature, uint32_t shape)
{
	const struct device_counters *d = device_of(c, device);

	return d ? attribute_totals_shape(d->attribute, signature, shape)
		 : (struct attribute_totals){0, 0};
}

unsigned counters_shapes(const struct counters *c, unsigned device, uint32_t signature,
			 uint32_t shape[ATTRIBUTE_SHAPES + 1])
{
	const struct device_counters *d = device_of(c, device);

	return d ? attribute_shapes(d->attribute, signature, shape) : 0;
}

struct measure counters_dram(const struct kernel_counters *found)
{
	struct measure sum = found->dram_read;

	if (!sum.known || !found->dram_write.known)
		return (struct measure){0};
	sum.value += found->dram_write.value;
	/* the two errors are taken as independent */
	sum.low = sum.value - hypot(found->dram_read.value - found->dram_read.low,
				    found->dram_write.value - found->dram_write.low);
	sum.high = sum.value + hypot(found->dram_read.high - found->dram_read.value,
				     found->dram_write.high - found->dram_write.value);
	sum.low = fmax(sum.low, 0);
	return sum;
}

void counters_decide_input(const struct kernel_counters *found, struct decide_input *input)
{
	const struct measure *pipe[] = {&found->tensor, &found->fma, &found->alu, &found->fp64,
					&found->xu};
	struct measure busiest = {0}, dram;

	for (size_t i = 0; i < sizeof(pipe) / sizeof(pipe[0]); i++)
		if (pipe[i]->known && (!busiest.known || pipe[i]->value > busiest.value))
			busiest = *pipe[i];
	/* with a pipe unknown the busiest known one is only the least that arithmetic can be */
	if (found->pipe_unknown && busiest.value < BOUND_PCT)
		busiest = (struct measure){0};
	dram = counters_dram(found);
	if (!busiest.known || !dram.known)
		return;
	input->unit_pct[UNIT_COMPUTE] = busiest;
	input->unit_pct[UNIT_DRAM] = dram;
	input->unit_pct[UNIT_L2] = found->l2;
	input->unit_pct[UNIT_L1] = found->l1;
	input->evidence = EVIDENCE_COUNTERS;
}

struct measure counters_sm_clock(const struct counters *c, unsigned device)
{
	const struct device_counters *d = device_of(c, device);
	double mean, deviation;

	if (!d || d->clock.weight <= 0)
		return (struct measure){0};
	mean = d->clock.sum / d->clock.weight;
	deviation = sqrt(fmax(d->clock.square_sum / d->clock.weight - mean * mean, 0));
	return (struct measure){true, mean, fmax(mean - Z90 * deviation, d->clock.least),
				fmin(mean + Z90 * deviation, d->clock.most)};
}

double counters_foreign_pct(const struct counters *c, unsigned device)
{
	const struct device_counters *d = device_of(c, device);
	struct attribute_summary summary;

	if (!d)
		return 0;
	summary = attribute_summary(d->attribute);
	return summary.idle_samples >= IDLE_SAMPLES_LEAST ? summary.idle_active : 0;
}
