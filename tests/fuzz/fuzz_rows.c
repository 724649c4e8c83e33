/* One table payload: decoded whole, then a part of its columns; both must agree. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/touch.h"

static void must(int good)
{
	if (!good)
		abort();
}

/* What the second decoding has, the first had too, and the same. */
static void compare(const struct bst_rows *all, const struct bst_rows *some)
{
	must(some->count == all->count && some->table == all->table);
	must(some->skipped_columns == all->skipped_columns);
	for (unsigned c = 0; c < BST_COLUMN_LIMIT; c++) {
		if (some->number[c])
			must(memcmp(some->number[c], all->number[c],
				    all->count * sizeof(uint64_t)) == 0);
		for (uint32_t i = 0; some->text[c] && i < all->count; i++)
			must(some->text[c][i].size == all->text[c][i].size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t wanted = size ? data[size - 1] * UINT32_C(0x01010101) : 0;
	struct bst_rows all, some, head = {.count = 0};
	volatile uint64_t sink;

	bst_rows_init(&all);
	bst_rows_init(&some);
	if (bst_rows_decode(&all, data, size, BST_ALL_COLUMNS) == BST_OK) {
		sink = touch_rows(&all);
		(void)sink;
		must(bst_rows_peek(data, size, &head) == BST_OK && head.count == all.count);
		/* Twice, so that blocks are used again. */
		for (unsigned i = 0; i < 2; i++)
			must(bst_rows_decode(&some, data, size, wanted << i) == BST_OK);
		compare(&all, &some);
	} else {
		must(all.count == 0);
	}
	bst_rows_fini(&some);
	bst_rows_fini(&all);
	return 0;
}
