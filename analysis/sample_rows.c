/* Rows side by side in three arrays. */
#include "sample_rows.h"

#include <string.h>

#include "array.h"

/* Columns with fewer rows than this lose none as long as others can. */
#define FEW_ROWS 256

#define ENTRY_BYTES (sizeof(uint16_t) + sizeof(float))

int sample_rows_init(struct sample_rows *rows, size_t budget_bytes)
{
	memset(rows, 0, sizeof(*rows));
	rows->budget_bytes = budget_bytes;
	rows->touched = calloc(SAMPLE_COLUMNS, sizeof(*rows->touched));
	return rows->touched ? 0 : -1;
}

void sample_rows_fini(struct sample_rows *rows)
{
	free(rows->row);
	free(rows->column);
	free(rows->share);
	free(rows->value);
	free(rows->touched);
	memset(rows, 0, sizeof(*rows));
}

static size_t bytes_of(const struct sample_rows *rows)
{
	return rows->count * sizeof(struct sample_row) + rows->entries * ENTRY_BYTES +
	       rows->values * sizeof(float);
}

/* The finalizer of MurmurHash3 (public domain, Austin Appleby): every bit depends on every bit. */
static uint32_t scatter(uint32_t x)
{
	x ^= x >> 16;
	x *= UINT32_C(0x85ebca6b);
	x ^= x >> 13;
	x *= UINT32_C(0xc2b2ae35);
	return x ^ x >> 16;
}

static bool is_chosen(const struct sample_rows *rows, uint32_t serial)
{
	return !(scatter(serial) & ((UINT32_C(1) << rows->level) - 1));
}

static bool has_rare(const struct sample_rows *rows, const uint16_t *column, size_t count,
		     uint32_t few)
{
	for (size_t i = 0; i < count; i++)
		if (rows->touched[column[i]] < few)
			return true;
	return false;
}

static void touch(struct sample_rows *rows, const uint16_t *column, size_t count, int by)
{
	for (size_t i = 0; i < count; i++)
		rows->touched[column[i]] += (uint32_t)by;
}

/* Moves a row down to where the kept ones end. */
static void keep_row(struct sample_rows *rows, const struct sample_row *from)
{
	struct sample_row row = *from;
	size_t values = (size_t)__builtin_popcount(row.present);

	memmove(&rows->column[rows->entries], &rows->column[row.entry],
		row.entries * sizeof(*rows->column));
	memmove(&rows->share[rows->entries], &rows->share[row.entry],
		row.entries * sizeof(*rows->share));
	memmove(&rows->value[rows->values], &rows->value[row.value], values * sizeof(*rows->value));
	row.entry = (uint32_t)rows->entries;
	row.value = (uint32_t)rows->values;
	rows->entries += row.entries;
	rows->values += values;
	rows->row[rows->count++] = row;
}

static void drop_half(struct sample_rows *rows, uint32_t few)
{
	size_t count = rows->count;

	rows->level++;
	rows->count = rows->entries = rows->values = 0;
	for (size_t i = 0; i < count; i++) {
		const struct sample_row *row = &rows->row[i];
		const uint16_t *column = &rows->column[row->entry];

		if (is_chosen(rows, row->serial) || has_rare(rows, column, row->entries, few))
			keep_row(rows, row);
		else
			touch(rows, column, row->entries, -1);
	}
}

static void thin(struct sample_rows *rows)
{
	uint32_t few = FEW_ROWS;

	while (rows->count && bytes_of(rows) > rows->budget_bytes / 4 * 3 && rows->level < 31) {
		drop_half(rows, few);
		few /= 2;
	}
}

static int reserve(struct sample_rows *rows, const struct sample_row_in *in)
{
	size_t entries = rows->entries + in->entries, values = rows->values + 32;

	return array_reserve((void **)&rows->row, &rows->row_capacity, rows->count + 1,
			     sizeof(*rows->row)) ||
			       array_reserve((void **)&rows->column, &rows->column_capacity,
					     entries, sizeof(*rows->column)) ||
			       array_reserve((void **)&rows->share, &rows->share_capacity, entries,
					     sizeof(*rows->share)) ||
			       array_reserve((void **)&rows->value, &rows->value_capacity, values,
					     sizeof(*rows->value))
		       ? -1
		       : 0;
}

int sample_rows_add(struct sample_rows *rows, const struct sample_row_in *in)
{
	struct sample_row row = {.entry = (uint32_t)rows->entries,
				 .value = (uint32_t)rows->values,
				 .present = in->present,
				 .serial = rows->serial++,
				 .entries = in->entries,
				 .length_ns = in->length_ns,
				 .first_column = in->first_column,
				 .last_column = in->last_column};

	if (!is_chosen(rows, row.serial) && !has_rare(rows, in->column, in->entries, FEW_ROWS))
		return 0;
	if (reserve(rows, in))
		return -1;
	memcpy(&rows->column[rows->entries], in->column, in->entries * sizeof(*in->column));
	memcpy(&rows->share[rows->entries], in->share, in->entries * sizeof(*in->share));
	for (unsigned m = 0; m < 32; m++)
		if (in->present >> m & 1)
			rows->value[rows->values++] = (float)in->value[m];
	rows->entries += in->entries;
	rows->row[rows->count++] = row;
	touch(rows, in->column, in->entries, 1);
	if (bytes_of(rows) > rows->budget_bytes)
		thin(rows);
	return 0;
}
