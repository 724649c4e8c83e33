/* Rows of the tables kernel, run, metric and sample. */
#include "tests/unit/attribute_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_file.h"

#define SLOTS 12

static int by_begin(const void *a, const void *b)
{
	uint64_t x = ((const struct attribute_trace_run *)a)->begin_ns;
	uint64_t y = ((const struct attribute_trace_run *)b)->begin_ns;

	return (x > y) - (x < y);
}

static void load_signatures(struct attribute_trace *t, const struct trace_file *file)
{
	size_t count, strings;
	uint64_t *name = trace_numbers(file, BST_TABLE_KERNEL, BST_KERNEL_NAME, &count);
	uint64_t *x = trace_numbers(file, BST_TABLE_KERNEL, BST_KERNEL_GRID_X, &count);
	uint64_t *threads = trace_numbers(file, BST_TABLE_KERNEL, BST_KERNEL_BLOCK_X, &count);
	uint64_t *id = trace_numbers(file, BST_TABLE_STRING, BST_STRING_ID, &strings);

	t->signature = calloc(count, sizeof(*t->signature));
	t->signatures = count;
	for (size_t i = 0; i < count; i++) {
		t->signature[i].blocks = x[i];
		t->signature[i].threads = threads[i];
		for (size_t s = 0; s < strings; s++)
			if (id[s] == name[i])
				t->signature[i].name = trace_text(file, BST_TABLE_STRING,
								  BST_STRING_VALUE, s, NULL);
	}
	free(name);
	free(x);
	free(threads);
	free(id);
}

static void load_runs(struct attribute_trace *t, const struct trace_file *file)
{
	uint64_t *kernel = trace_numbers(file, BST_TABLE_RUN, BST_RUN_KERNEL, &t->runs);
	uint64_t *begin = trace_numbers(file, BST_TABLE_RUN, BST_RUN_BEGIN, &t->runs);
	uint64_t *duration = trace_numbers(file, BST_TABLE_RUN, BST_RUN_DURATION, &t->runs);

	t->run = calloc(t->runs, sizeof(*t->run));
	for (size_t i = 0; i < t->runs; i++)
		t->run[i] = (struct attribute_trace_run){begin[i], begin[i] + duration[i],
							 (uint32_t)(kernel[i] - 1)};
	qsort(t->run, t->runs, sizeof(*t->run), by_begin);
	free(kernel);
	free(begin);
	free(duration);
}

static void load_samples(struct attribute_trace *t, const struct trace_file *file)
{
	size_t metrics;
	uint64_t *begin = trace_numbers(file, BST_TABLE_SAMPLE, BST_SAMPLE_BEGIN, &t->samples);
	uint64_t *duration =
		trace_numbers(file, BST_TABLE_SAMPLE, BST_SAMPLE_DURATION, &t->samples);
	uint64_t *scale = trace_numbers(file, BST_TABLE_METRIC, BST_METRIC_SCALE, &metrics);

	t->sample = calloc(t->samples, sizeof(*t->sample));
	for (size_t i = 0; i < t->samples; i++) {
		t->sample[i].begin_ns = begin[i];
		t->sample[i].end_ns = begin[i] + duration[i];
		t->sample[i].present = (1u << metrics) - 1;
	}
	assert_true(metrics <= SLOTS);
	for (unsigned m = 0; m < metrics; m++) {
		uint64_t *v = trace_numbers(file, BST_TABLE_SAMPLE, BST_SAMPLE_V0 + m, &t->samples);

		for (size_t i = 0; i < t->samples; i++)
			t->sample[i].value[m] = (double)v[i] / (double)scale[m];
		free(v);
	}
	free(begin);
	free(duration);
	free(scale);
}

void attribute_trace_load(struct attribute_trace *t, const char *path)
{
	struct trace_file file;

	trace_load(&file, path);
	load_signatures(t, &file);
	load_runs(t, &file);
	load_samples(t, &file);
	trace_free(&file);
}

void attribute_trace_free(struct attribute_trace *t)
{
	for (size_t i = 0; i < t->signatures; i++)
		free(t->signature[i].name);
	free(t->signature);
	free(t->run);
	free(t->sample);
}

struct attribute *attribute_trace_solve(const struct attribute_trace *t,
					const struct attribute_options *options, int64_t offset_ns)
{
	struct attribute *a = attribute_create(options);
	size_t k = 0, s = 0;

	assert_non_null(a);
	while (k < t->runs || s < t->samples) {
		if (s == t->samples ||
		    (k < t->runs && t->run[k].begin_ns < t->sample[s].begin_ns)) {
			const struct attribute_trace_run *run = &t->run[k++];
			struct attribute_kernel kernel = {
				.signature = run->signature,
				.stream = 7,
				.begin_ns = run->begin_ns + (uint64_t)offset_ns,
				.end_ns = run->end_ns + (uint64_t)offset_ns};

			assert_int_equal(attribute_add_kernel(a, &kernel), 0);
		} else {
			assert_int_equal(attribute_add_sample(a, &t->sample[s++]), 0);
		}
	}
	assert_int_equal(attribute_solve(a), 0);
	return a;
}
