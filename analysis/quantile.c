/* Log-linear buckets. */
#include "quantile.h"

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
