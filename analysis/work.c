/* The user's word, or what grew in the traces. */
#include "work.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_match.h"

#define FLOPS_COVER 0.2  /* of the kernels' time, in every run */
#define GREW 1.05        /* threads or amounts that differ by less are the same */
#define ALIKE 1.1        /* two ratios within this factor say the same */
#define GROWN_LEAST 0.05 /* of the kernels' time: below, those that grew are an aside */
#define MAJORITY 0.5     /* of the time of those that grew, with the common ratio */
#define MAJORITY_CLEAR 0.8

bool work_parse(const char *text, size_t count, struct work *work, const char **words)
{
	struct work found = {.source = WORK_GIVEN, .confidence = CONFIDENCE_HIGH};
	const char *p = text;
	char *end;

	*words = "one positive number for each trace, as 1,2,4";
	for (size_t i = 0; i < count; i++) {
		errno = 0;
		found.amount[i] = strtod(p, &end);
		if (end == p || errno || !isfinite(found.amount[i]) || !(found.amount[i] > 0))
			return false;
		if (*end != (i + 1 < count ? ',' : '\0'))
			return false;
		p = end + 1;
	}
	for (size_t i = count; i-- > 0;)
		found.amount[i] /= found.amount[0];
	for (size_t i = 1; i < count; i++) {
		if (fabs(log(found.amount[i])) < log(1.001)) {
			*words = "the works of two traces must differ";
			continue;
		}
		*work = found;
		return true;
	}
	return false;
}

/* --- sources: each gives the amount of a run relative to the first, 0 where it does not tell
 * --- */

static double flops_of(const struct work_run *run)
{
	double flops = 0, covered = 0, all = 0;

	for (size_t i = 0; i < run->device->kernel_count; i++) {
		const struct kernel_report *k = &run->device->kernels[i];

		all += (double)k->busy_ns;
		/* Estimates by counters are of how long kernels ran as much as of their work. */
		if (!k->flops.known || k->flops_source != EVIDENCE_LIBRARY)
			continue;
		covered += (double)k->busy_ns;
		flops += k->flops.value * (double)k->launches;
	}
	return all > 0 && covered >= FLOPS_COVER * all ? flops / (double)run->units : 0;
}

static double copied_of(const struct work_run *run)
{
	double bytes = 0;

	for (size_t i = 0; i < run->device->copy_count; i++)
		if (!strcmp(run->device->copies[i].direction, "host to device"))
			bytes += (double)run->device->copies[i].bytes;
	return bytes / (double)run->units;
}

static double ratio_of(double first, double other)
{
	return first > 0 && other > 0 ? other / first : 0;
}

struct vote {
	double ratio;
	double weight;
};

static int by_ratio(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

static double threads_of(const struct kernel_report *k, uint64_t units)
{
	double threads = (double)k->launches / (double)units;

	for (unsigned i = 0; i < 3; i++)
		threads *= (double)k->grid[i] * (double)k->block[i];
	return threads;
}

/* The vote of each kernel that both runs have and that has other threads; *all is the weight of all
 * kernels. */
static size_t gather_votes(const struct work_run *a, const struct work_run *b,
			   const struct kernel_match *matches, size_t count, struct vote *votes,
			   double *all)
{
	size_t n = 0;

	*all = 0;
	for (size_t i = 0; i < count; i++) {
		const struct kernel_report *x = matches[i].a, *y = matches[i].b;
		double weight = (x ? (double)x->busy_ns / (double)a->units : 0) +
				(y ? (double)y->busy_ns / (double)b->units : 0);
		double ratio =
			x && y ? ratio_of(threads_of(x, a->units), threads_of(y, b->units)) : 0;

		*all += weight;
		if (ratio > 0 && fabs(log(ratio)) > log(GREW))
			votes[n++] = (struct vote){ratio, weight};
	}
	return n;
}

/* The weighted median, and the share of the weight that is alike. */
static double elect(struct vote *votes, size_t count, double *majority)
{
	double weight = 0, below = 0, alike = 0, ratio = 0;

	qsort(votes, count, sizeof(*votes), by_ratio);
	for (size_t i = 0; i < count; i++)
		weight += votes[i].weight;
	for (size_t i = 0; i < count && below <= weight / 2; i++) {
		below += votes[i].weight;
		ratio = votes[i].ratio;
	}
	for (size_t i = 0; i < count; i++)
		if (fabs(log(votes[i].ratio / ratio)) < log(ALIKE))
			alike += votes[i].weight;
	*majority = weight > 0 ? alike / weight : 0;
	return ratio;
}

static double grid_ratio(const struct work_run *a, const struct work_run *b, double *majority)
{
	size_t count, grown;
	struct kernel_match *matches = kernel_match(a->device, b->device, &count);
	struct vote *votes = malloc((count + 1) * sizeof(*votes));
	double all, weight = 0, ratio = 0;

	*majority = 0;
	if (matches && votes) {
		grown = gather_votes(a, b, matches, count, votes, &all);
		for (size_t i = 0; i < grown; i++)
			weight += votes[i].weight;
		if (grown && weight >= GROWN_LEAST * all)
			ratio = elect(votes, grown, majority);
	}
	free(matches);
	free(votes);
	return *majority >= MAJORITY ? ratio : 0;
}

/* --- choosing --- */

/* Amounts by one source; false where it does not tell of every run, or all are the same. */
static bool amounts_by(enum work_source source, const struct work_run *runs, size_t count,
		       double amount[WORK_RUNS_MOST], double *majority)
{
	bool differ = false;

	*majority = 1;
	for (size_t i = 0; i < count; i++) {
		double share = 1;

		if (source == WORK_FLOPS)
			amount[i] = ratio_of(flops_of(&runs[0]), flops_of(&runs[i]));
		else if (source == WORK_COPIES)
			amount[i] = ratio_of(copied_of(&runs[0]), copied_of(&runs[i]));
		else
			amount[i] = i ? grid_ratio(&runs[0], &runs[i], &share) : 1;
		if (!(amount[i] > 0))
			return false;
		*majority = fmin(*majority, share);
		differ = differ || fabs(log(amount[i])) > log(GREW);
	}
	return differ;
}

static bool all_alike(const double *x, const double *y, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fabs(log(x[i] / y[i])) > log(ALIKE))
			return false;
	return true;
}

bool work_infer(const struct work_run *runs, size_t count, struct work *work)
{
	static const enum work_source order[] = {WORK_FLOPS, WORK_GRIDS, WORK_COPIES};
	double amount[WORK_RUNS_MOST], majority;

	*work = (struct work){0};
	for (unsigned s = 0; s < 3; s++) {
		if (!amounts_by(order[s], runs, count, amount, &majority))
			continue;
		if (work->source == WORK_NONE) {
			work->source = order[s];
			memcpy(work->amount, amount, sizeof(amount));
			work->confidence = order[s] == WORK_FLOPS || (order[s] == WORK_GRIDS &&
								      majority >= MAJORITY_CLEAR)
						   ? CONFIDENCE_MEDIUM
						   : CONFIDENCE_LOW;
		} else if (all_alike(work->amount, amount, count)) {
			work->agrees = order[s];
			work->confidence = CONFIDENCE_HIGH;
			break;
		}
	}
	return work->source != WORK_NONE;
}

const char *work_source_words(enum work_source source)
{
	static const char *const words[] = {
		[WORK_NONE] = "nothing",
		[WORK_GIVEN] = "--work",
		[WORK_FLOPS] = "FLOPs of library calls",
		[WORK_GRIDS] = "threads of the kernels whose grids differ",
		[WORK_COPIES] = "bytes copied to the device",
	};

	return words[source];
}
