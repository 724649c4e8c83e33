/* A table of text: columns as wide as their cells, the last one cut to what is left of the line. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>

#include "terminal.h"

#define TABLE_COLUMNS 12

/* Zero it to begin. One heading per column: a leading '>' aligns the column to the right. */
struct table {
	const char *const *headings; /* ends with NULL; static */
	char **cells;                /* row by row, owned */
	size_t cell_count;
	size_t cell_room;
};

void table_init(struct table *table, const char *const *headings);
void table_fini(struct table *table);

/* The next cell, rows filled from the left. Text must be printable already. Exits when out of
 * memory. */
__attribute__((format(printf, 2, 3))) void table_add(struct table *table, const char *format, ...);

/* Prints headings and rows, indented by two. A column whose cells are all empty is left out. */
void table_print(const struct table *table, const struct terminal *terminal);

#endif
