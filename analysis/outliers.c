/* Means of outliers against means of steps. */
#include "outliers.h"

struct outliers outliers_of(const struct device_report *device)
{
	const struct steps *steps = &device->steps;
	struct outliers o = {.known = steps->known && steps->count && steps->outlier_count};

	for (unsigned i = 0; o.known && i < LEAF_COUNT; i++) {
		double mean = (double)steps->outlier_ns[i] / (double)steps->outlier_count;

		o.mean_ns += mean;
		o.more_ns[i] = mean - (double)device->steady.leaf_ns[i] / (double)steps->count;
		if (o.more_ns[i] > o.more_ns[o.grew])
			o.grew = (enum leaf)i;
	}
	return o;
}
