/* A trace file as the shim left it, for tests that look at its rows. */
#ifndef BOUNDSHIM_TESTS_UNIT_TRACE_FILE_H
#define BOUNDSHIM_TESTS_UNIT_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "shim/trace/reader.h"
#include "shim/trace/rows.h"

struct trace_file {
	uint8_t *data;
	size_t size;
	struct bst_reader reader; /* after a walk to the end */
	int complete;
	unsigned undecoded; /* chunks whose columns do not decode */
};

/* Reads and walks the file; the test fails when it cannot be opened or is refused. */
void trace_load(struct trace_file *t, const char *path);
void trace_free(struct trace_file *t);

/* Rows of a table. */
uint64_t trace_count(const struct trace_file *t, uint16_t table);

/* All values of a column of numbers, in file order, malloced; their number through `count`. */
uint64_t *trace_numbers(const struct trace_file *t, uint16_t table, unsigned column, size_t *count);

/* The text of a row, malloced and terminated; the test fails when there is no such row. `size` may
 * be NULL. */
char *trace_text(const struct trace_file *t, uint16_t table, unsigned column, size_t row,
		 size_t *size);

/* The last value of a `meta` key, malloced, or NULL. */
char *trace_meta(const struct trace_file *t, const char *key);

/* Rows lost for this cause, as the last good chunk says. */
uint32_t trace_lost(const struct trace_file *t, unsigned cause);

/* What is printed on stderr between the two calls; the text is malloced. */
void stderr_begin(void);
char *stderr_end(void);
unsigned lines_of(const char *text);

#endif
