/* The n-th collective of one rank beside the n-th of all others. */
#include "collectives.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "report.h"

/* A rank is called the slowest if the others wait for it this share of their time in collectives, and it less than half as long. */
#define STANDS_OUT 0.05

int collectives_add(struct collective_list *list, const struct collective_run *run)
{
	if (list->count == COLLECTIVES_LIMIT)
		return 0;
	if (array_reserve((void **)&list->run, &list->capacity, list->count + 1, sizeof(*run)))
		return -1;
	list->run[list->count++] = *run;
	return 0;
}

void collectives_fini(struct collective_list *list)
{
	free(list->run);
	memset(list, 0, sizeof(*list));
}

uint64_t collectives_name(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
	return hash;
}

static const struct device_report *device_of(const struct report *report,
					     const struct rank_collectives *rank)
{
	return &report->processes[rank->process].devices[rank->device];
}

static int find_ranks(struct report *report, struct collectives_report *c)
{
	size_t capacity = 0;

	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++) {
			if (!report->processes[p].devices[d].collectives.count)
				continue;
			if (array_reserve((void **)&c->rank, &capacity, c->rank_count + 1,
					  sizeof(*c->rank)))
				return -1;
			c->rank[c->rank_count++] =
				(struct rank_collectives){.process = p, .device = d};
		}
	return 0;
}

/* Of the first ones that all have: a killed rank's trace ends early. */
static size_t common_count(const struct report *report, const struct collectives_report *c)
{
	size_t least = SIZE_MAX;

	for (size_t r = 0; r < c->rank_count; r++) {
		size_t count = device_of(report, &c->rank[r])->collectives.count;

		least = count < least ? count : least;
	}
	return c->rank_count ? least : 0;
}

static bool in_steady(const struct device_report *device, const struct collective_run *run)
{
	const struct window *steady = &device->steady;

	return !steady->known || (run->begin_ns >= steady->begin_ns &&
				  run->begin_ns < steady->begin_ns + steady->window_ns);
}

/* The n-th of every rank: false where their names differ. */
static bool compare_one(const struct report *report, struct collectives_report *c, size_t n)
{
	uint64_t name = device_of(report, &c->rank[0])->collectives.run[n].name;
	uint64_t least = UINT64_MAX;
	bool steady = true;

	for (size_t r = 0; r < c->rank_count; r++) {
		const struct device_report *device = device_of(report, &c->rank[r]);
		const struct collective_run *run = &device->collectives.run[n];

		if (run->name != name)
			return false;
		least = run->duration_ns < least ? run->duration_ns : least;
		steady = steady && in_steady(device, run);
	}
	for (size_t r = 0; steady && r < c->rank_count; r++) {
		uint64_t ns = device_of(report, &c->rank[r])->collectives.run[n].duration_ns;

		c->rank[r].total_ns += ns;
		c->rank[r].waiting_ns += ns - least;
	}
	c->count += steady;
	return true;
}

static size_t slowest_of(const struct collectives_report *c)
{
	size_t best = 0;
	uint64_t others = 0, time = 0;

	for (size_t r = 0; r < c->rank_count; r++)
		if (c->rank[r].waiting_ns < c->rank[best].waiting_ns)
			best = r;
	for (size_t r = 0; r < c->rank_count; r++)
		if (r != best) {
			others += c->rank[r].waiting_ns;
			time += c->rank[r].total_ns;
		}
	if ((double)others < STANDS_OUT * (double)time ||
	    2 * c->rank[best].waiting_ns * (c->rank_count - 1) >= others)
		return c->rank_count;
	return best;
}

void collectives_compare(struct report *report)
{
	struct collectives_report *c = &report->collectives;
	size_t count;

	if (find_ranks(report, c)) {
		c->reason = "no memory to compare them";
		return;
	}
	if (c->rank_count < 2)
		return;
	count = common_count(report, c);
	for (size_t n = 0; n < count; n++)
		if (!compare_one(report, c, n)) {
			c->reason = "the ranks did not run the same collectives in the same order";
			return;
		}
	if (!c->count) {
		c->reason = "no collective lies in the steady part of all ranks";
		return;
	}
	c->known = true;
	c->slowest = slowest_of(c);
}
