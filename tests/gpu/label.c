/*
 * Labels measurements of any origin with the decision of the report: scripts/validate gives it
 * ncu's.
 *
 *   label            lines of 14 words on stdin: tensor fma alu fp64 xu dram l2 l1 (% of peak),
 * waves, blocks over SMs, duration and launch floor (ns), evidence, prior; "-" = unknown. The prior
 * is a leaf, or "name": what the name that ends the line suggests. For each a line: leaf, regime,
 * leans ("-" = none), confidence. label --names TRACE...   a line for each kernel name: as
 * recorded, tab, as reports print it
 *
 * Exit status 0; 1 if a trace cannot be read; 2 if a line or an argument has no sense.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters.h"
#include "analysis/decide.h"
#include "analysis/kernel_name.h"
#include "analysis/printable.h"
#include "analysis/trace.h"

#define WORDS 14
#define NAME_LIMIT 16384 /* as report_json.c */

static int parse_measure(const char *word, struct measure *measure)
{
	char *end;
	double value = strtod(word, &end);

	if (strcmp(word, "-") == 0) {
		*measure = (struct measure){0};
		return 0;
	}
	*measure = (struct measure){true, value, value, value};
	return *word && !*end ? 0 : -1;
}

static int parse_evidence(const char *word, enum evidence *evidence)
{
	static const char *const names[] = {"none", "prior", "geometry", "library", "counters"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(word, names[i]) == 0) {
			*evidence = (enum evidence)i;
			return 0;
		}
	}
	return -1;
}

/* `name` is the rest of the line. */
static int parse_prior(const char *word, const char *name, struct decide_input *in)
{
	in->prior = LEAF_UNKNOWN;
	if (strcmp(word, "-") == 0)
		return 0;
	if (strcmp(word, "name") == 0) {
		const struct kernel_kind *kind = kernel_kind_of(name);

		in->prior = kind->prior;
		in->prior_confidence = kind->confidence;
		in->collective = kind->collective;
		return 0;
	}
	in->prior_confidence = 0.4;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		if (strcmp(word, leaf_name((enum leaf)i)) == 0) {
			in->prior = (enum leaf)i;
			return 0;
		}
	}
	return -1;
}

static int parse(char *line, struct decide_input *in)
{
	struct kernel_counters counters = {.dram_write = {true, 0, 0, 0}};
	struct measure duration, floor;
	struct measure *const number[] = {
		&counters.tensor, &counters.fma,       &counters.alu, &counters.fp64,
		&counters.xu,     &counters.dram_read, &counters.l2,  &counters.l1,
		&in->waves,       &in->coverage,       &duration,     &floor,
	};
	char *word[WORDS], *rest = line;

	for (unsigned i = 0; i < WORDS; i++) {
		word[i] = strsep(&rest, " \t");
		if (!word[i] ||
		    (i < sizeof(number) / sizeof(number[0]) && parse_measure(word[i], number[i])))
			return -1;
	}
	counters_decide_input(&counters, in);
	in->duration_ns = duration.value;
	in->floor_ns = floor.known ? floor.value : DECIDE_FLOOR_NS;
	if (parse_evidence(word[12], &in->evidence))
		return -1;
	return parse_prior(word[13], rest ? rest : "", in);
}

static int label_lines(void)
{
	char *line = NULL;
	size_t size = 0;
	int status = 0;

	for (unsigned number = 1; getline(&line, &size, stdin) > 0; number++) {
		struct decide_input in = {0};
		struct decision d;

		line[strcspn(line, "\n")] = '\0';
		if (parse(line, &in)) {
			fprintf(stderr, "label: line %u has no sense\n", number);
			status = 2;
			break;
		}
		d = decide(&in);
		printf("%s %s %s %.3f\n", leaf_name(d.leaf), regime_name(d.regime),
		       d.leans == LEAF_UNKNOWN ? "-" : leaf_name(d.leans), d.confidence);
	}
	free(line);
	return status;
}

static int print_names(const char *path)
{
	struct trace trace;
	char *reason = NULL;

	if (trace_open(&trace, path, &reason)) {
		fprintf(stderr, "label: %s: %s\n", path, reason ? reason : "not read");
		free(reason);
		return 1;
	}
	for (size_t i = 0; i < trace.vocabulary.signature_count; i++) {
		const char *name = trace.vocabulary.signature[i].name;
		char *plain = *name ? kernel_demangle(name) : NULL;
		char *clean = plain ? printable_copy(plain, PRINTABLE_JSON, NAME_LIMIT) : NULL;

		if (clean && !strpbrk(name, "\t\n") && !strpbrk(clean, "\t\n"))
			printf("%s\t%s\n", name, clean);
		free(clean);
		free(plain);
	}
	trace_close(&trace);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 1)
		return label_lines();
	if (argc < 3 || strcmp(argv[1], "--names") != 0) {
		fputs("usage: label <LINES, or label --names TRACE...\n", stderr);
		return 2;
	}
	for (int i = 2; i < argc && !status; i++)
		status = print_names(argv[i]);
	return status;
}
