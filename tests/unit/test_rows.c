/* decode(encode(x)) is x, for every table; and what a payload may not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "shim/trace/rows.h"
#include "shim/trace/wire.h"
#include "tests/unit/trace_image.h"

static const uint8_t run_id[16] = {1, 2, 3};

/* --- round trips ------------------------------------------------------------------------------ */

enum values {
	RANDOM,
	SMALL,
	ZERO,
	MOST,
	RISING
};

static uint64_t make_number(enum values values, uint32_t row)
{
	switch (values) {
	case ZERO:
		return 0;
	case MOST:
		return UINT64_MAX;
	case SMALL:
		return random_below(5);
	case RISING:
		return UINT64_C(1700000000000000000) + UINT64_C(1000) * row + random_below(900);
	default:
		/* every length of number, and both ends */
		return row % 16 == 3 ? UINT64_MAX : random_next() >> random_below(64);
	}
}

#define LONGEST_TEXT 300

/* A cell for this column; its text, if any, is put into `room`. */
static struct bst_cell make_cell(const struct bst_column_info *column, enum values values,
				 uint32_t row, char room[LONGEST_TEXT])
{
	struct bst_cell cell = {.text = room};

	if (column->encoding != BST_BYTES)
		return (struct bst_cell){.number = make_number(values, row)};
	if (values != ZERO)
		cell.size = (uint32_t)random_below(row % 8 == 0 ? LONGEST_TEXT : 12);
	for (uint32_t i = 0; i < cell.size; i++)
		room[i] = (char)(values == RANDOM ? random_next() : 'a' + row % 26);
	return cell;
}

static void fill(struct bst_batch *batch, uint32_t rows, enum values values)
{
	for (uint32_t row = 0; row < rows; row++) {
		struct bst_cell cells[BST_COLUMN_LIMIT];
		char text[BST_COLUMN_LIMIT][LONGEST_TEXT];

		for (unsigned i = 0; batch->info->column[i].id; i++)
			cells[i] = make_cell(&batch->info->column[i], values, row, text[i]);
		assert_int_equal(bst_batch_add(batch, cells), BST_OK);
	}
}

static void compare_text(const struct bst_batch *batch, const struct bst_rows *rows, uint16_t id)
{
	const uint8_t *expected = batch->text[id];

	assert_non_null(rows->text[id]);
	assert_null(rows->number[id]);
	for (uint32_t i = 0; i < batch->rows; i++) {
		const struct bst_text *text = &rows->text[id][i];

		assert_int_equal(text->size, batch->number[id][i]);
		assert_memory_equal(text->data, expected, text->size);
		expected += text->size;
	}
}

static void compare(const struct bst_batch *batch, const struct bst_rows *rows)
{
	assert_int_equal(rows->table, batch->info->id);
	assert_int_equal(rows->count, batch->rows);
	assert_int_equal(rows->first_row, batch->first_row);
	assert_int_equal(rows->time_min, batch->time_min);
	assert_int_equal(rows->time_max, batch->time_max);
	assert_int_equal(rows->skipped_columns, 0);
	for (const struct bst_column_info *c = batch->info->column; c->id; c++) {
		if (c->encoding == BST_BYTES) {
			compare_text(batch, rows, c->id);
			continue;
		}
		assert_non_null(rows->number[c->id]);
		assert_memory_equal(rows->number[c->id], batch->number[c->id],
				    batch->rows * sizeof(uint64_t));
	}
}

/* The chunk's payload alone, in memory of exactly its size. */
static uint8_t *encode(const struct bst_batch *batch, uint32_t text, size_t *size)
{
	struct image image;
	size_t most = bst_chunk_bytes(batch);
	uint8_t *chunk = malloc(most), *payload;

	assert_non_null(chunk);
	image_init(&image, run_id, batch->rows, text);
	assert_int_equal(bst_encode_batch(&image.encoder, batch, chunk, most, size), BST_OK);
	*size -= BST_CHUNK_HEADER_BYTES;
	payload = malloc(*size);
	assert_non_null(payload);
	memcpy(payload, chunk + BST_CHUNK_HEADER_BYTES, *size);
	image_fini(&image);
	free(chunk);
	return payload;
}

static void round_trip(uint16_t table, uint32_t count, enum values values, struct bst_rows *rows)
{
	uint32_t text = count * 50 + LONGEST_TEXT;
	struct bst_batch batch;
	void *memory = batch_create(&batch, table, count, text);
	uint8_t *payload;
	size_t size;

	batch.first_row = values == RANDOM ? random_next() : 0;
	fill(&batch, count, values);
	payload = encode(&batch, text, &size);
	assert_int_equal(bst_rows_decode(rows, payload, size, BST_ALL_COLUMNS), BST_OK);
	compare(&batch, rows);
	free(payload);
	free(memory);
}

static void every_table_round_trips(void **state)
{
	struct bst_rows rows;

	(void)state;
	random_init();
	bst_rows_init(&rows);
	for (uint16_t table = 1; table < BST_TABLE_LIMIT; table++) {
		if (!bst_table_info(table))
			continue;
		for (enum values v = RANDOM; v <= RISING; v++) {
			round_trip(table, 1, v, &rows);
			round_trip(table, 2, v, &rows);
			for (unsigned i = 0; i < 5; i++)
				round_trip(table, 3 + (uint32_t)random_below(2000), v, &rows);
		}
	}
	bst_rows_fini(&rows);
}

static void the_largest_chunk_round_trips(void **state)
{
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	round_trip(BST_TABLE_CALL, BST_MAX_ROWS, RISING, &rows);
	round_trip(BST_TABLE_CONTEXT, BST_MAX_ROWS, RANDOM, &rows);
	bst_rows_fini(&rows);
}

/* 1,048,576 rows of 10 columns that do not compress are 80 MiB: no reader would take the chunk. */
static void a_payload_over_the_limit_is_not_written(void **state)
{
	struct bst_batch batch;
	struct image image;
	void *memory = batch_create(&batch, BST_TABLE_CALL, BST_MAX_ROWS, 0);
	uint8_t *out;
	size_t size;

	(void)state;
	image_init(&image, run_id, BST_MAX_ROWS, 0);
	for (uint32_t i = 0; i < BST_MAX_ROWS; i++) {
		uint64_t row[10];

		for (unsigned j = 0; j < 10; j++)
			row[j] = random_next();
		bst_batch_add_numbers(&batch, row);
	}
	size = bst_chunk_bytes(&batch);
	out = malloc(size);
	assert_non_null(out);
	assert_int_equal(bst_encode_batch(&image.encoder, &batch, out, size, &size), BST_FULL);
	free(out);
	free(memory);
	image_fini(&image);
}

static void unwanted_columns_are_not_decoded(void **state)
{
	struct bst_batch batch;
	struct bst_rows rows;
	struct image image;
	void *memory = batch_create(&batch, BST_TABLE_API, 50, 4096);
	uint8_t *payload;

	(void)state;
	image_init(&image, run_id, 50, 4096);
	fill(&batch, 50, SMALL);
	image_add(&image, &batch);
	payload = image.data + BST_FILE_HEADER_BYTES + BST_CHUNK_HEADER_BYTES;
	bst_rows_init(&rows);
	assert_int_equal(bst_rows_decode(&rows, payload, image.data + image.size - payload,
					 1u << BST_API_ID),
			 BST_OK);
	assert_non_null(rows.number[BST_API_ID]);
	assert_null(rows.text[BST_API_NAME]);
	assert_null(rows.number[BST_API_CLASS]);
	assert_int_equal(bst_value(&rows, BST_API_CLASS, 0, 77), 77);
	bst_rows_fini(&rows);
	image_fini(&image);
	free(memory);
}

/* --- payloads by hand ------------------------------------------------------------------------- */

struct spec {
	uint16_t id;
	uint8_t encoding;
	uint8_t width;
	uint8_t codec;
	uint64_t base;
	const void *data;
	uint32_t stored;
	uint32_t raw;
};

/* A payload of these columns, malloc'ed to its size. */
static uint8_t *build(uint16_t table, uint32_t rows, const struct spec *spec, unsigned columns,
		      size_t *size)
{
	uint8_t *payload, *header, *data;

	*size = BST_TABLE_HEADER_BYTES + (size_t)columns * BST_COLUMN_HEADER_BYTES;
	for (unsigned i = 0; i < columns; i++)
		*size += spec[i].stored;
	payload = calloc(1, *size);
	assert_non_null(payload);
	put_u16(payload, table);
	put_u16(payload + 2, (uint16_t)columns);
	put_u32(payload + 4, rows);
	header = payload + BST_TABLE_HEADER_BYTES;
	data = header + (size_t)columns * BST_COLUMN_HEADER_BYTES;
	for (unsigned i = 0; i < columns; i++, header += BST_COLUMN_HEADER_BYTES) {
		put_u16(header, spec[i].id);
		header[2] = spec[i].encoding;
		header[3] = spec[i].width;
		header[4] = spec[i].codec;
		put_u32(header + 8, spec[i].stored);
		put_u32(header + 12, spec[i].raw);
		put_u64(header + 16, spec[i].base);
		if (spec[i].stored)
			memcpy(data, spec[i].data, spec[i].stored);
		data += spec[i].stored;
	}
	return payload;
}

static enum bst_status decode(uint16_t table, uint32_t rows, const struct spec *spec,
			      unsigned columns, struct bst_rows *out)
{
	size_t size;
	uint8_t *payload = build(table, rows, spec, columns, &size);
	struct bst_rows here;
	enum bst_status status;

	bst_rows_init(&here);
	status = bst_rows_decode(out ? out : &here, payload, size, BST_ALL_COLUMNS);
	bst_rows_fini(&here);
	free(payload);
	return status;
}

/* Two rows of table context: id = 3, 4; device = 0, 0. */
static const struct spec id_column = {1, BST_PLAIN, 1, BST_STORED, 3, "\0\1", 2, 2};
static const struct spec device_column = {2, BST_PLAIN, 0, BST_STORED, 0, NULL, 0, 0};

static void columns_are_decoded_by_their_headers(void **state)
{
	struct spec wrap = {1, BST_PLAIN, 1, BST_STORED, UINT64_MAX, "\0\1", 2, 2};
	struct spec delta = {2, BST_DELTA, 2, BST_STORED, 10, "\1\2\0\1", 4, 4};
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, (const struct spec[]){wrap, delta}, 2, &rows),
			 BST_OK);
	assert_int_equal(rows.number[1][0], UINT64_MAX);
	assert_int_equal(rows.number[1][1], 0);
	assert_int_equal(rows.number[2][0], 9);        /* zigzag 1 = -1 */
	assert_int_equal(rows.number[2][1], 9 + 0x81); /* zigzag 0x102 = 0x81 */
	bst_rows_fini(&rows);
}

static void columns_may_come_in_any_order(void **state)
{
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2,
				(const struct spec[]){device_column, id_column}, 2, &rows),
			 BST_OK);
	assert_int_equal(rows.number[1][1], 4);
	bst_rows_fini(&rows);
}

static void a_missing_column_is_unknown(void **state)
{
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, &id_column, 1, &rows), BST_OK);
	assert_null(rows.number[2]);
	assert_int_equal(bst_value(&rows, 2, 0, 99), 99);
	bst_rows_fini(&rows);
}

static void the_skippable_bit_means_nothing_on_a_known_column(void **state)
{
	struct spec known = id_column;
	struct bst_rows rows;

	(void)state;
	known.id |= BST_COLUMN_SKIPPABLE;
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, &known, 1, &rows), BST_OK);
	assert_int_equal(rows.number[1][0], 3);
	assert_int_equal(rows.skipped_columns, 0);
	bst_rows_fini(&rows);
}

static void unknown_skippable_columns_are_skipped_whatever_they_hold(void **state)
{
	static const struct spec unknown[] = {
		{3 | BST_COLUMN_SKIPPABLE, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2},
		{31 | BST_COLUMN_SKIPPABLE, BST_BYTES, 4, BST_DEFLATE, 0, "junk", 4, 40},
		{32 | BST_COLUMN_SKIPPABLE, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2},
		{32767 | BST_COLUMN_SKIPPABLE, 99, 200, 7, 0, "new kind", 8, UINT32_MAX},
	};
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(decode(BST_TABLE_CONTEXT, 2,
					(const struct spec[]){unknown[i], id_column}, 2, &rows),
				 BST_OK);
		assert_int_equal(rows.skipped_columns, 1);
		assert_int_equal(rows.number[1][1], 4);
	}
	bst_rows_fini(&rows);
}

static void unknown_columns_without_the_bit_are_incompatible(void **state)
{
	static const uint16_t ids[] = {3, 31, 32, 32767};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct spec unknown = {ids[i], BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2};

		assert_int_equal(decode(BST_TABLE_CONTEXT, 2,
					(const struct spec[]){id_column, unknown}, 2, NULL),
				 BST_COLUMN_UNKNOWN);
	}
}

static void a_column_twice_is_damage(void **state)
{
	struct spec again = {1 | BST_COLUMN_SKIPPABLE, BST_PLAIN, 0, BST_STORED, 0, NULL, 0, 0};
	struct spec unknown = {900 | BST_COLUMN_SKIPPABLE, BST_PLAIN, 0, BST_STORED, 0, NULL, 0, 0};

	(void)state;
	assert_int_equal(
		decode(BST_TABLE_CONTEXT, 2, (const struct spec[]){id_column, again}, 2, NULL),
		BST_COLUMN_DUPLICATE);
	assert_int_equal(
		decode(BST_TABLE_CONTEXT, 2, (const struct spec[]){unknown, unknown}, 2, NULL),
		BST_COLUMN_DUPLICATE);
}

static void bad_column_headers_are_damage(void **state)
{
	static const struct {
		struct spec spec;
		enum bst_status status;
	} bad[] = {
		{{0, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2}, BST_COLUMN_ENCODING},
		{{BST_COLUMN_SKIPPABLE, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2},
		 BST_COLUMN_ENCODING},
		{{1, 0, 1, BST_STORED, 0, "ab", 2, 2}, BST_COLUMN_ENCODING},
		{{1, 4, 1, BST_STORED, 0, "ab", 2, 2}, BST_COLUMN_ENCODING},
		{{1, BST_PLAIN, 1, 2, 0, "ab", 2, 2}, BST_COLUMN_ENCODING},
		/* a number where the table has numbers, text where it has text */
		{{1, BST_BYTES, 1, BST_STORED, 0, "\0\0", 2, 2}, BST_COLUMN_ENCODING},
		{{1, BST_PLAIN, 1, BST_STORED, 0, "abc", 3, 3}, BST_COLUMN_SIZE},
		{{1, BST_PLAIN, 2, BST_STORED, 0, "ab", 2, 2}, BST_COLUMN_SIZE},
		{{1, BST_PLAIN, 9, BST_STORED, 0, "abcdefghabcdefgh12", 18, 18}, BST_COLUMN_SIZE},
		{{1, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 3}, BST_COLUMN_SIZE},
		{{1, BST_PLAIN, 1, BST_DEFLATE, 0, "ab", 2, 3}, BST_COLUMN_SIZE},
		{{1, BST_PLAIN, 1, BST_DEFLATE, 0, "ab", 2, 2}, BST_COLUMN_INFLATE},
		{{1, BST_PLAIN, 0, BST_DEFLATE, 0, "", 0, 0}, BST_COLUMN_INFLATE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode(BST_TABLE_CONTEXT, 2, &bad[i].spec, 1, NULL),
				 bad[i].status);
}

static void bad_text_columns_are_damage(void **state)
{
	static const struct {
		struct spec spec;
		enum bst_status status;
	} bad[] = {
		{{1, BST_PLAIN, 1, BST_STORED, 0, "ab", 2, 2}, BST_COLUMN_ENCODING},
		{{1, BST_BYTES, 1, BST_STORED, 0, "\1\2abcd", 6, 6}, BST_COLUMN_SIZE},
		{{1, BST_BYTES, 1, BST_STORED, 0, "\1\2ab", 4, 4}, BST_COLUMN_SIZE},
		{{1, BST_BYTES, 2, BST_STORED, 0, "\1\2a", 3, 3}, BST_COLUMN_SIZE},
		{{1, BST_BYTES, 5, BST_STORED, 0, "\0\0\0\0\0\0\0\0\0\0", 10, 10}, BST_COLUMN_SIZE},
		{{1, BST_BYTES, 4, BST_STORED, 0, "\377\377\377\377\377\377\377\377", 8, 8},
		 BST_COLUMN_SIZE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(decode(BST_TABLE_META, 2, &bad[i].spec, 1, NULL), bad[i].status);
}

static void table_headers_out_of_range_are_damage(void **state)
{
	struct spec many[BST_MAX_COLUMNS + 1];

	(void)state;
	for (unsigned i = 0; i <= BST_MAX_COLUMNS; i++)
		many[i] = (struct spec){(uint16_t)((i + 1) | BST_COLUMN_SKIPPABLE),
					BST_PLAIN,
					0,
					BST_STORED,
					0,
					NULL,
					0,
					0};
	assert_int_equal(decode(0, 2, &id_column, 1, NULL), BST_TABLE_ZERO);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 0, &id_column, 1, NULL), BST_TABLE_LIMITS);
	assert_int_equal(decode(BST_TABLE_CONTEXT, BST_MAX_ROWS + 1, &id_column, 1, NULL),
			 BST_TABLE_LIMITS);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, &id_column, 0, NULL), BST_TABLE_LIMITS);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, many, BST_MAX_COLUMNS, NULL), BST_OK);
	assert_int_equal(decode(BST_TABLE_CONTEXT, 2, many, BST_MAX_COLUMNS + 1, NULL),
			 BST_TABLE_LIMITS);
}

/* Whatever its columns are: no reader has a use for them. */
static void of_an_unknown_table_only_the_header_is_judged(void **state)
{
	struct spec novel = {1, 9, 9, 9, 0, "abc", 3, 0};
	struct bst_rows rows;

	(void)state;
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_LIMIT, 7, &novel, 1, &rows), BST_OK);
	assert_int_equal(rows.table, BST_TABLE_LIMIT);
	assert_int_equal(rows.count, 7);
	assert_null(rows.number[1]);
	assert_int_equal(decode(UINT16_MAX, 0, &novel, 1, &rows), BST_TABLE_LIMITS);
	bst_rows_fini(&rows);
}

static void sizes_that_do_not_fit_the_payload_are_damage(void **state)
{
	struct spec columns[] = {id_column, device_column};
	struct bst_rows rows;
	size_t size;
	uint8_t *payload = build(BST_TABLE_CONTEXT, 2, columns, 2, &size), *longer;

	(void)state;
	bst_rows_init(&rows);
	for (size_t n = 0; n < size; n++) {
		uint8_t *part = malloc(n + 1);

		assert_non_null(part);
		memcpy(part, payload, n);
		assert_int_equal(bst_rows_decode(&rows, part, n, BST_ALL_COLUMNS), BST_TABLE_SHORT);
		free(part);
	}
	longer = calloc(1, size + 1);
	assert_non_null(longer);
	memcpy(longer, payload, size);
	assert_int_equal(bst_rows_decode(&rows, longer, size + 1, BST_ALL_COLUMNS),
			 BST_TABLE_SHORT);
	assert_int_equal(rows.count, 0);
	assert_null(rows.number[1]);
	free(longer);
	put_u32(payload + BST_TABLE_HEADER_BYTES + 8, UINT32_MAX);
	put_u32(payload + BST_TABLE_HEADER_BYTES + 12, UINT32_MAX);
	assert_int_equal(bst_rows_decode(&rows, payload, size, BST_ALL_COLUMNS), BST_TABLE_SHORT);
	free(payload);
	bst_rows_fini(&rows);
}

/* Raw deflate of `size` bytes into out; the compressed size. */
static uint32_t deflate_raw(const void *in, size_t size, uint8_t *out, size_t room)
{
	z_stream z = {.next_in = (Bytef *)in, .avail_in = (uInt)size};

	z.next_out = out;
	z.avail_out = (uInt)room;
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return (uint32_t)z.total_out;
}

static void streams_must_end_where_their_sizes_say(void **state)
{
	static const uint8_t zeros[200];
	uint8_t out[256];
	struct spec spec = {1, BST_PLAIN, 1, BST_DEFLATE, 0, out, 0, 200};
	uint32_t size = deflate_raw(zeros, sizeof(zeros), out, sizeof(out));

	(void)state;
	out[size] = 0;
	spec.stored = size;
	assert_int_equal(decode(BST_TABLE_CONTEXT, 200, &spec, 1, NULL), BST_OK);
	spec.stored = size + 1;
	assert_int_equal(decode(BST_TABLE_CONTEXT, 200, &spec, 1, NULL), BST_COLUMN_INFLATE);
	spec.stored = size - 1;
	assert_int_equal(decode(BST_TABLE_CONTEXT, 200, &spec, 1, NULL), BST_COLUMN_INFLATE);
	spec.stored = size;
	spec.raw = 199;
	assert_int_equal(decode(BST_TABLE_CONTEXT, 199, &spec, 1, NULL), BST_COLUMN_INFLATE);
	spec.raw = 201;
	assert_int_equal(decode(BST_TABLE_CONTEXT, 201, &spec, 1, NULL), BST_COLUMN_INFLATE);
}

/* 17 MiB and 1 GiB of text out of a few kilobytes: refused by size, before a byte is inflated. */
static void bombs_are_refused_before_they_go_off(void **state)
{
	size_t size = 17u << 20;
	uint8_t *zeros = calloc(1, size), *out = malloc(1 << 16);
	struct spec spec = {1, BST_BYTES, 0, BST_DEFLATE, 0, out, 0, 0};
	struct bst_rows rows;

	(void)state;
	assert_non_null(zeros);
	assert_non_null(out);
	bst_rows_init(&rows);
	spec.stored = deflate_raw(zeros, size, out, 1 << 16);
	spec.raw = (uint32_t)size;
	assert_int_equal(decode(BST_TABLE_META, 1, &spec, 1, &rows), BST_TABLE_LIMITS);
	spec.raw = 1u << 30;
	assert_int_equal(decode(BST_TABLE_META, 1, &spec, 1, &rows), BST_COLUMN_SIZE);
	for (unsigned i = 0; i < BST_COLUMN_LIMIT; i++)
		assert_int_equal(rows.block_bytes[i], 0);
	assert_int_equal(rows.raw_bytes, 0);
	bst_rows_fini(&rows);
	free(zeros);
	free(out);
}

static void text_up_to_the_limit_decodes(void **state)
{
	uint32_t size = BST_MAX_TEXT_BYTES;
	uint8_t *raw = calloc(1, size + 4 + 1);
	struct spec spec = {1, BST_BYTES, 4, BST_STORED, 0, raw, size + 4, size + 4};
	struct bst_rows rows;

	(void)state;
	assert_non_null(raw);
	put_u32(raw, size);
	bst_rows_init(&rows);
	assert_int_equal(decode(BST_TABLE_META, 1, &spec, 1, &rows), BST_OK);
	assert_int_equal(rows.text[1][0].size, size);
	put_u32(raw, size + 1);
	spec.stored = spec.raw = size + 5;
	assert_int_equal(decode(BST_TABLE_META, 1, &spec, 1, &rows), BST_TABLE_LIMITS);
	bst_rows_fini(&rows);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_round_trips),
		cmocka_unit_test(the_largest_chunk_round_trips),
		cmocka_unit_test(a_payload_over_the_limit_is_not_written),
		cmocka_unit_test(unwanted_columns_are_not_decoded),
		cmocka_unit_test(columns_are_decoded_by_their_headers),
		cmocka_unit_test(columns_may_come_in_any_order),
		cmocka_unit_test(a_missing_column_is_unknown),
		cmocka_unit_test(the_skippable_bit_means_nothing_on_a_known_column),
		cmocka_unit_test(unknown_skippable_columns_are_skipped_whatever_they_hold),
		cmocka_unit_test(unknown_columns_without_the_bit_are_incompatible),
		cmocka_unit_test(a_column_twice_is_damage),
		cmocka_unit_test(bad_column_headers_are_damage),
		cmocka_unit_test(bad_text_columns_are_damage),
		cmocka_unit_test(table_headers_out_of_range_are_damage),
		cmocka_unit_test(of_an_unknown_table_only_the_header_is_judged),
		cmocka_unit_test(sizes_that_do_not_fit_the_payload_are_damage),
		cmocka_unit_test(streams_must_end_where_their_sizes_say),
		cmocka_unit_test(bombs_are_refused_before_they_go_off),
		cmocka_unit_test(text_up_to_the_limit_decodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
