/* Log-linear buckets. */
#include "quantile.h"

/* Values below 2 * QUANTILE_STEPS have a bucket each; then each power of two has QUANTILE_STEPS. */
static unsigned bucket_of(uint64_t value)
{
	unsigned power, bucket;

	if (value < 2 * QUANTILE_STEPS)
		return (unsigned)value;
	power = 63u - (unsigned)__builtin_clzll(value);
	bucket = (power - 2) * QUANTILE_STEPS + (unsigned)(value >> (power - 3)) - QUANTILE_STEPS;
	return bucket < QUANTILE_BUCKETS ? bucket : QUANTILE_BUCKETS - 1;
}

static double middle_of(unsigned bucket)
{
	unsigned power = bucket / QUANTILE_STEPS + 2;
	uint64_t width, low;

	if (bucket < 2 * QUANTILE_STEPS)
		return bucket;
	width = UINT64_C(1) << (power - 3);
	low = (bucket % QUANTILE_STEPS + QUANTILE_STEPS) * width;
	return (double)low + ((double)width - 1) / 2;
}

void quantile_add(struct quantile *quantile, uint64_t value)
{
	uint32_t *bucket = &quantile->bucket[bucket_of(value)];

	if (*bucket == UINT32_MAX)
		return;
	(*bucket)++;
	quantile->count++;
}

double quantile_at(const struct quantile *quantile, double p)
{
	double rank = p * (double)quantile->count;
	uint64_t seen = 0;

	if (!quantile->count)
		return 0;
	for (unsigned i = 0; i < QUANTILE_BUCKETS; i++) {
		seen += quantile->bucket[i];
		if (seen && (double)seen >= rank)
			return middle_of(i);
	}
	return middle_of(QUANTILE_BUCKETS - 1);
}
