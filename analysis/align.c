/* A search over offsets: coarse, then fine. */
#include "align.h"

#include <math.h>
#include <stdlib.h>

#define COARSE_NS 4000
#define FINE_NS 500

/* Of the correlation: below, samples and kernels do not belong together. data/h200-bert has 0.96.
 */
#define POOR 0.3

/* Correlations this near are the same: the noise of one over ten thousand samples. */
#define ALIKE 2e-4

/* Too few or too much alike to tell. */
#define LEAST_SAMPLES 64
#define LEAST_CONTRAST 0.02 /* standard deviation of the busy share */

struct search {
	struct align_interval *busy; /* unions of kernels */
	size_t busy_count;
	const struct align_sample *samples;
	size_t sample_count;
};

static size_t unite(const struct align_interval *kernels, size_t count, struct align_interval *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && kernels[i].begin_ns <= out[n - 1].end_ns) {
			if (kernels[i].end_ns > out[n - 1].end_ns)
				out[n - 1].end_ns = kernels[i].end_ns;
		} else {
			out[n++] = kernels[i];
		}
	}
	return n;
}

/* Busy share of the sample; *at is the first interval that may reach into it. */
static double busy_share(const struct search *s, const struct align_interval *sample,
			 int64_t offset, size_t *at)
{
	int64_t begin = (int64_t)sample->begin_ns - offset, end = (int64_t)sample->end_ns - offset;
	int64_t busy = 0;

	while (*at < s->busy_count && (int64_t)s->busy[*at].end_ns <= begin)
		(*at)++;
	for (size_t i = *at; i < s->busy_count && (int64_t)s->busy[i].begin_ns < end; i++) {
		int64_t from = (int64_t)s->busy[i].begin_ns, to = (int64_t)s->busy[i].end_ns;

		busy += (to < end ? to : end) - (from > begin ? from : begin);
	}
	return (double)busy / (double)(end - begin);
}

/* Correlation at this offset; *contrast = standard deviation of the busy share. */
static double correlation_at(const struct search *s, int64_t offset, double *contrast)
{
	double n = (double)s->sample_count, x1 = 0, x2 = 0, y1 = 0, y2 = 0, xy = 0, vx, vy;
	size_t at = 0;

	for (size_t i = 0; i < s->sample_count; i++) {
		double x = busy_share(s, &s->samples[i].time, offset, &at);
		double y = s->samples[i].active;

		x1 += x;
		x2 += x * x;
		y1 += y;
		y2 += y * y;
		xy += x * y;
	}
	vx = x2 / n - x1 / n * (x1 / n);
	vy = y2 / n - y1 / n * (y1 / n);
	*contrast = sqrt(fmax(vx, 0));
	return vx > 0 && vy > 0 ? (xy / n - x1 / n * (y1 / n)) / sqrt(vx * vy) : 0;
}

static int64_t magnitude(int64_t x)
{
	return x < 0 ? -x : x;
}

/* The best offset of from, from + step .. to; of those alike the nearest to zero. */
static int64_t best_of(const struct search *s, int64_t from, int64_t to, int64_t step)
{
	double correlation[2 * ALIGN_REACH_NS / COARSE_NS + 2], most = -1, contrast;
	size_t count = 0;
	int64_t best = 0, least = INT64_MAX;
	double alike = step == COARSE_NS ? ALIKE : 0;

	for (int64_t offset = from; offset <= to; offset += step) {
		correlation[count] = correlation_at(s, offset, &contrast);
		most = fmax(most, correlation[count++]);
	}
	for (size_t i = 0; i < count; i++) {
		int64_t offset = from + (int64_t)i * step;

		if (correlation[i] >= most - alike && magnitude(offset) < least) {
			best = offset;
			least = magnitude(offset);
		}
	}
	return best;
}

static void find(const struct search *s, struct align *out)
{
	double contrast;
	int64_t offset = best_of(s, -ALIGN_REACH_NS, ALIGN_REACH_NS, COARSE_NS);

	offset = best_of(s, offset - 2 * COARSE_NS, offset + 2 * COARSE_NS, FINE_NS);
	out->correlation = correlation_at(s, offset, &contrast);
	if (contrast < LEAST_CONTRAST)
		return;
	out->state = out->correlation < POOR ? ALIGN_POOR : ALIGN_FOUND;
	if (out->state == ALIGN_FOUND && magnitude(offset) > COARSE_NS)
		out->offset_ns = offset;
}

int align_find(const struct align_interval *kernels, size_t kernel_count,
	       const struct align_sample *samples, size_t sample_count, struct align *out)
{
	struct search s = {.samples = samples, .sample_count = sample_count};

	*out = (struct align){ALIGN_UNKNOWN, 0, 0};
	if (!kernel_count || sample_count < LEAST_SAMPLES)
		return 0;
	s.busy = malloc(kernel_count * sizeof(*s.busy));
	if (!s.busy)
		return -1;
	s.busy_count = unite(kernels, kernel_count, s.busy);
	find(&s, out);
	free(s.busy);
	return 0;
}
