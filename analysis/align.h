/* How far the clock of samples is from the clock of kernels. */
#ifndef ALIGN_H
#define ALIGN_H

#include <stddef.h>
#include <stdint.h>

/* Offsets are looked for up to this far to both sides. */
#define ALIGN_REACH_NS INT64_C(200000)

struct align_interval {
	uint64_t begin_ns;
	uint64_t end_ns;
};

struct align_sample {
	struct align_interval time;
	double active; /* share of SMs active, any unit */
};

enum align_state {
	ALIGN_UNKNOWN, /* idle and busy samples are too few, or all alike: nothing can be said */
	ALIGN_FOUND,
	ALIGN_POOR, /* no offset makes activity follow the kernels */
};

struct align {
	enum align_state state;
	int64_t offset_ns;  /* to add to the times of kernels; 0 unless found and more than 4 us:
			       counters lag by as much */
	double correlation; /* at that offset */
};

/*
 * The offset at which the share of each sample in which a kernel runs correlates best with `active`
 * (Pearson), to the microsecond. `kernels` by begin; they may overlap. `samples` by begin, without
 * overlap. Where a program repeats itself within the reach, several offsets do nearly as well: then
 * the one nearest to zero. -1 without memory.
 */
int align_find(const struct align_interval *kernels, size_t kernel_count,
	       const struct align_sample *samples, size_t sample_count, struct align *out);

#endif
