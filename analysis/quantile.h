/* Medians in bounded memory: a histogram with logarithmic buckets. */
#ifndef QUANTILE_H
#define QUANTILE_H

#include <stdint.h>

/* 8 buckets for each power of two, up to 2^42 ns (73 minutes). */
#define QUANTILE_STEPS 8
#define QUANTILE_BUCKETS (QUANTILE_STEPS * 40)

/* The middle of a bucket is at most this far from any value in it, relative to the value. */
#define QUANTILE_ERROR (1.0 / (2 * QUANTILE_STEPS))

/* Zeroed memory is an empty histogram. 1.3 kB. */
struct quantile {
	uint32_t bucket[QUANTILE_BUCKETS];
	uint64_t count;
};

/* Values below 2 * QUANTILE_STEPS have a bucket each; then each power of two has QUANTILE_STEPS. */
static inline unsigned quantile_bucket(uint64_t value)
{
	unsigned power, bucket;

	if (value < 2 * QUANTILE_STEPS)
		return (unsigned)value;
	power = 63u - (unsigned)__builtin_clzll(value);
	bucket = (power - 2) * QUANTILE_STEPS + (unsigned)(value >> (power - 3)) - QUANTILE_STEPS;
	return bucket < QUANTILE_BUCKETS ? bucket : QUANTILE_BUCKETS - 1;
}

/* Values beyond the last bucket count as in it. */
static inline void quantile_add(struct quantile *quantile, uint64_t value)
{
	uint32_t *bucket = &quantile->bucket[quantile_bucket(value)];

	if (*bucket == UINT32_MAX)
		return;
	(*bucket)++;
	quantile->count++;
}

/*
 * The value below which the share `p` (0..1) of all lies, within QUANTILE_ERROR; exact for values
 * below 16. 0 without any. The layout is that of HdrHistogram (Gil Tene): a power of two and the
 * bits behind it.
 */
double quantile_at(const struct quantile *quantile, double p);

#endif
