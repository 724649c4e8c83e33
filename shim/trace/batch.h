/* Encoding: rows of one table are gathered by column, then become one chunk. */
#ifndef BST_BATCH_H
#define BST_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "schema.h"
#include "status.h"

/*
 * Rows of one table on their way into a chunk. Lives in memory that the caller gives (bst_batch_bytes), allocates nothing.
 * One thread at a time.
 */
struct bst_batch {
	const struct bst_table_info *info;
	uint32_t rows;
	uint32_t capacity;
	uint64_t first_row; /* rows of this table encoded before */
	uint64_t time_min;
	uint64_t time_max;
	uint16_t duration_column;           /* id of the column named "duration", 0 if none */
	uint64_t *number[BST_COLUMN_LIMIT]; /* by column id; for text columns the lengths */
	uint8_t *text[BST_COLUMN_LIMIT];
	uint32_t text_bytes[BST_COLUMN_LIMIT];
	uint32_t text_capacity; /* of each text column */
};

/* A value for bst_batch_add: number or text, by the column's encoding. */
struct bst_cell {
	uint64_t number;
	const char *text; /* NULL = empty */
	uint32_t size;
};

/* Memory that a batch of `capacity` rows and `text_capacity` bytes in each of its text columns needs. */
size_t bst_batch_bytes(const struct bst_table_info *info, uint32_t capacity,
		       uint32_t text_capacity);

/* Places a batch in `memory`, aligned to 8, of at least bst_batch_bytes. */
void bst_batch_init(struct bst_batch *batch, const struct bst_table_info *info, uint32_t capacity,
		    uint32_t text_capacity, void *memory);

/*
 * Appends a row: `cells` has one cell for each column of the table, in the order of tables.def. BST_FULL when rows or text
 * are full and nothing was added; a text longer than text_capacity is cut to it.
 */
enum bst_status bst_batch_add(struct bst_batch *batch, const struct bst_cell *cells);

/* The same for tables without text columns: plain numbers, in the order of tables.def. */
enum bst_status bst_batch_add_numbers(struct bst_batch *batch, const uint64_t *numbers);

/* Forgets the rows, which count as encoded: first_row moves on. */
void bst_batch_clear(struct bst_batch *batch);

#endif
