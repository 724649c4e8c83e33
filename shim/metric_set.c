/* Greedy by importance: a candidate stays if the set still needs one pass. */
#include "metric_set.h"

#include <stdlib.h>
#include <string.h>

struct wanted {
	uint8_t slot;
	struct metric_info info;
	const char *candidates;
};

static const struct wanted wanted[] = {
#define METRIC(slot, name, unit, scale, candidates) {slot, {#name, unit, scale}, candidates},
#include "metrics.def"
#undef METRIC
};

#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

_Static_assert(WANTED <= METRIC_SLOTS, "each wanted metric has a slot");

struct metric_info metric_info(uint8_t slot)
{
	for (size_t i = 0; i < WANTED; i++)
		if (wanted[i].slot == slot)
			return wanted[i].info;
	return (struct metric_info){NULL, NULL, 1};
}

static CUpti_Profiler_Host_Object *make_host(const struct pm_api *api, const char *chip,
					     const uint8_t *availability, CUptiResult *result)
{
	PM_PARAMS(CUpti_Profiler_Host_Initialize_Params, p);

	p.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
	p.pChipName = chip;
	p.pCounterAvailabilityImage = availability;
	*result = api->cuptiProfilerHostInitialize(&p);
	return *result == CUPTI_SUCCESS ? p.pHostObject : NULL;
}

static void drop_host(const struct pm_api *api, CUpti_Profiler_Host_Object *host)
{
	PM_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, p);

	p.pHostObject = host;
	api->cuptiProfilerHostDeinitialize(&p);
}

static CUptiResult make_config(const struct pm_api *api, struct metric_set *set)
{
	PM_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
	PM_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
	PM_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
	CUptiResult result;

	add.pHostObject = size.pHostObject = image.pHostObject = set->host;
	add.ppMetricNames = set->name_list;
	add.numMetrics = set->count;
	result = api->cuptiProfilerHostConfigAddMetrics(&add);
	if (result == CUPTI_SUCCESS)
		result = api->cuptiProfilerHostGetConfigImageSize(&size);
	if (result != CUPTI_SUCCESS)
		return result;
	set->config_bytes = size.configImageSize;
	set->config = malloc(size.configImageSize);
	if (!set->config)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	image.configImageSize = set->config_bytes;
	image.pConfigImage = set->config;
	return api->cuptiProfilerHostGetConfigImage(&image);
}

static void drop(const struct pm_api *api, struct metric_set *set)
{
	if (set->host)
		drop_host(api, set->host);
	free(set->config);
	set->host = NULL;
	set->config = NULL;
}

/*
 * Host object and configuration for the names in the set. Adding a name that the chip lacks spoils a host object, so each try has its
 * own.
 */
static CUptiResult build(const struct pm_api *api, const char *chip, const uint8_t *availability,
			 struct metric_set *set)
{
	PM_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
	CUptiResult result;

	set->config = NULL;
	for (unsigned i = 0; i < set->count; i++)
		set->name_list[i] = set->name[i];
	set->host = make_host(api, chip, availability, &result);
	if (set->host)
		result = make_config(api, set);
	if (result == CUPTI_SUCCESS) {
		passes.configImageSize = set->config_bytes;
		passes.pConfigImage = set->config;
		result = api->cuptiProfilerHostGetNumOfPasses(&passes);
		if (result == CUPTI_SUCCESS && passes.numOfPasses != 1)
			result = CUPTI_ERROR_NOT_SUPPORTED;
	}
	if (result != CUPTI_SUCCESS)
		drop(api, set);
	return result;
}

/* Tries the candidates of one wanted metric on top of what was chosen. */
static CUptiResult add_one(const struct pm_api *api, const char *chip, const uint8_t *availability,
			   struct metric_set *set, const struct wanted *w)
{
	CUptiResult result = CUPTI_ERROR_INVALID_METRIC_NAME;
	unsigned at = set->count;

	for (const char *p = w->candidates; *p;) {
		size_t n = strcspn(p, "|");

		if (n < sizeof(set->name[0])) {
			memcpy(set->name[at], p, n);
			set->name[at][n] = 0;
			set->slot[at] = w->slot;
			set->count = at + 1;
			result = build(api, chip, availability, set);
			if (result == CUPTI_SUCCESS)
				return result;
		}
		p += n + (p[n] == '|');
	}
	set->count = at;
	return result;
}

/* The first candidate of each: what one family of chips has, found with a single question instead of dozens. */
static CUptiResult choose_first(const struct pm_api *api, const char *chip,
				const uint8_t *availability, struct metric_set *set)
{
	for (size_t i = 0; i < WANTED; i++) {
		size_t n = strcspn(wanted[i].candidates, "|");

		if (n >= sizeof(set->name[0]))
			continue;
		memcpy(set->name[set->count], wanted[i].candidates, n);
		set->name[set->count][n] = 0;
		set->slot[set->count++] = wanted[i].slot;
	}
	return build(api, chip, availability, set);
}

CUptiResult metric_set_choose(struct metric_set *set, const struct pm_api *api, const char *chip,
			      const uint8_t *availability)
{
	CUptiResult result = CUPTI_ERROR_NOT_SUPPORTED;

	memset(set, 0, sizeof(*set));
	if (choose_first(api, chip, availability, set) == CUPTI_SUCCESS)
		return CUPTI_SUCCESS;
	memset(set, 0, sizeof(*set));
	for (size_t i = 0; i < WANTED; i++) {
		CUptiResult one = add_one(api, chip, availability, set, &wanted[i]);

		if (one == CUPTI_SUCCESS)
			drop(api, set); /* only the last set is built to stay */
		else
			result = one;
	}
	return set->count ? build(api, chip, availability, set) : result;
}
