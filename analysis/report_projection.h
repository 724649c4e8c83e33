/* The text of `report --on`: a trace under the roofs of another GPU. */
#ifndef REPORT_PROJECTION_H
#define REPORT_PROJECTION_H

#include "terminal.h"
#include "view.h"

/* Nothing where the view asks for no other GPU or no kernel was traced. */
void report_projection_print(const struct device_report *device, const struct view *view,
			     const struct terminal *terminal);

#endif
