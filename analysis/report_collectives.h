/* The part of the text report that puts the collectives of several ranks beside each other. */
#ifndef REPORT_COLLECTIVES_H
#define REPORT_COLLECTIVES_H

#include "report.h"
#include "terminal.h"

/* Nothing where fewer than two ranks ran collectives. */
void report_collectives_print(const struct report *report, const struct terminal *terminal);

#endif
