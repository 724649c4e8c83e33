/* The count, the sum and the longest of a kind of gap. */
#ifndef GAPS_H
#define GAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "report.h"

struct worst_gap {
	uint64_t begin_ns, duration_ns; /* host clock */
	enum worst_gap_end {
		GAP_BEFORE_KERNEL,
		GAP_BEFORE_COPY,
		GAP_BEFORE_CALL,
		GAP_AT_END,
	} before;
	uint32_t what;   /* signature, copy kind or API (as struct call) */
	uint32_t thread; /* as struct call */
};

struct gap_stat {
	uint64_t count, total_ns;
	unsigned worst_count;
	struct worst_gap worst[WORST_GAPS]; /* longest first */
};

/* Is this one among the longest, to be kept? */
static inline bool gap_count(struct gap_stat *stat, uint64_t duration_ns)
{
	stat->count++;
	stat->total_ns += duration_ns;
	return stat->worst_count < WORST_GAPS ||
	       duration_ns > stat->worst[WORST_GAPS - 1].duration_ns;
}

/* Puts one that gap_count wants into its place. */
static inline void gap_keep(struct gap_stat *stat, const struct worst_gap *gap)
{
	unsigned at = stat->worst_count;

	if (at == WORST_GAPS)
		at--;
	else
		stat->worst_count++;
	for (; at > 0 && stat->worst[at - 1].duration_ns < gap->duration_ns; at--)
		stat->worst[at] = stat->worst[at - 1];
	stat->worst[at] = *gap;
}

#endif
