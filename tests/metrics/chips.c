/*
 * Asks CUPTI's host API, which needs no GPU, what metrics.def gives on the chips named as
 * arguments: a line for each metric taken, and one for each slot left empty. scripts/check-metrics
 * builds and runs it.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "shim/metric_set.h"

/* What the decision cannot do without. */
static const char *const needed[] = {"sm_active"};

static const char *source_of(const struct metric_set *set, unsigned slot)
{
	for (unsigned i = 0; i < set->count; i++)
		if (set->slot[i] == slot)
			return set->name[i];
	return NULL;
}

static int is_needed(const char *name)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (strcmp(needed[i], name) == 0)
			return 1;
	return 0;
}

static int print_chip(const struct pm_api *api, const char *chip)
{
	struct metric_set set;
	CUptiResult result = metric_set_choose(&set, api, chip, NULL);
	int bad = 0;

	if (result != CUPTI_SUCCESS) {
		printf("%-6s none (CUPTI %d)\n", chip, (int)result);
		return 1;
	}
	for (unsigned slot = 0; slot < METRIC_SLOTS; slot++) {
		const char *name = metric_info((uint8_t)slot).name, *source = source_of(&set, slot);

		if (!name)
			continue;
		printf("%-6s %2u %-10s %s\n", chip, slot, name, source ? source : "-");
		bad |= !source && is_needed(name);
	}
	return bad;
}

int main(int count, char **chips)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	static struct pm_api api;
	const char *missing;
	int bad = 0;

	if (!cupti) {
		fprintf(stderr, "%s\n", dlerror());
		return 77;
	}
	missing = pm_load(&api, cupti);
	if (missing) {
		fprintf(stderr, "libcupti.so.13 lacks %s\n", missing);
		return 77;
	}
	for (int i = 1; i < count; i++)
		bad |= print_chip(&api, chips[i]);
	return bad;
}
