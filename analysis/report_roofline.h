/* Arithmetic and traffic as text: the ceilings, FLOPs against time, kernels against their roofs. */
#ifndef REPORT_ROOFLINE_H
#define REPORT_ROOFLINE_H

#include "report.h"
#include "terminal.h"
#include "view.h"

struct roof_name {
	char text[24];
};

/* "memory", "tensor bf16", "fp32". */
struct roof_name report_roofline_name(enum ceiling ceiling);

/* Does the pipe do FLOPs in kernels of more than a twentieth of the kernels' time? */
bool report_roofline_uses(const struct device_report *device, enum ceiling pipe);

/* One line: which ceilings, and those that matter here: memory, and pipes that kernels use. */
void report_roofline_ceilings(const struct device_report *device, const struct view *view,
			      const struct terminal *terminal);

/* The tables of --view roofline. */
void report_roofline_print(const struct device_report *device, const struct view *view,
			   const struct terminal *terminal);

#endif
