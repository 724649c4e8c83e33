/* The operators, as text and as meaning. */
#include "comparison.h"

#include <string.h>

const char *comparison_parse(const char *p, enum comparison *comparison)
{
	static const struct {
		const char *text;
		enum comparison comparison;
	} all[] = {{"<=", LESS_EQUAL}, {">=", GREATER_EQUAL}, {"==", EQUAL}, {"!=", NOT_EQUAL},
		   {"<", LESS},        {">", GREATER},        {"=", EQUAL}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strncmp(p, all[i].text, strlen(all[i].text)))
			continue;
		*comparison = all[i].comparison;
		return p + strlen(all[i].text);
	}
	return NULL;
}

bool comparison_holds(enum comparison comparison, double left, double right)
{
	switch (comparison) {
	case LESS:
		return left < right;
	case LESS_EQUAL:
		return left <= right;
	case EQUAL:
		return left == right;
	case NOT_EQUAL:
		return left != right;
	case GREATER_EQUAL:
		return left >= right;
	default:
		return left > right;
	}
}
