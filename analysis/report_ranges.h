/* The table of NVTX ranges of the first screen. */
#ifndef REPORT_RANGES_H
#define REPORT_RANGES_H

#include "report.h"
#include "terminal.h"
#include "view.h"

/* Nothing where the trace has no ranges. */
void report_ranges_print(const struct device_report *device, const struct view *view,
			 const struct terminal *terminal);

#endif
