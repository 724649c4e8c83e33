/*
 * Prints what the analyzer knows of each kernel signature of a trace without counters, a line each,
 * for tests/golden/h200-labels: h200-labels TRACE. Not part of a build; by hand: cc -I.
 * -D_GNU_SOURCE tests/golden/h200-labels.c build/libanalysis.a build/libtrace.a -lz -ljansson
 * -lstdc++ -lm
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/blind.h"
#include "analysis/estimate.h"
#include "analysis/library_read.h"
#include "analysis/survey.h"
#include "analysis/trace.h"

static struct library *library_of(struct trace *trace)
{
	const struct vocabulary *v = &trace->vocabulary;
	uint8_t *role = calloc(v->signature_count + 1, sizeof(*role)); /* kept to the end */
	struct library *library;

	if (!role)
		return NULL;
	for (size_t i = 0; i < v->signature_count; i++)
		role[i] = (uint8_t)library_role_of(v->signature[i].name);
	library = library_create(role, v->signature_count);
	if (library && !library_read(library, trace->data, trace->size, v))
		return library;
	return NULL;
}

static void print(const struct signature *s, const struct kernel_survey *seen,
		  const struct kernel_arithmetic *a, const struct tensor_sizes *sizes)
{
	printf("%s\t%u,%u,%u\t%u,%u,%u\t%u\t%" PRIu64 "\t%.1f\t", s->name, s->grid[0], s->grid[1],
	       s->grid[2], s->block[0], s->block[1], s->block[2], s->registers, s->shared_bytes,
	       (double)seen->total_ns / (double)seen->launches);
	if (a->flops_pct.known && a->bytes_pct.known)
		printf("%.2f,%.2f,%.2f\t%.2f\t%.3f", a->flops_pct.low, a->flops_pct.value,
		       a->flops_pct.high, a->bytes_pct.value, a->alike);
	else
		printf("-\t-\t-");
	printf("\t%.0f\t%.0f\n", sizes->row, sizes->channel);
}

int main(int count, char **words)
{
	static struct trace trace;
	struct survey survey;
	struct clock clock;
	struct blind blind;
	struct device_attributes attributes;
	struct ceilings peaks;
	struct tensor_sources tensors;
	struct library *library;
	char *reason = NULL;

	if (count != 2 || trace_open(&trace, words[1], &reason) ||
	    clock_init(&clock, trace.vocabulary.clock, trace.vocabulary.clock_count) ||
	    blind_init(&blind, &trace, &clock) ||
	    survey_init(&survey, &trace, &clock, &blind, NULL, false) || !survey.device[0]) {
		fprintf(stderr, "h200-labels: %s\n", reason ? reason : "no such trace");
		return EXIT_FAILURE;
	}
	attributes = device_attributes_of(&trace.vocabulary, 0);
	peaks = ceilings_derive(&attributes);
	library = library_of(&trace);
	tensors = tensor_sources_of(&trace.vocabulary, survey.device[0], library);
	for (uint32_t i = 0; i < trace.vocabulary.signature_count; i++) {
		const struct kernel_survey *seen = &survey.device[0]->kernel[i];
		struct tensor_sizes sizes = tensor_sizes_of(&tensors, i);
		struct kernel_arithmetic a;

		if (!seen->launches)
			continue;
		arithmetic_of(library, i, seen->launches, &peaks, &a);
		print(&trace.vocabulary.signature[i], seen, &a, &sizes);
	}
	return EXIT_SUCCESS;
}
