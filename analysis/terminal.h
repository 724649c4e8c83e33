/* Where a report is printed: how wide it is and whether it takes colour. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

enum color_when {
	COLOR_AUTO, /* on a terminal, unless NO_COLOR is set (no-color.org) or TERM is dumb */
	COLOR_ALWAYS,
	COLOR_NEVER,
};

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_COMPUTE,
	STYLE_MEMORY,
	STYLE_OVERHEAD,
	STYLE_WARNING,
};

struct terminal {
	FILE *out;
	unsigned columns; /* 60 to 160; 100 where nobody says */
	bool color;
};

/* Width from COLUMNS, else the terminal's own. */
struct terminal terminal_of(FILE *out, enum color_when when);

/* Begins and ends a style; nothing without colour. STYLE_PLAIN ends. */
void terminal_style(const struct terminal *terminal, enum style style);

/* Prints in a style. */
__attribute__((format(printf, 3, 4))) void terminal_print(const struct terminal *terminal,
							  enum style style, const char *format,
							  ...);

/* Makes the process exit with status 1, once it exits, if what it printed did not reach standard
 * output. */
void terminal_check_at_exit(void);

#endif
