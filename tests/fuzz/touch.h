/* Reads every value and every byte of text of some rows, so that the sanitizers see what they point
 * at. */
#ifndef BOUNDSHIM_TESTS_FUZZ_TOUCH_H
#define BOUNDSHIM_TESTS_FUZZ_TOUCH_H

#include "shim/trace/rows.h"

static inline uint64_t touch_text(const struct bst_text *texts, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < texts[i].size; j++)
			sum += texts[i].data[j];
	return sum;
}

static inline uint64_t touch_rows(const struct bst_rows *rows)
{
	uint64_t sum = 0;

	for (unsigned c = 0; c < BST_COLUMN_LIMIT; c++) {
		if (rows->text[c])
			sum += touch_text(rows->text[c], rows->count);
		for (uint32_t i = 0; rows->number[c] && i < rows->count; i++)
			sum += rows->number[c][i];
	}
	return sum;
}

#endif
