/* Arithmetic and traffic as text: the ceilings, FLOPs against time, kernels against their roofs. */
#ifndef REPORT_ROOFLINE_H
#define REPORT_ROOFLINE_H

#include "report.h"
#include "terminal.h"
#include "view.h"

/* One line: which ceilings, and those that matter here: memory, and pipes that kernels use. */
void report_roofline_ceilings(const struct device_report *device, const struct view *view,
			      const struct terminal *terminal);

/* The tables of --view roofline. */
void report_roofline_print(const struct device_report *device, const struct view *view,
			   const struct terminal *terminal);

#endif
