/* Making and writing of JSON values. */
#include "json_value.h"

#include <math.h>
#include <stdlib.h>

#include "printable.h"

#define TEXT_LIMIT 16384

json_t *json_text(const char *text)
{
	char *clean;
	json_t *json;

	if (!text)
		return json_null();
	clean = printable_copy(text, PRINTABLE_JSON, TEXT_LIMIT);
	json = json_string(clean);
	free(clean);
	return json;
}

json_t *json_count(uint64_t count)
{
	return json_integer(count > INT64_MAX ? INT64_MAX : (json_int_t)count);
}

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_measure(const struct measure *measure)
{
	if (!measure->known || !isfinite(measure->value))
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "value", json_number(measure->value), "low",
			 json_number(measure->low), "high", json_number(measure->high));
}

json_t *json_verdict(const struct verdict *verdict)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "regime", regime_name(verdict->regime),
			 "leaf", leaf_name(verdict->leaf), "share", json_number(verdict->share),
			 "confidence", json_number(verdict->confidence), "sentence",
			 json_text(verdict->sentence));
}

json_t *json_three(const uint32_t size[3])
{
	return json_pack("[o, o, o]", json_count(size[0]), json_count(size[1]),
			 json_count(size[2]));
}

int json_write(const json_t *root, FILE *out)
{
	int status = root ? json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : -1;

	if (status == 0 && fputc('\n', out) == EOF)
		status = -1;
	return status;
}
