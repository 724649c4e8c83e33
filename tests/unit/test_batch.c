/* Gathering rows: what fits, what is cut, and the times that a chunk announces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_image.h"

static struct bst_cell text(const char *value)
{
	return (struct bst_cell){.text = value, .size = (uint32_t)strlen(value)};
}

static void add_call(struct bst_batch *batch, uint64_t begin, uint64_t duration)
{
	uint64_t row[10] = {1, 1, begin, duration};

	assert_int_equal(bst_batch_add_numbers(batch, row), BST_OK);
}

static void full_rows_add_nothing(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CONTEXT, 2, 0);
	uint64_t row[] = {1, 0};

	(void)state;
	assert_int_equal(bst_batch_add_numbers(&batch, row), BST_OK);
	assert_int_equal(bst_batch_add_numbers(&batch, row), BST_OK);
	assert_int_equal(bst_batch_add_numbers(&batch, row), BST_FULL);
	assert_int_equal(batch.rows, 2);
	free(memory);
}

static void full_text_adds_nothing_to_any_column(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 8);
	struct bst_cell first[] = {text("k"), text("valuess")}, second[] = {text("k2"), text("xy")};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, first), BST_OK);
	assert_int_equal(bst_batch_add(&batch, second), BST_FULL);
	assert_int_equal(batch.rows, 1);
	assert_int_equal(batch.text_bytes[BST_META_KEY], 1);
	assert_int_equal(batch.text_bytes[BST_META_VALUE], 7);
	free(memory);
}

static void the_first_column_of_text_may_be_the_full_one(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 8);
	struct bst_cell first[] = {text("longkey"), text("v")}, second[] = {text("k2"), text("v")};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, first), BST_OK);
	assert_int_equal(bst_batch_add(&batch, second), BST_FULL);
	assert_int_equal(batch.rows, 1);
	free(memory);
}

/* A cell is number or text by its column: what else it holds does not count. */
static void the_size_of_a_number_does_not_count(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_STRING, 8, 8);
	struct bst_cell row[] = {{.number = 7, .size = UINT32_MAX}, text("v")};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(batch.number[BST_STRING_ID][1], 7);
	free(memory);
}

static void text_longer_than_a_column_is_cut(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 4);
	struct bst_cell row[] = {text(""), text("abcdefgh")};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(batch.number[BST_META_VALUE][0], 4);
	assert_memory_equal(batch.text[BST_META_VALUE], "abcd", 4);
	free(memory);
}

static void null_text_is_empty(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 4);
	struct bst_cell row[] = {{.text = NULL, .size = 3}, text("v")};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(batch.number[BST_META_KEY][0], 0);
	assert_int_equal(batch.text_bytes[BST_META_KEY], 0);
	free(memory);
}

static void times_span_begins_and_ends(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 8, 0);

	(void)state;
	add_call(&batch, 500, 10);
	add_call(&batch, 300, 1000);
	add_call(&batch, 700, 0);
	assert_int_equal(batch.time_min, 300);
	assert_int_equal(batch.time_max, 1300);
	free(memory);
}

/* However the row was given. */
static void cells_have_times_too(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 8, 0);
	struct bst_cell row[BST_COLUMN_LIMIT] = {[2] = {.number = 400}, [3] = {.number = 50}};

	(void)state;
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(batch.time_min, 400);
	assert_int_equal(batch.time_max, 450);
	bst_batch_clear(&batch);
	assert_int_equal(batch.time_min, 0);
	assert_int_equal(batch.time_max, 0);
	free(memory);
}

static void tables_without_time_announce_none(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_NODE, 8, 0);
	uint64_t row[BST_COLUMN_LIMIT] = {5, 6, 7, 8, 9, 10, 11, 12};

	(void)state;
	assert_int_equal(bst_batch_add_numbers(&batch, row), BST_OK);
	assert_int_equal(batch.time_min, 0);
	assert_int_equal(batch.time_max, 0);
	free(memory);
}

static void clear_counts_rows_and_forgets_times(void **state)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 8, 0);

	(void)state;
	add_call(&batch, 500, 10);
	add_call(&batch, 600, 10);
	bst_batch_clear(&batch);
	add_call(&batch, 900, 5);
	assert_int_equal(batch.first_row, 2);
	assert_int_equal(batch.rows, 1);
	assert_int_equal(batch.time_min, 900);
	assert_int_equal(batch.time_max, 905);
	free(memory);
}

static void memory_is_as_large_as_said(void **state)
{
	(void)state;
	for (uint16_t id = 1; id < BST_TABLE_LIMIT; id++) {
		const struct bst_table_info *info = bst_table_info(id);
		struct bst_batch batch;
		struct bst_cell row[BST_COLUMN_LIMIT];
		void *memory;

		if (!info)
			continue;
		memory = malloc(bst_batch_bytes(info, 3, 5)); /* ASan sees one byte too far */
		assert_non_null(memory);
		bst_batch_init(&batch, info, 3, 5, memory);
		for (unsigned i = 0; i < BST_COLUMN_LIMIT; i++)
			row[i] = text("12345");
		assert_int_equal(bst_batch_add(&batch, row), BST_OK);
		for (unsigned i = 0; i < BST_COLUMN_LIMIT; i++)
			row[i] = text("");
		assert_int_equal(bst_batch_add(&batch, row), BST_OK);
		assert_int_equal(bst_batch_add(&batch, row), BST_OK);
		assert_int_equal(bst_batch_add(&batch, row), BST_FULL);
		free(memory);
	}
}

static void a_chunk_too_small_for_the_batch_is_refused(void **state)
{
	struct image image;
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 8, 0);
	uint8_t out[2048];
	size_t size = 0;

	(void)state;
	image_init(&image, (const uint8_t[16]){1}, 4, 0);
	add_call(&batch, 500, 10);
	assert_int_equal(
		bst_encode_batch(&image.encoder, &batch, out, bst_chunk_bytes(&batch) - 1, &size),
		BST_FULL);
	for (unsigned i = 0; i < 4; i++)
		add_call(&batch, 600, 10);
	assert_int_equal(bst_encode_batch(&image.encoder, &batch, out, sizeof(out), &size),
			 BST_FULL); /* the encoder was made for 4 rows */
	assert_int_equal(size, 0);
	image_fini(&image);
	free(memory);
}

static void more_text_than_the_encoder_was_made_for_is_refused(void **state)
{
	struct image image;
	struct bst_batch batch;
	struct bst_cell row[] = {text("key"), text("value")};
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 100);
	uint8_t out[2048];
	size_t size = 0;

	(void)state;
	image_init(&image, (const uint8_t[16]){1}, 8, 4);
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(bst_encode_batch(&image.encoder, &batch, out, sizeof(out), &size),
			 BST_FULL);
	image_fini(&image);
	free(memory);
}

static void as_much_text_as_the_encoder_was_made_for_fits(void **state)
{
	struct image image;
	struct bst_batch batch;
	struct bst_cell row[] = {text("key"), text("four")};
	void *memory = batch_create(&batch, BST_TABLE_META, 8, 100);
	uint8_t out[2048];
	size_t size = 0;

	(void)state;
	image_init(&image, (const uint8_t[16]){1}, 8, 4);
	assert_int_equal(bst_batch_add(&batch, row), BST_OK);
	assert_int_equal(bst_encode_batch(&image.encoder, &batch, out, sizeof(out), &size), BST_OK);
	image_fini(&image);
	free(memory);
}

/* Calls that are alike take next to nothing: what the size of a trace rests on. */
static void a_column_that_can_be_deflated_is(void **state)
{
	struct image image;
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 1000, 0);
	uint8_t *out = malloc(200000);
	size_t size = 0;

	(void)state;
	image_init(&image, (const uint8_t[16]){1}, 1000, 0);
	for (unsigned i = 0; i < 1000; i++)
		add_call(&batch, 1000 * i, 300 + i % 2);
	assert_int_equal(bst_encode_batch(&image.encoder, &batch, out, 200000, &size), BST_OK);
	assert_true(size < 1000);
	image_fini(&image);
	free(out);
	free(memory);
}

/* It runs in threads of other people's programs: zlib must take its memory from ours. */
static void an_encoder_allocates_nothing(void **state)
{
	size_t bytes = bst_encoder_bytes(64, 100), before;
	struct bst_encoder encoder;
	void *memory = malloc(bytes);

	(void)state;
	before = mallinfo2().uordblks;
	assert_int_equal(bst_encoder_init(&encoder, (const uint8_t[16]){1}, 64, 100, memory, bytes),
			 BST_OK);
	assert_int_equal(mallinfo2().uordblks, before);
	free(memory);
}

static void an_encoder_needs_all_its_memory(void **state)
{
	size_t bytes = bst_encoder_bytes(64, 100);
	struct bst_encoder encoder;
	void *memory = malloc(bytes);

	(void)state;
	assert_int_equal(
		bst_encoder_init(&encoder, (const uint8_t[16]){1}, 64, 100, memory, bytes - 1),
		BST_FULL);
	assert_int_equal(bst_encoder_init(&encoder, (const uint8_t[16]){1}, 64, 100, memory, bytes),
			 BST_OK);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_rows_add_nothing),
		cmocka_unit_test(full_text_adds_nothing_to_any_column),
		cmocka_unit_test(the_first_column_of_text_may_be_the_full_one),
		cmocka_unit_test(the_size_of_a_number_does_not_count),
		cmocka_unit_test(text_longer_than_a_column_is_cut),
		cmocka_unit_test(null_text_is_empty),
		cmocka_unit_test(times_span_begins_and_ends),
		cmocka_unit_test(cells_have_times_too),
		cmocka_unit_test(tables_without_time_announce_none),
		cmocka_unit_test(clear_counts_rows_and_forgets_times),
		cmocka_unit_test(memory_is_as_large_as_said),
		cmocka_unit_test(a_chunk_too_small_for_the_batch_is_refused),
		cmocka_unit_test(more_text_than_the_encoder_was_made_for_is_refused),
		cmocka_unit_test(as_much_text_as_the_encoder_was_made_for_fits),
		cmocka_unit_test(a_column_that_can_be_deflated_is),
		cmocka_unit_test(an_encoder_allocates_nothing),
		cmocka_unit_test(an_encoder_needs_all_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
