/* Figures of a report by the names that --fail-if expressions use: "step_ms", "overhead_pct". */
#ifndef FIGURE_H
#define FIGURE_H

#include "view.h"

/* The value of a figure of a device, in the view's window; false where the trace does not know it,
 * or where there is none of that name. */
bool figure_of_device(const struct device_report *device, const struct view *view, const char *name,
		      double *value);
/* The same for a figure of a process. */
bool figure_of_process(const struct process_report *process, const char *name, double *value);

/* Is there a figure of that name? */
bool figure_exists(const char *name);

#endif
