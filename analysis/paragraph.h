/* Running text, wrapped to the width of the terminal. */
#ifndef PARAGRAPH_H
#define PARAGRAPH_H

#include "terminal.h"

/*
 * Prints printable text and a newline, broken at blanks. `used` columns of the first line are taken
 * already; further lines begin after `indent` columns.
 */
void paragraph_print(const struct terminal *terminal, enum style style, const char *text,
		     unsigned used, unsigned indent);

/* Prints a warning: any text, behind a mark. */
void paragraph_warn(const struct terminal *terminal, const char *text);

#endif
