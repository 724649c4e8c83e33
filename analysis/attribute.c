/* Taking in kernels and samples: what is unusable goes, clocks are aligned, rows are made. */
#include "attribute_state.h"

#include <math.h>
#include <string.h>

#include "array.h"

/* Room for some 200,000 samples: twice as many would narrow intervals by a third of noise that is
 * small by then. */
#define BUDGET_BYTES ((size_t)24 << 20)

/* The clocks are compared over the first so many samples or kernels. */
#define PRELUDE_SAMPLES 16384
#define PRELUDE_KERNELS 65536

/* A sample so many times longer than the median is none: the counters stood still. */
#define LONG 4.0

/* A lag no better known than this says nothing. */
#define LAG_UNKNOWN_NS 300.0

/* Two samples that overlap by less than this part of one are neighbours whose clock was rounded. */
#define OVERLAP_PART 64

/* Counters are read unit by unit, so a full unit can show a little more than its peak. */
#define MOST_EXCESS 1.03

static int take_row(void *taker, const struct overlap_row *row);

struct attribute *attribute_create(const struct attribute_options *options)
{
	struct attribute *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->options = *options;
	if (sample_rows_init(&a->rows,
			     options->budget_bytes ? options->budget_bytes : BUDGET_BYTES)) {
		free(a);
		return NULL;
	}
	a->overlap.take = take_row;
	a->overlap.taker = a;
	a->burst = true;
	a->aligned = !options->has_active;
	return a;
}

void attribute_destroy(struct attribute *a)
{
	if (!a)
		return;
	dict_fini(&a->signatures);
	overlap_fini(&a->overlap);
	sample_rows_fini(&a->rows);
	free(a->family);
	free(a->record);
	free(a->kernel);
	free(a->sample);
	free(a->hole);
	free(a->estimate);
	free(a->shape_estimate);
	free(a);
}

/* --- rows ----------------------------------------------------------------------------------------
 */

/* Samples come by begin; *at is where the last one left off, 0 for the first. */
static bool in_hole(const struct attribute *a, const struct overlap_sample *sample, size_t *at)
{
	while (*at < a->holes && a->hole[*at].end_ns <= sample->begin_ns)
		++*at;
	for (size_t i = *at; i < a->holes && a->hole[i].begin_ns < sample->end_ns; i++)
		if (a->hole[i].end_ns > sample->begin_ns)
			return true;
	return false;
}

static void add_idle(struct idle_pool *pool, const struct overlap_sample *sample)
{
	pool->samples++;
	for (unsigned m = 0; m < ATTRIBUTE_METRICS; m++) {
		if (!(sample->present >> m & 1))
			continue;
		pool->count[m]++;
		pool->sum[m] += sample->value[m];
		pool->square_sum[m] += sample->value[m] * sample->value[m];
	}
}

static void add_pool(struct idle_pool *pool, const struct idle_pool *other)
{
	pool->samples += other->samples;
	for (unsigned m = 0; m < ATTRIBUTE_METRICS; m++) {
		pool->count[m] += other->count[m];
		pool->sum[m] += other->sum[m];
		pool->square_sum[m] += other->square_sum[m];
	}
}

/* Whether idle samples lie between kernels shows when the next kernel comes. */
static void settle_tail(struct attribute *a)
{
	if (a->ran)
		add_pool(&a->idle, &a->idle_tail);
	else
		a->summary.outside += a->idle_tail.samples;
	memset(&a->idle_tail, 0, sizeof(a->idle_tail));
	a->ran = true;
}

static int add_row(struct attribute *a, const struct overlap_row *row)
{
	uint16_t column[SAMPLE_ENTRIES];
	float share[SAMPLE_ENTRIES];
	size_t count = row->count;
	struct sample_row_in in = {.present = row->sample->present, .value = row->sample->value};

	/* Beyond this many different kernels in one sample, it says nothing about any of them. */
	if (count >= SAMPLE_ENTRIES)
		return 0;
	memcpy(column, row->column, count * sizeof(*column));
	memcpy(share, row->share, count * sizeof(*share));
	if (row->busy < 1) {
		column[count] = IDLE_COLUMN;
		share[count++] = (float)(1 - row->busy);
	}
	in.column = column;
	in.share = share;
	in.entries = (uint32_t)count;
	in.length_ns = (float)(row->sample->end_ns - row->sample->begin_ns);
	/* Equal ones say that a lag changes nothing, or nothing that could be told. */
	in.first_column = in.last_column = IDLE_COLUMN;
	if (row->first_column != OVERLAP_SEVERAL && row->last_column != OVERLAP_SEVERAL) {
		in.first_column = row->first_column;
		in.last_column = row->last_column;
	}
	for (unsigned m = 0; m < ATTRIBUTE_METRICS; m++)
		if (in.present >> m & 1)
			a->most_seen[m] = fmax(a->most_seen[m], row->sample->value[m]);
	return sample_rows_add(&a->rows, &in);
}

static int take_row(void *taker, const struct overlap_row *row)
{
	struct attribute *a = taker;

	if (in_hole(a, row->sample, &a->hole_at)) {
		a->summary.in_holes++;
		return 0;
	}
	a->summary.samples++;
	if (!row->count) {
		add_idle(&a->idle_tail, row->sample);
		return 0;
	}
	settle_tail(a);
	return add_row(a, row);
}

/* --- kernels -------------------------------------------------------------------------------------
 */

const struct attribute_family *attribute_family_of(const struct attribute *a, uint32_t signature)
{
	uint32_t index;

	return dict_find(&a->signatures, (uint64_t)signature + 1, &index) ? &a->family[index]
									  : NULL;
}

struct attribute_record *attribute_record_of(const struct attribute *a,
					     const struct attribute_family *family, uint32_t shape)
{
	uint32_t at = attribute_first(family);

	while (at && a->record[at - 1].shape != shape)
		at = a->record[at - 1].next;
	return at ? &a->record[at - 1] : NULL;
}

static struct attribute_family *make_family(struct attribute *a, uint32_t signature)
{
	uint32_t index;

	if (array_reserve((void **)&a->family, &a->family_capacity, a->families + 1,
			  sizeof(*a->family)) ||
	    !dict_add(&a->signatures, (uint64_t)signature + 1, &index))
		return NULL;
	memset(&a->family[index], 0, sizeof(*a->family));
	a->families = index + 1;
	return &a->family[index];
}

static struct attribute_record *make_record(struct attribute *a, struct attribute_family *family,
					    uint32_t shape)
{
	uint32_t index = (uint32_t)a->records;

	if (a->records >= RECORD_LIMIT || array_reserve((void **)&a->record, &a->record_capacity,
							a->records + 1, sizeof(*a->record)))
		return NULL;
	a->record[index] = (struct attribute_record){.shape = shape};
	if (family->records++)
		a->record[family->last].next = index + 1;
	else
		family->first = index;
	family->last = index;
	family->shapes += shape != 0;
	a->records++;
	return &a->record[index];
}

/* NULL if there is no place for it. */
static struct attribute_record *record_for(struct attribute *a, uint32_t signature, uint32_t shape)
{
	struct attribute_family *family =
		(struct attribute_family *)attribute_family_of(a, signature);
	struct attribute_record *record;

	if (!family)
		family = make_family(a, signature);
	if (!family)
		return NULL;
	record = attribute_record_of(a, family, shape);
	if (!record && shape && family->shapes < ATTRIBUTE_SHAPES)
		record = make_record(a, family, shape);
	if (!record)
		record = attribute_record_of(a, family, 0);
	return record ? record : make_record(a, family, 0);
}

static int pass_kernel(struct attribute *a, const struct attribute_kernel *kernel)
{
	struct attribute_record *record = record_for(a, kernel->signature, kernel->shape);
	uint64_t length_ns;
	struct overlap_kernel k = {.begin_ns = kernel->begin_ns + (uint64_t)a->shift_ns,
				   .end_ns = kernel->end_ns + (uint64_t)a->shift_ns,
				   .stream = kernel->stream,
				   .column = IDLE_COLUMN};
	int status;

	/* It ran, nobody knows as what: the samples there are of no use. */
	if (!record)
		return attribute_add_hole(a, k.begin_ns, k.end_ns);
	k.column =
		(uint16_t)((size_t)(record - a->record) * DURATION_CLASSES +
			   duration_class_add(&record->classes, kernel->end_ns - kernel->begin_ns));
	status = overlap_add_kernel(&a->overlap, &k, &length_ns);
	record->launches++;
	record->total_ns += length_ns;
	return status;
}

/* --- alignment -----------------------------------------------------------------------------------
 */

static bool is_active_sample(const struct attribute *a, const struct overlap_sample *sample)
{
	return sample->present >> a->options.active & 1;
}

static int find_offset(struct attribute *a)
{
	struct align_interval *kernels = calloc(a->kernels + 1, sizeof(*kernels));
	struct align_sample *samples = calloc(a->samples + 1, sizeof(*samples));
	size_t count = 0, at = 0;
	int status = -1;

	if (!kernels || !samples)
		goto out;
	for (size_t i = 0; i < a->kernels; i++)
		kernels[i] = (struct align_interval){a->kernel[i].begin_ns, a->kernel[i].end_ns};
	for (size_t i = 0; i < a->samples; i++) {
		const struct overlap_sample *s = &a->sample[i];

		if (is_active_sample(a, s) && !in_hole(a, s, &at))
			samples[count++] = (struct align_sample){{s->begin_ns, s->end_ns},
								 s->value[a->options.active]};
	}
	status = align_find(kernels, a->kernels, samples, count, &a->summary.align);
out:
	free(kernels);
	free(samples);
	return status;
}

/* Hands all that waits on to `to`, samples and kernels by begin. */
static int replay(const struct attribute *a, struct attribute *to)
{
	size_t k = 0, s = 0;
	int status = 0;

	while (!status && (k < a->kernels || s < a->samples)) {
		if (s == a->samples ||
		    (k < a->kernels && a->kernel[k].begin_ns < a->sample[s].begin_ns))
			status = pass_kernel(to, &a->kernel[k++]);
		else
			status = overlap_add_sample(&to->overlap, &a->sample[s++]);
	}
	return status;
}

/* The lag that metrics have in common, each weighted by how well it is known: from a trial with
 * what waits. */
static int step_shift(struct attribute *a)
{
	struct attribute *trial = attribute_create(&a->options);
	double sum = 0, weight = 0;
	int status = -1;

	if (!trial)
		return -1;
	trial->aligned = true;
	trial->shift_ns = a->shift_ns;
	for (size_t i = 0; i < a->holes; i++)
		if (attribute_add_hole(trial, a->hole[i].begin_ns, a->hole[i].end_ns))
			goto out;
	if (replay(a, trial) || attribute_solve(trial))
		goto out;
	for (unsigned m = 0; m < a->options.metrics; m++) {
		double deviation = trial->lag_deviation_ns[m];

		if (!(deviation < LAG_UNKNOWN_NS))
			continue;
		sum += (trial->summary.lag_ns[m] - (double)a->shift_ns) / (deviation * deviation);
		weight += 1 / (deviation * deviation);
	}
	if (weight > 0)
		a->shift_ns += (int64_t)(sum / weight);
	status = 0;
out:
	attribute_destroy(trial);
	return status;
}

/*
 * What waited for the offset goes its way. The offset is right to some microseconds; the lag that
 * is left is found by solving, twice, since unmix.c follows a lag in first order only: a kernel of
 * 3 us that is looked for 1 us too late would lose a tenth.
 */
static int end_prelude(struct attribute *a)
{
	int status = find_offset(a);

	a->shift_ns = a->summary.align.offset_ns;
	for (unsigned i = 0; !status && i < 2 && a->summary.align.state == ALIGN_FOUND; i++)
		status = step_shift(a);
	a->aligned = true;
	status = status ? status : replay(a, a);
	free(a->kernel);
	free(a->sample);
	a->kernel = NULL;
	a->sample = NULL;
	a->kernels = a->samples = a->kernel_capacity = a->sample_capacity = 0;
	return status;
}

/* Samples that no kernel is near to say nothing about the offset: they go ahead of the others. */
static void skip_idle(struct attribute *a)
{
	size_t k = 0, kept = 0, at = 0;

	for (size_t i = 0; i < a->samples; i++) {
		const struct overlap_sample *s = &a->sample[i];

		while (k < a->kernels && a->kernel[k].end_ns + OVERLAP_SLACK_NS < s->begin_ns)
			k++;
		if (k < a->kernels && a->kernel[k].begin_ns < s->end_ns + OVERLAP_SLACK_NS) {
			a->sample[kept++] = *s;
			continue;
		}
		/* The last ones: a kernel near them may still come. */
		if (s->end_ns + OVERLAP_SLACK_NS >= a->sample[a->samples - 1].begin_ns) {
			a->sample[kept++] = *s;
			continue;
		}
		a->summary.samples++;
		if (in_hole(a, s, &at))
			a->summary.in_holes++;
		else if (k) /* else it is before the first kernel */
			add_idle(&a->idle, s);
		else
			a->summary.outside++;
	}
	a->samples = kept;
}

static int check_prelude(struct attribute *a)
{
	if (a->samples >= PRELUDE_SAMPLES) {
		skip_idle(a);
		if (a->samples >= PRELUDE_SAMPLES / 2)
			return end_prelude(a);
	}
	return a->kernels >= PRELUDE_KERNELS ? end_prelude(a) : 0;
}

/* --- what the caller adds ------------------------------------------------------------------------
 */

int attribute_add_kernel(struct attribute *a, const struct attribute_kernel *kernel)
{
	if (kernel->end_ns < kernel->begin_ns)
		return 0;
	a->summary.kernels++;
	if (a->aligned)
		return pass_kernel(a, kernel);
	if (array_reserve((void **)&a->kernel, &a->kernel_capacity, a->kernels + 1,
			  sizeof(*a->kernel)))
		return -1;
	a->kernel[a->kernels++] = *kernel;
	return check_prelude(a);
}

void attribute_begin_burst(struct attribute *a)
{
	a->burst = true;
}

int attribute_add_hole(struct attribute *a, uint64_t begin_ns, uint64_t end_ns)
{
	if (end_ns <= begin_ns)
		return 0;
	if (a->holes && a->hole[a->holes - 1].end_ns >= begin_ns &&
	    a->hole[a->holes - 1].begin_ns <= begin_ns) {
		if (end_ns > a->hole[a->holes - 1].end_ns)
			a->hole[a->holes - 1].end_ns = end_ns;
		return 0;
	}
	if (array_reserve((void **)&a->hole, &a->hole_capacity, a->holes + 1, sizeof(*a->hole)))
		return -1;
	a->hole[a->holes++] = (struct align_interval){begin_ns, end_ns};
	return 0;
}

/* Does the sample have times that can be? The first of a burst spans from configuration to start,
 * so it goes too. */
static bool has_good_times(struct attribute *a, const struct attribute_sample *sample)
{
	uint64_t length = sample->end_ns - sample->begin_ns;

	if (a->burst) {
		a->burst = false;
		a->summary.first_of_burst++;
		return false;
	}
	if (sample->end_ns <= sample->begin_ns ||
	    sample->begin_ns + length / OVERLAP_PART < a->sample_end_ns ||
	    (a->lengths.count > 16 && (double)length > LONG * quantile_at(&a->lengths, 0.5))) {
		a->summary.bad_times++;
		return false;
	}
	quantile_add(&a->lengths, length);
	a->sample_end_ns = sample->end_ns;
	return true;
}

static void take_values(struct attribute *a, const struct attribute_sample *sample,
			struct overlap_sample *out)
{
	for (unsigned m = 0; m < a->options.metrics; m++) {
		const struct attribute_metric *metric = &a->options.metric[m];
		double value = sample->value[m];

		if (!(sample->present >> m & 1))
			continue;
		if (metric->kind == ATTRIBUTE_AMOUNT)
			value /= (double)(sample->end_ns - sample->begin_ns);
		if (!isfinite(value) || value < 0 ||
		    (metric->most > 0 && value > metric->most * MOST_EXCESS)) {
			a->summary.bad_values++;
			continue;
		}
		out->value[m] = value;
		out->present |= UINT32_C(1) << m;
	}
}

int attribute_add_sample(struct attribute *a, const struct attribute_sample *sample)
{
	struct overlap_sample s = {.begin_ns = sample->begin_ns, .end_ns = sample->end_ns};

	if (!has_good_times(a, sample))
		return 0;
	take_values(a, sample, &s);
	if (a->aligned)
		return overlap_add_sample(&a->overlap, &s);
	if (array_reserve((void **)&a->sample, &a->sample_capacity, a->samples + 1,
			  sizeof(*a->sample)))
		return -1;
	a->sample[a->samples++] = s;
	return check_prelude(a);
}

/* --- the end -------------------------------------------------------------------------------------
 */

int attribute_gather(struct attribute *a)
{
	if ((!a->aligned && end_prelude(a)) || overlap_finish(&a->overlap))
		return -1;
	a->summary.outside += a->idle_tail.samples;
	a->summary.late_kernels = a->overlap.late;
	a->summary.thinned = a->rows.level;
	a->summary.idle_samples = a->idle.samples;
	if (a->options.has_active && a->idle.count[a->options.active] > 0)
		a->summary.idle_active =
			a->idle.sum[a->options.active] / a->idle.count[a->options.active];
	return 0;
}

static const struct attribute_estimate *no_estimate(void)
{
	static const struct attribute_estimate none;

	return &none;
}

const struct attribute_estimate *attribute_find(const struct attribute *a, uint32_t signature,
						unsigned metric)
{
	const struct attribute_family *family = attribute_family_of(a, signature);

	if (!a->estimate || metric >= a->options.metrics || !family)
		return no_estimate();
	return &a->estimate[(size_t)(family - a->family) * ATTRIBUTE_METRICS + metric];
}

const struct attribute_estimate *attribute_find_shape(const struct attribute *a, uint32_t signature,
						      uint32_t shape, unsigned metric)
{
	const struct attribute_family *family = attribute_family_of(a, signature);
	const struct attribute_record *record =
		family ? attribute_record_of(a, family, shape) : NULL;

	if (!a->shape_estimate || metric >= a->options.metrics || !record)
		return no_estimate();
	if (family->records == 1)
		return attribute_find(a, signature, metric);
	return &a->shape_estimate[(size_t)(record - a->record) * ATTRIBUTE_METRICS + metric];
}

unsigned attribute_shapes(const struct attribute *a, uint32_t signature,
			  uint32_t shape[ATTRIBUTE_SHAPES + 1])
{
	const struct attribute_family *family = attribute_family_of(a, signature);
	unsigned count = 0;

	for (uint32_t at = attribute_first(family); at; at = a->record[at - 1].next)
		shape[count++] = a->record[at - 1].shape;
	return count;
}

struct attribute_totals attribute_totals(const struct attribute *a, uint32_t signature)
{
	const struct attribute_family *family = attribute_family_of(a, signature);
	struct attribute_totals totals = {0, 0};

	for (uint32_t at = attribute_first(family); at; at = a->record[at - 1].next) {
		totals.launches += a->record[at - 1].launches;
		totals.total_ns += a->record[at - 1].total_ns;
	}
	return totals;
}

struct attribute_totals attribute_totals_shape(const struct attribute *a, uint32_t signature,
					       uint32_t shape)
{
	const struct attribute_family *family = attribute_family_of(a, signature);
	const struct attribute_record *record =
		family ? attribute_record_of(a, family, shape) : NULL;

	if (!record)
		return (struct attribute_totals){0, 0};
	return (struct attribute_totals){record->launches, record->total_ns};
}

struct attribute_summary attribute_summary(const struct attribute *a)
{
	return a->summary;
}
