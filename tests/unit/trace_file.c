/* Reading back what the shim wrote, with the C reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/trace_file.h"

typedef void (*row_function)(const struct bst_rows *rows, uint32_t row, void *data);

/* Calls `each` for all rows of a table (0 = all tables). Returns how many chunks did not decode. */
static unsigned walk(const struct trace_file *t, struct bst_reader *reader, uint16_t table,
		     row_function each, void *data)
{
	struct bst_chunk chunk;
	struct bst_rows rows;
	unsigned bad = 0;

	assert_int_equal(bst_reader_init(reader, t->data, t->size), BST_OK);
	bst_rows_init(&rows);
	while (bst_reader_next(reader, &chunk)) {
		if (chunk.type != BST_CHUNK_TABLE)
			continue;
		if (bst_rows_decode(&rows, chunk.payload, chunk.payload_bytes, BST_ALL_COLUMNS) !=
		    BST_OK) {
			bad++;
			continue;
		}
		for (uint32_t i = 0; each && i < rows.count && rows.table == table; i++)
			each(&rows, i, data);
	}
	bst_rows_fini(&rows);
	return bad;
}

void trace_load(struct trace_file *t, const char *path)
{
	FILE *f = fopen(path, "rb");

	memset(t, 0, sizeof(*t));
	if (!f)
		fail_msg("%s: cannot be opened", path);
	fseek(f, 0, SEEK_END);
	t->size = (size_t)ftell(f);
	rewind(f);
	t->data = malloc(t->size + 1);
	assert_non_null(t->data);
	assert_int_equal(fread(t->data, 1, t->size, f), t->size);
	fclose(f);
	t->undecoded = walk(t, &t->reader, 0, NULL, NULL);
	t->complete = bst_reader_complete(&t->reader);
}

void trace_free(struct trace_file *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}

static void count_row(const struct bst_rows *rows, uint32_t row, void *data)
{
	(void)rows;
	(void)row;
	++*(uint64_t *)data;
}

uint64_t trace_count(const struct trace_file *t, uint16_t table)
{
	struct bst_reader reader;
	uint64_t count = 0;

	walk(t, &reader, table, count_row, &count);
	return count;
}

struct gathered {
	unsigned column;
	size_t count;
	uint64_t *values;
};

static void gather(const struct bst_rows *rows, uint32_t row, void *data)
{
	struct gathered *g = data;

	g->values[g->count++] = bst_value(rows, g->column, row, UINT64_MAX);
}

uint64_t *trace_numbers(const struct trace_file *t, uint16_t table, unsigned column, size_t *count)
{
	struct gathered g = {.column = column};
	struct bst_reader reader;

	g.values = calloc(trace_count(t, table) + 1, sizeof(uint64_t));
	assert_non_null(g.values);
	walk(t, &reader, table, gather, &g);
	*count = g.count;
	return g.values;
}

struct wanted_text {
	unsigned column;
	size_t row;
	size_t at;
	size_t size;
	char *text;
};

static void take_text(const struct bst_rows *rows, uint32_t row, void *data)
{
	struct wanted_text *w = data;
	const struct bst_text *text = rows->text[w->column];

	if (w->at++ != w->row || !text)
		return;
	w->size = text[row].size;
	w->text = malloc(w->size + 1);
	assert_non_null(w->text);
	memcpy(w->text, text[row].data, w->size);
	w->text[w->size] = 0;
}

char *trace_text(const struct trace_file *t, uint16_t table, unsigned column, size_t row,
		 size_t *size)
{
	struct wanted_text w = {.column = column, .row = row};
	struct bst_reader reader;

	walk(t, &reader, table, take_text, &w);
	if (!w.text)
		fail_msg("table %u has no row %zu", (unsigned)table, row);
	if (size)
		*size = w.size;
	return w.text;
}

struct wanted_meta {
	const char *key;
	char *value;
};

static void take_meta(const struct bst_rows *rows, uint32_t row, void *data)
{
	const struct bst_text *key = &rows->text[BST_META_KEY][row];
	const struct bst_text *value = &rows->text[BST_META_VALUE][row];
	struct wanted_meta *w = data;

	if (key->size != strlen(w->key) || memcmp(key->data, w->key, key->size) != 0)
		return;
	free(w->value);
	w->value = malloc((size_t)value->size + 1);
	assert_non_null(w->value);
	memcpy(w->value, value->data, value->size);
	w->value[value->size] = 0;
}

char *trace_meta(const struct trace_file *t, const char *key)
{
	struct wanted_meta w = {.key = key};
	struct bst_reader reader;

	walk(t, &reader, BST_TABLE_META, take_meta, &w);
	return w.value;
}

uint32_t trace_lost(const struct trace_file *t, unsigned cause)
{
	return t->reader.losses[cause - 1];
}

static FILE *captured;
static int real_stderr;

void stderr_begin(void)
{
	fflush(stderr);
	captured = tmpfile();
	assert_non_null(captured);
	real_stderr = dup(STDERR_FILENO);
	dup2(fileno(captured), STDERR_FILENO);
}

char *stderr_end(void)
{
	long size;
	char *text;

	fflush(stderr);
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	fseek(captured, 0, SEEK_END);
	size = ftell(captured);
	rewind(captured);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)size, captured), size);
	fclose(captured);
	return text;
}

unsigned lines_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}
