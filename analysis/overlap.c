/* A queue of samples and a list of the kernels that may reach into them. */
#include "overlap.h"

#include <string.h>

#include "array.h"

void overlap_fini(struct overlap *o)
{
	free(o->kernel);
	free(o->sample);
	free(o->column);
	free(o->share);
	memset(o, 0, sizeof(*o));
}

static int add_share(struct overlap *o, size_t *count, uint16_t column, double share)
{
	for (size_t i = 0; i < *count; i++) {
		if (o->column[i] == column) {
			o->share[i] += (float)share;
			return 0;
		}
	}
	if (array_reserve((void **)&o->column, &o->column_capacity, *count + 1, sizeof(uint16_t)) ||
	    array_reserve((void **)&o->share, &o->share_capacity, *count + 1, sizeof(float)))
		return -1;
	o->column[*count] = column;
	o->share[(*count)++] = (float)share;
	return 0;
}

static uint16_t column_at(const struct overlap *o, uint64_t time_ns)
{
	uint16_t column = OVERLAP_IDLE;

	for (size_t i = 0; i < o->kernels && o->kernel[i].begin_ns <= time_ns; i++) {
		if (o->kernel[i].end_ns <= time_ns)
			continue;
		if (column != OVERLAP_IDLE)
			return OVERLAP_SEVERAL;
		column = o->kernel[i].column;
	}
	return column;
}

static int hand_out(struct overlap *o, const struct overlap_sample *sample)
{
	uint64_t busy_ns = 0, reached = sample->begin_ns;
	double length = (double)(sample->end_ns - sample->begin_ns);
	size_t count = 0;
	struct overlap_row row;

	for (size_t i = 0; i < o->kernels && o->kernel[i].begin_ns < sample->end_ns; i++) {
		const struct overlap_kernel *k = &o->kernel[i];
		uint64_t from = k->begin_ns > sample->begin_ns ? k->begin_ns : sample->begin_ns;
		uint64_t to = k->end_ns < sample->end_ns ? k->end_ns : sample->end_ns;

		if (to <= from)
			continue;
		if (add_share(o, &count, k->column, (double)(to - from) / length))
			return -1;
		if (to > reached) {
			busy_ns += to - (from > reached ? from : reached);
			reached = to;
		}
	}
	row = (struct overlap_row){sample,
				   o->column,
				   o->share,
				   count,
				   (double)busy_ns / length,
				   column_at(o, sample->begin_ns),
				   column_at(o, sample->end_ns - 1)};
	o->handed_ns = sample->end_ns;
	return o->take(o->taker, &row);
}

/* Kernels that ended before `time_ns` go. */
static void forget_kernels(struct overlap *o, uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->kernels; i++)
		if (o->kernel[i].end_ns > time_ns)
			o->kernel[kept++] = o->kernel[i];
	o->kernels = kept;
}

static int hand_out_before(struct overlap *o, uint64_t time_ns)
{
	int status = 0;

	while (!status && o->first < o->samples && o->sample[o->first].end_ns <= time_ns)
		status = hand_out(o, &o->sample[o->first++]);
	if (o->first == o->samples) {
		o->first = o->samples = 0;
	} else if (o->first >= 64 && o->first * 2 >= o->samples) {
		memmove(o->sample, &o->sample[o->first],
			(o->samples - o->first) * sizeof(*o->sample));
		o->samples -= o->first;
		o->first = 0;
	}
	return status;
}

/* Time has come to `now_ns`: what is complete goes. */
static int advance(struct overlap *o, uint64_t now_ns)
{
	uint64_t settled;
	int status;

	if (now_ns > o->latest_ns)
		o->latest_ns = now_ns;
	settled = o->latest_ns > OVERLAP_SLACK_NS ? o->latest_ns - OVERLAP_SLACK_NS : 0;
	status = hand_out_before(o, settled);
	/* Samples to come begin no earlier than this; looking every so often is enough. */
	if (o->kernels >= 64 && !(o->kernels & 31))
		forget_kernels(o, o->first < o->samples && o->sample[o->first].begin_ns < settled
					  ? o->sample[o->first].begin_ns
					  : settled);
	return status;
}

int overlap_add_kernel(struct overlap *o, const struct overlap_kernel *kernel, uint64_t *length_ns)
{
	struct overlap_kernel k = *kernel;
	size_t at = o->kernels;

	for (size_t i = 0; i < o->kernels; i++)
		if (o->kernel[i].stream == k.stream && o->kernel[i].end_ns > k.begin_ns)
			k.begin_ns = o->kernel[i].end_ns;
	*length_ns = k.end_ns > k.begin_ns ? k.end_ns - k.begin_ns : 0;
	if (!*length_ns)
		return advance(o, kernel->begin_ns);
	if (k.begin_ns < o->handed_ns)
		o->late++;
	if (array_reserve((void **)&o->kernel, &o->kernel_capacity, o->kernels + 1,
			  sizeof(*o->kernel)))
		return -1;
	while (at && o->kernel[at - 1].begin_ns > k.begin_ns)
		at--;
	memmove(&o->kernel[at + 1], &o->kernel[at], (o->kernels - at) * sizeof(*o->kernel));
	o->kernel[at] = k;
	o->kernels++;
	return advance(o, kernel->begin_ns);
}

int overlap_add_sample(struct overlap *o, const struct overlap_sample *sample)
{
	if (array_reserve((void **)&o->sample, &o->sample_capacity, o->samples + 1,
			  sizeof(*o->sample)))
		return -1;
	o->sample[o->samples++] = *sample;
	return advance(o, sample->begin_ns);
}

int overlap_finish(struct overlap *o)
{
	return hand_out_before(o, UINT64_MAX);
}
