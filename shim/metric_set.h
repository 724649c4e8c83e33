/* Which hardware counters are sampled: those of metrics.def that this chip has and that fit one
 * pass together. */
#ifndef METRIC_SET_H
#define METRIC_SET_H

#include <stddef.h>
#include <stdint.h>

#include "pm_api.h"

#define METRIC_SLOTS 12u
#define METRIC_SLOT_SM_ACTIVE 6u

struct metric_set {
	unsigned count;
	uint8_t slot[METRIC_SLOTS];          /* of each metric: where its value goes */
	char name[METRIC_SLOTS][96];         /* CUPTI's name of each metric */
	const char *name_list[METRIC_SLOTS]; /* the same, as CUPTI takes them */
	CUpti_Profiler_Host_Object *host;    /* evaluates samples of this set */
	uint8_t *config; /* CUPTI keeps the pointer while sampling is on: never freed */
	size_t config_bytes;
};

struct metric_info {
	const char *name; /* ours */
	const char *unit;
	uint32_t scale;
};

/* What metrics.def says of a slot. */
struct metric_info metric_info(uint8_t slot);

/*
 * Asks CUPTI's host API, one candidate after the other. `availability` may be NULL (everything is
 * available). CUPTI_SUCCESS with at least one metric, or the last error. Host-side only; takes some
 * tens of milliseconds.
 */
CUptiResult metric_set_choose(struct metric_set *set, const struct pm_api *api, const char *chip,
			      const uint8_t *availability);

#endif
