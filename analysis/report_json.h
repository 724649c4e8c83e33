/* The report for programs: schema "boundshim.report/1" (DESIGN section 5). Keys may be added, never
 * renamed. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <stdio.h>

#include "view.h"

/*
 * Prints one JSON object and a newline, valid UTF-8 whatever the trace holds. Both windows are
 * there whatever view->whole says; view->top 0 means all kernels. Returns 0, or -1 when memory ran
 * out or the stream took no more.
 */
int report_json_print(const struct report *report, const struct view *view, FILE *out);

#endif
