/* The comparison operators of --fail-if expressions. */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stdbool.h>

enum comparison {
	LESS,
	LESS_EQUAL,
	EQUAL,
	NOT_EQUAL,
	GREATER_EQUAL,
	GREATER
};

/* Reads one of < <= == = != >= > at the beginning of `p`: what follows it, or NULL. */
const char *comparison_parse(const char *p, enum comparison *comparison);

bool comparison_holds(enum comparison comparison, double left, double right);

#endif
