/* The report for people. */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include "terminal.h"
#include "view.h"

/* Prints the part of the report that `view` asks for: the verdict first, one block per process and
 * device, losses last. */
void report_text_print(const struct report *report, const struct view *view,
		       const struct terminal *terminal);

#endif
