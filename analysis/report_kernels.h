/* The table of kernels: how long, bound by what, on which evidence. */
#ifndef REPORT_KERNELS_H
#define REPORT_KERNELS_H

#include "report.h"
#include "table.h"
#include "view.h"

/* A label believed less carries a question mark. */
#define CONFIDENCE_UNSURE 0.5

/* Nothing where there are no kernels. */
void report_kernels_print(const struct device_report *device, const struct view *view,
			  const struct terminal *terminal);

/* A cell with the name of kernel `index`; its geometry too where another of the first `shown` has
 * the same short name. */
void report_kernels_add_name(struct table *table, const struct device_report *device, size_t shown,
			     size_t index);

#endif
