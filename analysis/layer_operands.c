/* Operands folded at each number of pieces, place by place. */
#include "layer_operands.h"

#include <string.h>

#define EXCEPTIONS 0.02 /* of rows: what was lost, or settled late */
#define PASSES_LEAST 2  /* in each sample */

/* One kernel of the pieces of one sample. */
struct track {
	const struct layer_operand *row;
	size_t stride, count;
};

static struct track track_of(const struct layer_series *s, unsigned sample, unsigned kernel)
{
	const struct layer_operand *row = s->operand;

	for (unsigned i = 0; i < sample; i++)
		row += s->sample[i].count * s->kernels;
	return (struct track){row + kernel, s->kernels, s->sample[sample].count};
}

static struct layer_operand at(const struct track *t, size_t piece)
{
	return t->row[piece * t->stride];
}

/* What most pieces of a phase have (Boyer and Moore's vote). */
static uint16_t vote(const struct track *t, unsigned phase, unsigned layers)
{
	uint16_t winner = 0;
	size_t lead = 0;

	for (size_t i = phase; i < t->count; i += layers) {
		uint16_t a = at(t, i).a;

		if (lead == 0)
			winner = a;
		if (a == winner)
			lead++;
		else
			lead--;
	}
	return winner;
}

/* What A is in each piece of a pass, as a sample has it. */
struct cycle {
	unsigned count;
	uint16_t a[LAYERS_MOST];
};

/* Rows that are not as the cycle says. */
static size_t find_cycle(const struct track *t, unsigned layers, struct cycle *cycle)
{
	size_t wrong = 0;

	cycle->count = layers;
	for (unsigned phase = 0; phase < layers; phase++)
		cycle->a[phase] = vote(t, phase, layers);
	for (size_t i = 0; i < t->count; i++)
		wrong += !at(t, i).a || at(t, i).a != cycle->a[i % layers];
	return wrong;
}

/* Samples begin anywhere in a pass. */
static bool same_cycle(const struct cycle *a, const struct cycle *b)
{
	unsigned n = a->count;

	for (unsigned shift = 0; shift < n; shift++) {
		unsigned i = 0;

		while (i < n && a->a[i] == b->a[(i + shift) % n])
			i++;
		if (i == n)
			return true;
	}
	return false;
}

static bool all_differ(const struct cycle *cycle)
{
	for (unsigned i = 0; i < cycle->count; i++)
		for (unsigned k = 0; k < i; k++)
			if (cycle->a[i] == cycle->a[k])
				return false;
	return true;
}

static bool few(size_t wrong, size_t count)
{
	return (double)wrong <= EXCEPTIONS * (double)count;
}

/* Does A come back after so many pieces? In *first: what it is in them. */
static bool comes_back(const struct layer_series *s, unsigned kernel, unsigned layers,
		       struct cycle *first)
{
	size_t wrong = 0, count = 0;

	for (unsigned i = 0; i < s->sample_count; i++) {
		struct track t = track_of(s, i, kernel);
		struct cycle cycle;

		wrong += find_cycle(&t, layers, i ? &cycle : first);
		count += t.count;
		if (i && !same_cycle(first, &cycle))
			return false;
	}
	return few(wrong, count);
}

static size_t shortest_sample(const struct layer_series *s)
{
	size_t shortest = s->sample_count ? s->sample[0].count : 0;

	for (unsigned i = 1; i < s->sample_count; i++)
		if (s->sample[i].count < shortest)
			shortest = s->sample[i].count;
	return shortest;
}

/* 0 = it does not come back, or is not known. */
static unsigned period_of(const struct layer_series *s, unsigned kernel, struct cycle *cycle)
{
	size_t most = shortest_sample(s) / PASSES_LEAST;

	for (unsigned layers = 1; layers <= most && layers <= LAYERS_MOST; layers++)
		if (comes_back(s, kernel, layers, cycle))
			return layers;
	return 0;
}

/* Is B, in most passes, another one from some piece of a pass to the next? */
static bool moves(const struct track *t, unsigned layers)
{
	size_t other[LAYERS_MOST] = {0}, seen[LAYERS_MOST] = {0};

	for (size_t i = 1; i < t->count; i++) {
		uint16_t b = at(t, i).b, before = at(t, i - 1).b;

		seen[i % layers]++;
		other[i % layers] += b && before && b != before;
	}
	for (unsigned i = 0; i < layers; i++)
		if (seen[i] >= PASSES_LEAST - 1 && 2 * other[i] > seen[i])
			return true;
	return false;
}

static bool moves_always(const struct layer_series *s, unsigned kernel, unsigned layers)
{
	for (unsigned i = 0; i < s->sample_count; i++) {
		struct track t = track_of(s, i, kernel);

		if (!moves(&t, layers))
			return false;
	}
	return true;
}

unsigned layer_operands_count(const struct layer_series *s)
{
	unsigned layers = 0;
	bool moving = false;

	if (!s->operand)
		return 0;
	for (unsigned kernel = 0; kernel < s->kernels; kernel++) {
		struct cycle cycle;
		unsigned period = period_of(s, kernel, &cycle);

		if (!period)
			continue;
		if (period == 1 || (layers && period != layers) || !all_differ(&cycle))
			return 0;
		layers = period;
		moving = moving || moves_always(s, kernel, layers);
	}
	return moving ? layers : 0;
}
