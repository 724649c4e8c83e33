/* Samples and what ran in them, kept for solving: a bounded store of sparse rows that thins itself.
 */
#ifndef SAMPLE_ROWS_H
#define SAMPLE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_COLUMNS 65536
#define SAMPLE_ENTRIES 256 /* of a row, at most */

struct sample_row {
	uint32_t entry;   /* index of its first entry */
	uint32_t value;   /* index of its first value */
	uint32_t present; /* bit m: it has metric m; values stand in the order of bits */
	uint32_t serial;  /* its number among all rows ever added */
	uint32_t entries;
	float length_ns;
	uint16_t first_column; /* what ran as it began; the same as the other where that is not one
				  column */
	uint16_t last_column;  /* as it ended */
};

/*
 * When the budget is used up, half of the rows go, and of those to come only half are taken: chosen
 * by a hash of their number, so that no rhythm of the program meets one of ours. Rows with a column
 * that few rows have stay as long as that is possible. The choice looks at what ran, never at what
 * was measured, so that it biases nothing.
 */
struct sample_rows {
	struct sample_row *row;
	size_t count, row_capacity;
	uint16_t *column; /* of entries */
	float *share; /* of entries: of the sample's length; above 1 where launches of one column
			 overlap */
	size_t entries, column_capacity, share_capacity;
	float *value;
	size_t values, value_capacity;
	uint32_t *touched; /* rows kept that have a column, by column */
	size_t budget_bytes;
	uint32_t serial; /* of the next row */
	unsigned level;  /* one of 2^level rows is taken */
};

/* One row on its way in. */
struct sample_row_in {
	uint32_t present;
	const double *value; /* by metric; only those present are read */
	const uint16_t *column;
	const float *share;
	uint32_t entries;
	float length_ns;
	uint16_t first_column, last_column;
};

/* -1 without memory. `budget_bytes` bounds the rows, which is nearly all. */
int sample_rows_init(struct sample_rows *rows, size_t budget_bytes);
void sample_rows_fini(struct sample_rows *rows);

/* -1 without memory; a row that is not taken is no error. */
int sample_rows_add(struct sample_rows *rows, const struct sample_row_in *in);

/* Where the value of `metric`, which must be present, stands in rows->value. */
static inline size_t sample_rows_value(const struct sample_row *row, unsigned metric)
{
	uint32_t before = row->present & ((UINT32_C(1) << metric) - 1);

	return row->value + (size_t)__builtin_popcount(before);
}

#endif
