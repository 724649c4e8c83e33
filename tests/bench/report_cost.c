/*
 * What gap accounting and step detection cost: a trace is analysed with them and without them (PROCESS_PLAIN: the same report, idle
 * time unknown and no steps), in turns, and the CPU time of each pair is compared. Run by scripts/bench on the trace of make_trace:
 * report_cost TRACE [ROUNDS | plain | full]: the last two analyse once, for a profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/process.h"

#define ROUNDS 5
#define ROUNDS_MOST 101

/* CPU seconds of one analysis. */
static double analyse(const char *path, enum process_depth depth)
{
	struct process_report process = {0};
	struct timespec begin, end;
	struct report report;
	char *note;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	if (process_analyze(path, depth, &process, &note) != PROCESS_WHOLE)
		exit(1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	report_init(&report);
	report.processes = malloc(sizeof(process));
	if (!report.processes)
		exit(1);
	report.processes[report.process_count++] = process;
	report_fini(&report);
	return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *value, int count)
{
	qsort(value, (size_t)count, sizeof(*value), by_value);
	return value[count / 2];
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
	double plain[ROUNDS_MOST], full[ROUNDS_MOST], ratio[ROUNDS_MOST];

	if (argc > 2 && (!strcmp(argv[2], "plain") || !strcmp(argv[2], "full"))) {
		analyse(argv[1], *argv[2] == 'p' ? PROCESS_PLAIN : PROCESS_FULL);
		return 0;
	}
	if (argc < 2 || rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: report_cost TRACE [ROUNDS]\n");
		return 2;
	}
	for (int i = 0; i < rounds; i++) {
		plain[i] = analyse(argv[1], PROCESS_PLAIN);
		full[i] = analyse(argv[1], PROCESS_FULL);
		ratio[i] = full[i] / plain[i];
	}
	printf("plain_summary %.3f s\n", median(plain, rounds));
	printf("with_gaps_and_steps %.3f s\n", median(full, rounds));
	printf("with_gaps_and_steps_over_plain %.3f ratio\n", median(ratio, rounds));
	return 0;
}
