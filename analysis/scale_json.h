/* How time grows with work, for programs: schema "boundshim.scale/1". Keys may be added, never
 * renamed. */
#ifndef SCALE_JSON_H
#define SCALE_JSON_H

#include <stdio.h>

#include "scale.h"

/* Prints one JSON object and a newline; view->top 0 means all kernels. Lists of times are in the
 * order of `runs`, smallest work first. Returns 0, or -1 when memory ran out or the stream took no
 * more. */
int scale_json_print(const struct scale *scale, const struct view *view, FILE *out);

#endif
