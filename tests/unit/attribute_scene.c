/* Integrating what ran over samples. */
#include "tests/unit/attribute_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/array.h"

void scene_init(struct scene *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->state = seed * 2654435761u + 88172645463325252u;
	s->now_ns = 1000000000;
	s->spread = 0.03;
	s->noise = 0.002;
}

void scene_fini(struct scene *s)
{
	free(s->kernel);
	free(s->sample);
}

/* xorshift64*: Vigna, "An experimental exploration of Marsaglia's xorshift generators". */
double scene_random(struct scene *s)
{
	s->state ^= s->state >> 12;
	s->state ^= s->state << 25;
	s->state ^= s->state >> 27;
	return (double)(s->state * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

double scene_normal(struct scene *s)
{
	double u = 1 - scene_random(s), v = scene_random(s);

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

void scene_add(struct scene *s, const struct scene_kernel *kernel)
{
	assert_int_equal(array_reserve((void **)&s->kernel, &s->kernel_capacity, s->kernels + 1,
				       sizeof(*s->kernel)),
			 0);
	s->kernel[s->kernels++] = *kernel;
}

static double vary(struct scene *s, double value, double most)
{
	return fmin(fmax(value * (1 + s->spread * scene_normal(s)), 0), most);
}

void scene_run(struct scene *s, uint32_t signature, double ns, double tensor, double writes)
{
	struct scene_kernel k = {.signature = signature, .begin_ns = s->now_ns};

	k.end_ns = k.begin_ns + (uint64_t)(ns * (1 + 0.01 * scene_normal(s)));
	k.value[SCENE_TENSOR] = vary(s, tensor, 100);
	k.value[SCENE_ACTIVE] = 98;
	k.value[SCENE_WRITES] = vary(s, writes, SCENE_PEAK);
	scene_add(s, &k);
	s->now_ns = k.end_ns + 300;
}

void scene_idle(struct scene *s, double ns)
{
	s->now_ns += (uint64_t)ns;
}

static double overlap(double a, double b, double from, double to)
{
	return fmax(fmin(b, to) - fmax(a, from), 0);
}

/* What the kernel adds to a sample, times ns. */
static void add_kernel(const struct scene *s, const struct scene_kernel *k, double from, double to,
		       double *sum)
{
	double a = (double)k->begin_ns, b = (double)k->end_ns, ns = overlap(a, b, from, to);
	double rate = k->value[SCENE_WRITES], tail = 0;

	sum[SCENE_TENSOR] += k->value[SCENE_TENSOR] * ns;
	sum[SCENE_ACTIVE] += k->value[SCENE_ACTIVE] * ns;
	if (s->tail_share > 0)
		tail = rate * (b - a) * s->tail_share / s->tail_ns *
		       overlap(b, b + s->tail_ns, from, to);
	sum[SCENE_WRITES] += rate * (1 - s->tail_share) * ns + tail;
}

void scene_sample(struct scene *s, uint64_t begin_ns, double interval_ns)
{
	double from = (double)begin_ns, end = (double)s->kernel[s->kernels - 1].end_ns;
	double most[SCENE_METRICS] = {100, 100, SCENE_PEAK};
	size_t first = 0;

	for (bool head = true; from < end; head = false) {
		double to = from + (head ? 10 : 1) * interval_ns, sum[SCENE_METRICS] = {0};
		struct attribute_sample *sample;

		while (first < s->kernels &&
		       (double)s->kernel[first].end_ns + 10 * s->tail_ns + 1e6 < from)
			first++;
		for (size_t i = first; i < s->kernels && (double)s->kernel[i].begin_ns < to; i++)
			add_kernel(s, &s->kernel[i], from, to, sum);
		assert_int_equal(array_reserve((void **)&s->sample, &s->sample_capacity,
					       s->samples + 1, sizeof(*s->sample)),
				 0);
		sample = &s->sample[s->samples++];
		memset(sample, 0, sizeof(*sample));
		sample->begin_ns = (uint64_t)((double)from + (double)s->offset_ns);
		sample->end_ns = (uint64_t)((double)to + (double)s->offset_ns);
		sample->present = (1u << SCENE_METRICS) - 1;
		for (unsigned m = 0; m < SCENE_METRICS; m++) {
			double value = sum[m] / (to - from) +
				       (sum[m] > 0 ? s->noise * most[m] * scene_normal(s) : 0);

			value = fmin(fmax(value, 0), most[m]);
			sample->value[m] = m == SCENE_WRITES ? value * (to - from) : value;
		}
		from = to;
	}
}

double scene_truth(const struct scene *s, uint32_t signature, unsigned metric)
{
	double sum = 0, time = 0;

	for (size_t i = 0; i < s->kernels; i++) {
		const struct scene_kernel *k = &s->kernel[i];
		double ns = (double)(k->end_ns - k->begin_ns);

		if (k->signature != signature)
			continue;
		sum += k->value[metric] * ns;
		time += ns;
	}
	return sum / time;
}

struct attribute_options scene_options(void)
{
	return (struct attribute_options){
		.metric = {{ATTRIBUTE_PERCENT, 100},
			   {ATTRIBUTE_PERCENT, 100},
			   {ATTRIBUTE_AMOUNT, SCENE_PEAK}},
		.metrics = SCENE_METRICS,
		.has_active = true,
		.active = SCENE_ACTIVE,
	};
}

struct attribute *scene_solve(const struct scene *s, const struct attribute_options *options,
			      const uint32_t *rename)
{
	struct attribute *a = attribute_create(options);
	size_t k = 0, m = 0;

	assert_non_null(a);
	while (k < s->kernels || m < s->samples) {
		const struct scene_kernel *kernel = &s->kernel[k];

		if (k < s->kernels &&
		    (m == s->samples || kernel->begin_ns < s->sample[m].begin_ns)) {
			struct attribute_kernel in = {
				.signature = rename ? rename[kernel->signature] : kernel->signature,
				.shape = kernel->shape,
				.stream = kernel->stream,
				.begin_ns = kernel->begin_ns,
				.end_ns = kernel->end_ns};

			assert_int_equal(attribute_add_kernel(a, &in), 0);
			k++;
		} else {
			assert_int_equal(attribute_add_sample(a, &s->sample[m++]), 0);
		}
	}
	assert_int_equal(attribute_solve(a), 0);
	return a;
}
