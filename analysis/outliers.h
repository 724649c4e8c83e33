/* What was different in the steps set apart. */
#ifndef OUTLIERS_H
#define OUTLIERS_H

#include "report.h"

struct outliers {
	bool known;
	double mean_ns;             /* of an outlier */
	double more_ns[LEAF_COUNT]; /* of each leaf, than a step has: means; negative for less */
	enum leaf grew;             /* most */
};

/* Not known without steps or without outliers. */
struct outliers outliers_of(const struct device_report *device);

#endif
