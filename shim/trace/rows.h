/* Decoding: the rows of one table chunk, from bytes that nobody vouches for. */
#ifndef BST_ROWS_H
#define BST_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"
#include "schema.h"
#include "status.h"

struct bst_text {
	const uint8_t *data; /* not terminated */
	uint32_t size;
};

/*
 * The decoded rows. `number[column id]` is an array of `count` values, `text[column id]` likewise; both NULL where the
 * chunk lacks the column (unknown, not zero). Memory belongs to this struct and is reused by the next decode. A column
 * that the table has in this version is of the kind, number or text, that tables.def says; others are counted and not kept.
 */
struct bst_rows {
	uint16_t table;
	uint32_t count;
	uint64_t first_row;
	uint64_t time_min;
	uint64_t time_max;
	const uint64_t *number[BST_COLUMN_LIMIT];
	const struct bst_text *text[BST_COLUMN_LIMIT];
	unsigned skipped_columns;
	void *block[BST_COLUMN_LIMIT];
	size_t block_bytes[BST_COLUMN_LIMIT];
	uint8_t *raw;
	size_t raw_bytes;
	void *inflater;
};

void bst_rows_init(struct bst_rows *rows);
void bst_rows_fini(struct bst_rows *rows);

/* Only the table header of a payload, nothing decoded: table, count, first_row, time_min, time_max. */
enum bst_status bst_rows_peek(const uint8_t *payload, size_t size, struct bst_rows *rows);

/*
 * Decodes the columns whose bit (1 << column id) is set in `wanted`; the others are checked for size and skipped. Text in
 * `rows` may point into `payload` (stored columns) and lives as long as both. On failure `rows` holds nothing. Of a table
 * unknown to this version only the header is judged: BST_OK, and no column is decoded.
 * BST_NO_MEMORY, or the reason why the chunk is not valid. Safe on any bytes.
 */
enum bst_status bst_rows_decode(struct bst_rows *rows, const uint8_t *payload, size_t size,
				uint32_t wanted);

#define BST_ALL_COLUMNS UINT32_MAX

/* Value of a column in a row, or `otherwise` where the chunk lacks the column. */
static inline uint64_t bst_value(const struct bst_rows *rows, unsigned column, uint32_t row,
				 uint64_t otherwise)
{
	return rows->number[column] ? rows->number[column][row] : otherwise;
}

#endif
