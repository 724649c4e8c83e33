/* Measuring and printing of aligned columns. */
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

#define INDENT 2
#define APART  2

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

static void pad(const struct terminal *terminal, size_t columns)
{
	fprintf(terminal->out, "%*s", (int)columns, "");
}

/* Prints one line; `text` gives its cells. The last printed column is cut, not padded. */
static void print_line(const struct table *table, const struct terminal *terminal,
		       const size_t *width, char *const *text)
{
	size_t columns = column_count(table), used = 0, last = 0;

	for (size_t i = 0; i < columns; i++)
		if (width[i])
			last = i;
	for (size_t i = 0; i < columns; i++) {
		size_t gap = used ? APART : INDENT, own = printable_columns(text[i]);

		if (!width[i])
			continue;
		pad(terminal, gap);
		used += gap;
		if (i == last) {
			size_t left = terminal->columns > used ? terminal->columns - used : 0;
			char *cell = strdup(text[i]);

			if (cell)
				printable_cut(cell, left < 12 ? 12 : left);
			fputs(cell ? cell : "", terminal->out);
			free(cell);
			break;
		}
		if (*table->headings[i] == '>')
			pad(terminal, width[i] - own);
		fputs(text[i], terminal->out);
		if (*table->headings[i] != '>')
			pad(terminal, width[i] - own);
		used += width[i];
	}
	fputc('\n', terminal->out);
}

void table_print(const struct table *table, const struct terminal *terminal)
{
	size_t columns = column_count(table), width[TABLE_COLUMNS];
	char *names[TABLE_COLUMNS];

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
