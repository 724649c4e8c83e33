/* The comparison of two runs for programs: schema "boundshim.diff/1". Keys may be added, never
 * renamed. */
#ifndef DIFF_JSON_H
#define DIFF_JSON_H

#include <stdio.h>

#include "diff.h"

/* Prints one JSON object and a newline; view->top 0 means all kernels, changed or not. Returns 0, or
 * -1 when memory ran out or the stream took no more. */
int diff_json_print(const struct diff *diff, const struct view *view, FILE *out);

#endif
