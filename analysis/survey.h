/* The first look at a trace: which devices worked, when, and with which kernels. Accounting needs
 * to know this beforehand. */
#ifndef SURVEY_H
#define SURVEY_H

#include "blind.h"
#include "collectives.h"
#include "counters.h"
#include "sequence.h"
#include "steps.h"
#include "timeline.h"

#define SURVEY_DEVICES 64

/* A pause this long sets phases of activity apart where no steps are found. */
#define PHASE_GAP_NS UINT64_C(250000000)

struct kernel_survey {
	uint64_t launches;
	uint64_t total_ns;
};

struct device_survey {
	struct sequence sequence;
	struct collective_list collectives;
	struct kernel_survey *kernel; /* by signature */
	struct interval *phase;       /* of activity, in order */
	size_t phase_count, phase_capacity;
	uint64_t first_ns, last_ns; /* begin of the first operation, latest end */
	uint64_t busy_ns;           /* of the phases together */
};

struct survey {
	struct device_survey *device[SURVEY_DEVICES]; /* NULL: it did nothing */
	struct timeline_counts counts;
	uint64_t first_ns, last_ns; /* over all devices; 0 without operations */
	struct counters *counters;  /* solved; NULL if nothing was sampled */
	uint64_t *collective;       /* by signature: hash of the name, 0 = no collective */
};

/*
 * Walks all operations. Samples over `blind` are left out; `library`, NULL or kept by reference,
 * tells them the shapes that kernels serve. `steps`: sequences are kept to find them in. -1 without
 * memory.
 */
int survey_init(struct survey *survey, struct trace *trace, const struct clock *clock,
		const struct blind *blind, struct library *library, bool steps);
void survey_fini(struct survey *survey);

#endif
