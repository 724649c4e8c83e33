/* Pauses and durations, folded at each number of layers. */
#include "layers.h"

#include "layer_operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PASSES_LEAST 16
#define NEIGHBOURS 17    /* pieces that a pause is compared with */
#define RATIO_MOST 1.0f  /* of logarithms: one long pause does not speak for its phase */
#define PAUSE_LEAST 0.1  /* more than before any other piece, as a logarithm; H200: 0.18 to 1 */
#define PAUSE_PASSES 0.8 /* that have the pause, and other pieces that have none */
#define FIT_ROUNDS 20
#define PAUSE_SHORT 0.5 /* of a piece: the device has nothing to recover from */
/*
 * Agreement of the halves of each sample about durations: of the products of what differs, over the
 * square root of how many there are, and as a correlation; and the part of the scatter that the
 * phases explain. H200, models of 8 and 12 equal layers: 53 to 347, 0.84 to 0.98, 0.11 to 0.40. 17
 * loops without layers, folded at any number from 6 to 64: where the first is over 10, the second is
 * 0.54 at most.
 */
#define STRENGTH_LEAST 20.0
#define ALIKE_LEAST 0.7
#define SHARE_LEAST 0.05
#define SCATTER_LEAST 1e-8 /* square of what a clock's tick is to a duration, at least */

/* What may still be settling after the pause: the piece behind it and the next one. */
#define SETTLING 2

/* A measure at one kernel of each piece, as the logarithm of its ratio to what is usual then. */
struct track {
	const struct layer_series *series;
	float *raw, *value;
	size_t count;
};

static void track_fill(struct track *t, const uint32_t *row, unsigned kernel)
{
	for (size_t i = 0; i < t->count; i++)
		t->raw[i] = logf(1.0f + (float)row[i * t->series->kernels + kernel]);
}

static float clipped(float ratio)
{
	return fmaxf(-RATIO_MOST, fminf(RATIO_MOST, ratio));
}

/* Values in order. */
struct window {
	float value[LAYERS_MOST + 1];
	size_t count;
};

static size_t window_find(const struct window *w, float value)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->value[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void window_add(struct window *w, float value)
{
	size_t at = window_find(w, value);

	memmove(&w->value[at + 1], &w->value[at], (w->count - at) * sizeof(value));
	w->value[at] = value;
	w->count++;
}

static void window_drop(struct window *w, float value)
{
	size_t at = window_find(w, value);

	w->count--;
	memmove(&w->value[at], &w->value[at + 1], (w->count - at) * sizeof(value));
}

/* Clocks and the machine's speed change in the course of a run: values are compared with the median
 * of so many around them. If they are a pass, nothing of the layers' own pattern is in it. */
static void compare_to(struct track *t, size_t width)
{
	const struct layer_series *s = t->series;
	size_t base = 0;

	for (unsigned i = 0; i < s->sample_count; base += s->sample[i++].count) {
		const float *raw = &t->raw[base];
		size_t count = s->sample[i].count, low = 0;
		struct window w = {.count = 0};

		while (w.count < width && w.count < count)
			window_add(&w, raw[w.count]);
		for (size_t at = 0; at < count; at++) {
			if (at > low + width / 2 && low + width < count) {
				window_drop(&w, raw[low]);
				window_add(&w, raw[low + width]);
				low++;
			}
			t->value[base + at] = clipped(raw[at] - w.value[w.count / 2]);
		}
	}
}

/* Means by phase. */
struct fold {
	unsigned layers;
	double sum[LAYERS_MOST], square;
	size_t count[LAYERS_MOST];
};

/* Adds the pieces [from, to) of a sample. */
static void fold_part(const struct track *t, unsigned number, size_t from, size_t to,
		      struct fold *f)
{
	const struct layer_sample *sample = &t->series->sample[number];
	unsigned phase = (unsigned)((sample->first + from) % f->layers);
	const float *value = t->value;

	for (unsigned i = 0; i < number; i++)
		value += t->series->sample[i].count;
	for (size_t at = from; at < to; at++) {
		f->sum[phase] += value[at];
		f->square += value[at] * value[at];
		f->count[phase]++;
		phase = phase + 1 == f->layers ? 0 : phase + 1;
	}
}

static double mean_of(const struct fold *f, unsigned phase)
{
	return f->count[phase] ? f->sum[phase] / (double)f->count[phase] : 0;
}

/* A phase before which the host pauses. */
struct pause {
	unsigned layers, phase, kernel;
	double more; /* than before any other piece */
	double between;
	bool settles; /* the device may have something to recover from behind it */
};

static struct pause pause_of(const struct fold *f, unsigned kernel)
{
	struct pause p = {.layers = f->layers, .kernel = kernel};
	double second = -INFINITY;

	for (unsigned i = 1; i < f->layers; i++)
		if (mean_of(f, i) > mean_of(f, p.phase))
			p.phase = i;
	for (unsigned i = 0; i < f->layers; i++)
		if (i != p.phase)
			second = fmax(second, mean_of(f, i));
	p.more = mean_of(f, p.phase) - second;
	p.between = (mean_of(f, p.phase) + second) / 2;
	return p;
}

/* Is it there in nearly every pass, and in the others nearly never? */
static bool steady(const struct track *t, const struct pause *p)
{
	size_t at = 0, passes = 0, others = 0, pauses = 0, quiet = 0;

	for (unsigned i = 0; i < t->series->sample_count; i++) {
		const struct layer_sample *sample = &t->series->sample[i];

		for (size_t k = 0; k < sample->count; k++, at++) {
			bool begins = (sample->first + k) % p->layers == p->phase;
			bool high = t->value[at] > p->between;

			*(begins ? &passes : &others) += 1;
			pauses += begins && high;
			quiet += !begins && !high;
		}
	}
	return (double)pauses >= PAUSE_PASSES * (double)passes &&
	       (double)quiet >= PAUSE_PASSES * (double)others;
}

static void find_pause_at(const struct track *t, unsigned kernel, unsigned layers,
			  struct pause *best)
{
	struct fold f = {.layers = layers};
	struct pause p;

	for (unsigned i = 0; i < t->series->sample_count; i++)
		fold_part(t, i, 0, t->series->sample[i].count, &f);
	p = pause_of(&f, kernel);
	if (p.more >= PAUSE_LEAST && p.more > best->more && steady(t, &p))
		*best = p;
}

static void find_pause(const struct track *t, unsigned kernel, struct pause *best)
{
	for (unsigned layers = LAYERS_LEAST;
	     layers <= LAYERS_MOST && layers * PASSES_LEAST <= t->count; layers++)
		find_pause_at(t, kernel, layers, best);
}

/* How durations differ from phase to phase, in their standard errors. */
struct profile {
	unsigned count;
	double value[LAYERS_MOST];
	double each; /* values that a mean is of */
};

static void profile_of(const struct fold *f, const struct pause *pause, struct profile *p)
{
	double n = 0, between = 0, within, scale;

	p->count = f->layers - SETTLING;
	for (unsigned i = 0; i < f->layers; i++) {
		n += (double)f->count[i];
		between += f->sum[i] * mean_of(f, i);
	}
	within = n > f->layers ? (f->square - between) / (n - f->layers) : 0;
	scale = sqrt(n / f->layers / fmax(within, SCATTER_LEAST));
	for (unsigned i = 0; i < p->count; i++)
		p->value[i] = mean_of(f, (pause->phase + SETTLING + i) % f->layers) * scale;
	p->each = n / f->layers;
}

/* Means of the values so far, pooled until none is below the one before; `sign` -1: above. */
static void pool(const double *in, unsigned count, double sign, double *out)
{
	double sum[LAYERS_MOST];
	unsigned size[LAYERS_MOST], blocks = 0, at = 0;

	for (unsigned i = 0; i < count; i++) {
		sum[blocks] = sign * in[i];
		size[blocks++] = 1;
		for (; blocks > 1 &&
		       sum[blocks - 1] * size[blocks - 2] < sum[blocks - 2] * size[blocks - 1];
		     blocks--) {
			sum[blocks - 2] += sum[blocks - 1];
			size[blocks - 2] += size[blocks - 1];
		}
	}
	for (unsigned i = 0; i < blocks; i++)
		for (unsigned k = 0; k < size[i]; k++)
			out[at++] = sign * sum[i] / size[i];
}

static double distance(const double *a, const double *b, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum;
}

/* Clocks and caches that settle after a long pause change durations in one direction. */
static void trend_of(const double *value, unsigned count, double *trend)
{
	double falling[LAYERS_MOST];

	pool(value, count, 1, trend);
	pool(value, count, -1, falling);
	if (distance(value, falling, count) < distance(value, trend, count))
		memcpy(trend, falling, count * sizeof(*trend));
}

/* Memory that two steps take in turns makes every other piece differ. */
static void turns_of(const double *value, unsigned count, double *turns)
{
	for (unsigned turn = 0; turn < 2; turn++) {
		double sum = 0, n = 0;

		for (unsigned i = turn; i < count; i += 2, n++)
			sum += value[i];
		for (unsigned i = turn; i < count; i += 2)
			turns[i] = sum / n;
	}
}

/* Takes out of both profiles what may come from turns and, if the device `settles`, from that. The
 * two are fitted in turn until neither changes much. */
static void take_out(struct profile *a, struct profile *b, bool settles)
{
	double both[LAYERS_MOST] = {0}, rest[LAYERS_MOST], trend[LAYERS_MOST] = {0};
	double turns[LAYERS_MOST] = {0};

	for (unsigned i = 0; i < a->count; i++)
		both[i] = (a->value[i] + b->value[i]) / 2;
	for (unsigned round = 0; round < FIT_ROUNDS; round++) {
		for (unsigned i = 0; i < a->count; i++)
			rest[i] = both[i] - turns[i];
		if (settles)
			trend_of(rest, a->count, trend);
		for (unsigned i = 0; i < a->count; i++)
			rest[i] = both[i] - trend[i];
		turns_of(rest, a->count, turns);
	}
	for (unsigned i = 0; i < a->count; i++) {
		a->value[i] -= trend[i] + turns[i];
		b->value[i] -= trend[i] + turns[i];
	}
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Median time from the kernel before, with or without the pause in between; 0 without memory. */
static uint32_t usual_apart(const struct track *t, const struct pause *p, bool with)
{
	const struct layer_series *s = t->series;
	uint32_t *apart = malloc((t->count + 1) * sizeof(*apart)), usual;
	size_t n = 0, at = 0;

	if (!apart)
		return 0;
	for (unsigned i = 0; i < s->sample_count; i++)
		for (size_t k = 0; k < s->sample[i].count; k++, at++)
			if (((s->sample[i].first + k) % p->layers == p->phase) == with)
				apart[n++] = s->apart_ns[at * s->kernels + p->kernel];
	qsort(apart, n, sizeof(*apart), by_value);
	usual = n ? apart[n / 2] : 0;
	free(apart);
	return usual;
}

/* Does the device pause for so long, too, that it has something to recover from? */
static bool device_pauses(const struct track *t, const struct pause *p)
{
	const struct layer_sample *sample = &t->series->sample[0];
	double piece = (double)(sample->end_ns - sample->begin_ns) / (double)sample->count;

	return (double)usual_apart(t, p, true) - (double)usual_apart(t, p, false) >
	       PAUSE_SHORT * piece;
}

/* How the profiles of both halves of the samples agree, over all kernels. */
struct agreement {
	double cross, first, second, count, share;
};

/* Of the scatter, what the phases explain. */
static double share_of(const struct profile *p)
{
	double explained = 0;

	for (unsigned i = 0; i < p->count; i++)
		explained += p->value[i] * p->value[i] / p->count / fmax(p->each, 1);
	explained = fmax(explained - 1 / fmax(p->each, 1), 0); /* what there is by chance */
	return explained / (1 + explained);
}

static void compare(struct agreement *sum, const struct profile *a, const struct profile *b)
{
	for (unsigned i = 0; i < a->count; i++) {
		sum->cross += a->value[i] * b->value[i];
		sum->first += a->value[i] * a->value[i];
		sum->second += b->value[i] * b->value[i];
	}
	sum->count += a->count - 2;
	sum->share += fmin(share_of(a), share_of(b));
}

static void compare_halves(const struct track *t, const struct pause *pause, unsigned sample,
			   struct agreement *sum)
{
	struct fold first = {.layers = pause->layers}, second = first;
	size_t count = t->series->sample[sample].count;
	struct profile a, b;

	fold_part(t, sample, 0, count / 2, &first);
	fold_part(t, sample, count / 2, count, &second);
	profile_of(&first, pause, &a);
	profile_of(&second, pause, &b);
	take_out(&a, &b, pause->settles);
	compare(sum, &a, &b);
}

static bool durations_differ(struct track *t, const struct pause *pause)
{
	struct agreement sum = {0};
	double share = 0;

	for (unsigned kernel = 0; kernel < t->series->kernels; kernel++) {
		sum.share = 0;
		track_fill(t, t->series->run_ns, kernel);
		compare_to(t, pause->layers);
		for (unsigned i = 0; i < t->series->sample_count; i++)
			compare_halves(t, pause, i, &sum);
		share = fmax(share, sum.share / t->series->sample_count);
	}
	return sum.cross >= STRENGTH_LEAST * sqrt(sum.count) &&
	       sum.cross >= ALIKE_LEAST * sqrt(sum.first * sum.second) && share >= SHARE_LEAST;
}

static bool by_pause_and_duration(struct track *t, struct layers *layers)
{
	struct pause pause = {0};

	for (unsigned kernel = 0; kernel < t->series->kernels; kernel++) {
		track_fill(t, t->series->host_ns, kernel);
		compare_to(t, NEIGHBOURS);
		find_pause(t, kernel, &pause);
	}
	pause.settles = pause.layers && device_pauses(t, &pause);
	if (!pause.layers || !durations_differ(t, &pause))
		return false;
	*layers = (struct layers){pause.layers, pause.phase, pause.kernel, false};
	return true;
}

/* Neighbours are whole passes: in passes of two, half of them have the pause. */
static bool by_operands(struct track *t, struct layers *layers)
{
	unsigned count = layer_operands_count(t->series);
	struct pause pause = {0};

	for (unsigned kernel = 0; count && kernel < t->series->kernels; kernel++) {
		track_fill(t, t->series->host_ns, kernel);
		compare_to(t, (NEIGHBOURS + count - 1) / count * count);
		find_pause_at(t, kernel, count, &pause);
	}
	if (count)
		*layers = (struct layers){count, pause.phase, pause.kernel, true};
	return count;
}

bool layers_find(const struct layer_series *s, struct layers *layers)
{
	struct track t = {.series = s};
	bool found = false;

	for (unsigned i = 0; i < s->sample_count; i++)
		t.count += s->sample[i].count;
	t.raw = malloc((t.count + 1) * sizeof(*t.raw));
	t.value = malloc((t.count + 1) * sizeof(*t.value));
	if (t.raw && t.value)
		found = by_operands(&t, layers) || by_pause_and_duration(&t, layers);
	free(t.raw);
	free(t.value);
	return found;
}
