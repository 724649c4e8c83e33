/* Measuring and printing of aligned columns. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

#define INDENT 2
#define APART 2
#define LAST_LEAST 12 /* columns of the last column, however narrow the terminal */

void table_init(struct table *table, const char *const *headings)
{
	*table = (struct table){.headings = headings};
}

void table_fini(struct table *table)
{
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){0};
}

static size_t column_count(const struct table *table)
{
	size_t n = 0;

	while (table->headings[n])
		n++;
	return n;
}

void table_add(struct table *table, const char *format, ...)
{
	va_list args;
	char *cell;

	if (table->cell_count == table->cell_room) {
		table->cell_room = table->cell_room ? 2 * table->cell_room : 64;
		table->cells = realloc(table->cells, table->cell_room * sizeof(*table->cells));
	}
	va_start(args, format);
	if (!table->cells || vasprintf(&cell, format, args) < 0) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	va_end(args);
	table->cells[table->cell_count++] = cell;
}

static const char *heading(const struct table *table, size_t column)
{
	const char *text = table->headings[column];

	return *text == '>' ? text + 1 : text;
}

/* 0 for a column that has nothing to say. */
static size_t column_width(const struct table *table, size_t column)
{
	size_t columns = column_count(table), width = 0;

	for (size_t i = column; i < table->cell_count; i += columns) {
		size_t w = printable_columns(table->cells[i]);

		width = w > width ? w : width;
	}
	if (width && printable_columns(heading(table, column)) > width)
		width = printable_columns(heading(table, column));
	return width;
}

/* Prints one line; `text` gives its cells. The last column is cut to what is left, and no line ends
 * in blanks. */
static void print_line(const struct table *table, const struct terminal *terminal,
		       const size_t *width, char *const *text)
{
	size_t columns = column_count(table), at = 0, begin = INDENT, last = 0;

	for (size_t i = 0; i < columns; i++)
		if (width[i])
			last = i;
	for (size_t i = 0; i <= last; i++) {
		size_t own = printable_columns(text[i]), left;
		bool right = *table->headings[i] == '>';
		char *cell;

		if (!width[i])
			continue;
		left = terminal->columns > begin ? terminal->columns - begin : 0;
		cell = strdup(text[i]);
		if (cell && i == last && !right)
			printable_cut(cell, left < LAST_LEAST ? LAST_LEAST : left);
		if (cell && own) {
			size_t pad = begin - at + (right ? width[i] - own : 0);

			fprintf(terminal->out, "%*s%s", (int)pad, "", cell);
			at += pad + printable_columns(cell);
		}
		free(cell);
		begin += width[i] + APART;
	}
	fputc('\n', terminal->out);
}

void table_print(const struct table *table, const struct terminal *terminal)
{
	size_t columns = column_count(table), width[TABLE_COLUMNS] = {0};
	char *names[TABLE_COLUMNS] = {NULL};

	for (size_t i = 0; i < columns; i++) {
		width[i] = column_width(table, i);
		names[i] = (char *)heading(table, i);
	}
	terminal_style(terminal, STYLE_DIM);
	print_line(table, terminal, width, names);
	terminal_style(terminal, STYLE_PLAIN);
	for (size_t i = 0; i + columns <= table->cell_count; i += columns)
		print_line(table, terminal, width, table->cells + i);
}
