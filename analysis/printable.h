/* Text from a trace made safe to print: valid UTF-8, no control characters, bounded. */
#ifndef PRINTABLE_H
#define PRINTABLE_H

#include <stddef.h>

enum printable_for {
	PRINTABLE_LINE, /* a terminal: every control character becomes \xHH, newline and tab too */
	PRINTABLE_JSON, /* newline and tab stay: JSON has its own escapes for them */
};

/*
 * A copy of `text` (NULL counts as empty) in which invalid bytes are U+FFFD and control characters
 * (C0, DEL, C1, and the invisible ones that reorder or hide text) are spelled out, cut to `limit`
 * bytes and "..." behind them. The caller frees it. Exits when out of memory.
 */
char *printable_copy(const char *text, enum printable_for target, size_t limit);

/* Text of a trace on a line of its own or in a cell, cut to `columns`. The caller frees it. Exits
 * when out of memory. */
char *printable_line(const char *text, size_t columns);

/* Columns that valid UTF-8 takes on a terminal. */
size_t printable_columns(const char *text);

/* A copy for a line of its own or a cell, of at most `columns`. The caller frees it. Exits when out
 * of memory. */
char *printable_line(const char *text, size_t columns);

/* Cuts valid UTF-8 in place to at most `columns`, ending it in "..." if it was longer. */
void printable_cut(char *text, size_t columns);

#endif
