/* The values of which every JSON output is made: text, numbers, measures, verdicts. */
#ifndef JSON_VALUE_H
#define JSON_VALUE_H

#include <jansson.h>

#include "report.h"

/* All of these return a new reference. */

/* Text of a trace as valid UTF-8; null where there is none. */
json_t *json_text(const char *text);
json_t *json_count(uint64_t count);
/* JSON has no infinity: a number that is none is null. */
json_t *json_number(double value);
/* {value, low, high}, or null. */
json_t *json_measure(const struct measure *measure);
json_t *json_verdict(const struct verdict *verdict);
json_t *json_three(const uint32_t size[3]);

/* Prints one object (NULL: it could not be built) and a newline. 0, or -1 when memory ran out or
 * the stream took no more. */
int json_write(const json_t *root, FILE *out);

#endif
