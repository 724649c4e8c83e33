/* Gathering rows by column. */
#include "batch.h"

#include <string.h>

static size_t columns_of(const struct bst_table_info *info)
{
	size_t n = 0;

	while (info->column[n].id)
		n++;
	return n;
}

size_t bst_batch_bytes(const struct bst_table_info *info, uint32_t capacity, uint32_t text_capacity)
{
	size_t bytes = columns_of(info) * capacity * sizeof(uint64_t);

	for (const struct bst_column_info *c = info->column; c->id; c++)
		if (c->encoding == BST_BYTES)
			bytes += text_capacity;
	return bytes;
}

void bst_batch_init(struct bst_batch *batch, const struct bst_table_info *info, uint32_t capacity,
		    uint32_t text_capacity, void *memory)
{
	uint64_t *numbers = memory;
	uint8_t *text;

	memset(batch, 0, sizeof(*batch));
	batch->info = info;
	batch->capacity = capacity;
	batch->text_capacity = text_capacity;
	text = (uint8_t *)(numbers + columns_of(info) * capacity);
	for (const struct bst_column_info *c = info->column; c->id; c++) {
		batch->number[c->id] = numbers;
		numbers += capacity;
		if (strcmp(c->name, "duration") == 0)
			batch->duration_column = c->id;
		if (c->encoding != BST_BYTES)
			continue;
		batch->text[c->id] = text;
		text += text_capacity;
	}
}

/* Keeps the extent of the rows' times for the chunk's header. */
static void note_time(struct bst_batch *batch, uint32_t row)
{
	uint16_t time = batch->info->time_column;
	uint64_t begin, end;

	if (!time)
		return;
	begin = end = batch->number[time][row];
	if (batch->duration_column)
		end += batch->number[batch->duration_column][row];
	if (end < begin)
		end = UINT64_MAX; /* a sentinel for a time or a duration: the row is kept as it came */
	if (batch->rows == 0 || begin < batch->time_min)
		batch->time_min = begin;
	if (batch->rows == 0 || end > batch->time_max)
		batch->time_max = end;
}

static uint32_t clip(uint32_t size, uint32_t most)
{
	return size < most ? size : most;
}

enum bst_status bst_batch_add(struct bst_batch *batch, const struct bst_cell *cells)
{
	const struct bst_column_info *column = batch->info->column;
	uint32_t row = batch->rows;

	if (row == batch->capacity)
		return BST_FULL;
	for (unsigned i = 0; column[i].id; i++) {
		if (column[i].encoding != BST_BYTES)
			continue;
		if (clip(cells[i].size, batch->text_capacity) >
		    batch->text_capacity - batch->text_bytes[column[i].id])
			return BST_FULL;
	}
	for (unsigned i = 0; column[i].id; i++) {
		uint16_t id = column[i].id;
		uint32_t size;

		if (column[i].encoding != BST_BYTES) {
			batch->number[id][row] = cells[i].number;
			continue;
		}
		size = cells[i].text ? clip(cells[i].size, batch->text_capacity) : 0;
		if (size)
			memcpy(batch->text[id] + batch->text_bytes[id], cells[i].text, size);
		batch->text_bytes[id] += size;
		batch->number[id][row] = size;
	}
	note_time(batch, row);
	batch->rows++;
	return BST_OK;
}

enum bst_status bst_batch_add_numbers(struct bst_batch *batch, const uint64_t *numbers)
{
	const struct bst_column_info *column = batch->info->column;

	if (batch->rows == batch->capacity)
		return BST_FULL;
	for (unsigned i = 0; column[i].id; i++)
		batch->number[column[i].id][batch->rows] = numbers[i];
	note_time(batch, batch->rows);
	batch->rows++;
	return BST_OK;
}

void bst_batch_clear(struct bst_batch *batch)
{
	batch->first_row += batch->rows;
	batch->rows = 0;
	memset(batch->text_bytes, 0, sizeof(batch->text_bytes));
	batch->time_min = batch->time_max = 0;
}
