/* The worked example of FORMAT.md, byte for byte, and the facts that its tables state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/trace/reader.h"
#include "shim/trace/rows.h"
#include "tests/unit/trace_image.h"

#define PAGE "shim/trace/FORMAT.md"

static const uint8_t run_id[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
				   0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};

static void add_meta(struct bst_batch *batch, const char *key, const char *value)
{
	struct bst_cell row[] = {
		{.text = key, .size = (uint32_t)strlen(key)},
		{.text = value, .size = (uint32_t)strlen(value)},
	};

	assert_int_equal(bst_batch_add(batch, row), BST_OK);
}

/* The example: two rows of meta, three of call, the index and the trailer. */
static void build_example(struct image *image)
{
	static const uint64_t call[3][10] = {
		{1, 2, 5000000000, 4000, 7, 1, 0, 0, 0, 0},
		{1, 2, 5000012000, 3900, 8, 1, 0, 0, 0, 0},
		{1, 3, 5000012300, 70000, 0, 0, 4096, 0, 0, 0},
	};
	struct bst_batch batch;
	void *memory;

	image_init(image, run_id, 64, 256);
	memory = batch_create(&batch, BST_TABLE_META, 2, 64);
	add_meta(&batch, "run.rank", "0");
	add_meta(&batch, "env.A", "1");
	image_add(image, &batch);
	free(memory);
	memory = batch_create(&batch, BST_TABLE_CALL, 3, 0);
	image->encoder.losses[BST_ENUM_LOSS_RING_FULL - 1] = 2;
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(bst_batch_add_numbers(&batch, call[i]), BST_OK);
	image_add(image, &batch);
	free(memory);
	image_finish(image);
}

/* "0040  C5 42 53 43   what it is": the bytes of such a line, or 0 if it is another kind of line.
 */
static size_t parse_line(const char *line, unsigned long *offset, uint8_t *bytes, size_t most)
{
	char *end;
	size_t n = 0;

	if (!isxdigit((unsigned char)line[0]))
		return 0;
	*offset = strtoul(line, &end, 16);
	if (end != line + 4 || strncmp(end, "  ", 2) != 0)
		return 0;
	for (end += 2; n < most && isxdigit((unsigned char)end[0]); end++) {
		char *stop;

		bytes[n++] = (uint8_t)strtoul(end, &stop, 16);
		assert_ptr_equal(stop, end + 2);
		end = stop;
		if (*end != ' ')
			break;
	}
	return n;
}

/* The listing of section 10. */
static size_t read_example(uint8_t *bytes, size_t most)
{
	FILE *file = fopen(PAGE, "r");
	char line[512];
	int inside = 0;
	size_t size = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		unsigned long offset;
		uint8_t some[32];
		size_t n;

		inside |= strncmp(line, "## 10.", 6) == 0;
		n = inside ? parse_line(line, &offset, some, sizeof(some)) : 0;
		if (n == 0)
			continue;
		assert_int_equal(offset, size);
		assert_true(size + n <= most);
		memcpy(bytes + size, some, n);
		size += n;
	}
	fclose(file);
	return size;
}

static void example_has_the_bytes_of_the_page(void **state)
{
	uint8_t bytes[4096];
	size_t size = read_example(bytes, sizeof(bytes));
	struct image image;

	(void)state;
	if (size == 0) {
		print_message("%s cannot be read from here\n", PAGE);
		skip();
	}
	build_example(&image);
	assert_int_equal(image.size, size);
	assert_memory_equal(image.data, bytes, size);
	image_fini(&image);
}

static void example_reads_as_complete(void **state)
{
	struct image image;
	struct bst_reader reader;
	struct bst_chunk chunk;

	(void)state;
	build_example(&image);
	assert_int_equal(bst_reader_init(&reader, image.data, image.size), BST_OK);
	while (bst_reader_next(&reader, &chunk))
		;
	assert_true(bst_reader_complete(&reader));
	assert_int_equal(reader.chunks, 4);
	image_fini(&image);
}

static void every_table_is_listed_on_the_page(void **state)
{
	FILE *file = fopen(PAGE, "r");
	static char page[1 << 20];
	size_t size;

	(void)state;
	if (!file)
		skip();
	size = fread(page, 1, sizeof(page) - 1, file);
	page[size] = 0;
	fclose(file);
	for (uint16_t id = 1; id < BST_TABLE_LIMIT; id++) {
		const struct bst_table_info *info = bst_table_info(id);
		char title[64];

		if (!info)
			continue;
		snprintf(title, sizeof(title), "**%s** (table %u)", info->name, id);
		assert_non_null(strstr(page, title));
	}
}

static void tables_are_within_the_limits(void **state)
{
	(void)state;
	for (uint16_t id = 0; id < BST_TABLE_LIMIT; id++) {
		const struct bst_table_info *info = bst_table_info(id);
		unsigned count = 0;

		if (!info)
			continue;
		for (const struct bst_column_info *c = info->column; c->id; c++) {
			count++;
			assert_int_equal(c->id, count); /* 1, 2, ... without holes */
			assert_true(c->id < BST_COLUMN_LIMIT);
		}
		assert_true(count > 0 && count <= BST_MAX_COLUMNS);
		assert_true(info->time_column <= count);
	}
	assert_null(bst_table_info(0));
	assert_null(bst_table_info(UINT16_MAX));
}

static void enum_names_are_found(void **state)
{
	unsigned count;
	const struct bst_enum_info *info = bst_enum_info(&count);

	(void)state;
	for (unsigned i = 0; i < count; i++)
		assert_string_equal(bst_enum_name(info[i].set, info[i].value), info[i].name);
	assert_null(bst_enum_name("loss", 0));
	assert_null(bst_enum_name("no such set", 1));
	assert_string_equal(bst_enum_name("loss", BST_CAUSE_COUNT), "other");
}

static void every_status_has_its_own_words(void **state)
{
	(void)state;
	for (int i = BST_OK; i <= BST_FULL; i++) {
		assert_string_not_equal(bst_status_text(i), "unknown status");
		for (int j = BST_OK; j < i; j++)
			assert_string_not_equal(bst_status_text(i), bst_status_text(j));
	}
	assert_string_equal(bst_status_text(BST_FULL + 1), "unknown status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example_has_the_bytes_of_the_page),
		cmocka_unit_test(example_reads_as_complete),
		cmocka_unit_test(every_table_is_listed_on_the_page),
		cmocka_unit_test(tables_are_within_the_limits),
		cmocka_unit_test(enum_names_are_found),
		cmocka_unit_test(every_status_has_its_own_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
