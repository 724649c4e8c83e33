/* The walk over a trace: whole, cut off, damaged at every bit, foreign, and from the future. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <cmocka.h>

#include "shim/trace/reader.h"
#include "shim/trace/rows.h"
#include "shim/trace/wire.h"
#include "tests/unit/trace_image.h"

static const uint8_t run_id[16] = {0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7, 0xA8, 1, 2, 3, 4};
static const uint8_t other_run_id[16] = {0xB1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6,
					 0xA7, 0xA8, 1,    2,    3,    4};

static struct image sample; /* what was written; tests read changed copies */

/* A walk over some bytes. */
struct walk {
	enum bst_status refused;
	struct bst_reader reader;
	unsigned tables; /* chunks that decoded */
	uint64_t rows;
};

static int set_up(void **state)
{
	(void)state;
	image_sample(&sample, run_id);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	image_fini(&sample);
	return 0;
}

/* Reads and decodes everything. With `only_written`, every chunk must be one of the sample, byte
 * for byte. */
static void walk(struct walk *w, const uint8_t *data, size_t size, int only_written)
{
	struct bst_chunk chunk;
	struct bst_rows rows;

	memset(w, 0, sizeof(*w));
	w->refused = bst_reader_init(&w->reader, data, size);
	if (w->refused)
		return;
	bst_rows_init(&rows);
	while (bst_reader_next(&w->reader, &chunk)) {
		size_t bytes = BST_CHUNK_HEADER_BYTES + chunk.payload_bytes;
		enum bst_status status;

		assert_true(chunk.offset + bytes <= size);
		if (only_written) {
			assert_true(chunk.offset + bytes <= sample.size);
			assert_memory_equal(data + chunk.offset, sample.data + chunk.offset, bytes);
		}
		if (chunk.type != BST_CHUNK_TABLE)
			continue;
		status =
			bst_rows_decode(&rows, chunk.payload, chunk.payload_bytes, BST_ALL_COLUMNS);
		if (status) {
			bst_reader_reject(&w->reader, &chunk, status);
			continue;
		}
		w->tables++;
		w->rows += rows.count;
	}
	bst_rows_fini(&rows);
}

static uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	assert_non_null(copy);
	memcpy(copy, data, size);
	return copy;
}

static uint8_t *sample_copy(void)
{
	return copy_of(sample.data, sample.size);
}

static size_t chunk_bytes(unsigned i)
{
	return (i + 1 < sample.chunks ? sample.chunk[i + 1].offset : sample.size) -
	       sample.chunk[i].offset;
}

static unsigned trailer_chunk(void)
{
	return sample.chunks - 1;
}

static void assert_damage(const struct walk *w, unsigned i, uint64_t offset, uint64_t bytes,
			  enum bst_status reason)
{
	assert_true(i < w->reader.damage_count);
	assert_int_equal(w->reader.damage[i].offset, offset);
	assert_int_equal(w->reader.damage[i].bytes, bytes);
	assert_int_equal(w->reader.damage[i].reason, reason);
}

/* The one damage is the whole chunk `i`, and every other chunk was read. */
static void assert_chunk_lost(const struct walk *w, unsigned i, enum bst_status reason)
{
	assert_int_equal(w->refused, BST_OK);
	assert_int_equal(w->reader.damage_count, 1);
	assert_damage(w, 0, sample.chunk[i].offset, chunk_bytes(i), reason);
	assert_int_equal(w->reader.chunks, sample.chunks - 1);
	assert_int_equal(w->reader.torn_bytes, 0);
	assert_false(bst_reader_complete(&w->reader));
}

static void assert_whole(const struct walk *w)
{
	assert_int_equal(w->refused, BST_OK);
	assert_int_equal(w->reader.damage_count, 0);
	assert_int_equal(w->reader.torn_bytes, 0);
	assert_int_equal(w->reader.chunks, sample.chunks);
	assert_true(bst_reader_complete(&w->reader));
}

/* --- whole and cut off ------------------------------------------------------------------------ */

static void a_whole_trace_is_complete(void **state)
{
	struct walk w;

	(void)state;
	walk(&w, sample.data, sample.size, 1);
	assert_whole(&w);
	assert_int_equal(w.tables, sample.chunks - 1);
	assert_int_equal(w.rows, 4 + 4 * 48 + 40 + 6);
	assert_int_equal(w.reader.missing_chunks, 0);
	assert_int_equal(w.reader.losses[BST_ENUM_LOSS_RING_FULL - 1], 21);
	print_message("the sample has %zu bytes\n", sample.size);
}

/* How many whole chunks the first `size` bytes hold, and where the last of them ends. */
static unsigned whole_chunks(size_t size, size_t *end)
{
	unsigned n = 0;

	*end = BST_FILE_HEADER_BYTES;
	while (n < sample.chunks && sample.chunk[n].offset + chunk_bytes(n) <= size) {
		*end = sample.chunk[n].offset + chunk_bytes(n);
		n++;
	}
	return n;
}

static void cut_at_every_byte_leaves_the_chunks_before(void **state)
{
	(void)state;
	for (size_t size = 0; size < sample.size; size++) {
		uint8_t *part = copy_of(sample.data, size);
		struct walk w;
		size_t end;

		walk(&w, part, size, 1);
		if (size < BST_FILE_HEADER_BYTES) {
			assert_int_equal(w.refused, size ? BST_HEADER_TORN : BST_EMPTY);
		} else {
			assert_int_equal(w.reader.chunks, whole_chunks(size, &end));
			assert_int_equal(w.reader.damage_count, 0);
			assert_int_equal(w.reader.torn_bytes, size - end);
			assert_int_equal(w.reader.missing_chunks, 0);
			assert_false(bst_reader_complete(&w.reader));
		}
		free(part);
	}
	print_message("%zu truncations\n", sample.size);
}

static void cut_at_every_byte_and_filled_with_zeros_leaves_the_chunks_before(void **state)
{
	(void)state;
	for (size_t size = BST_FILE_HEADER_BYTES; size < sample.size; size++) {
		uint8_t *part = sample_copy();
		struct walk w;
		size_t end;
		unsigned whole = whole_chunks(size, &end);

		memset(part + size, 0, sample.size - size);
		walk(&w, part, sample.size, 1);
		/* A cut within zeros that were written anyway changes nothing. */
		assert_true(w.reader.chunks >= whole);
		if (memcmp(part, sample.data, sample.size) != 0)
			assert_false(bst_reader_complete(&w.reader));
		if (size == end) {
			assert_int_equal(w.reader.damage_count, 0);
			assert_int_equal(w.reader.torn_bytes, sample.size - end);
		}
		free(part);
	}
}

static void zeros_behind_the_end_are_a_torn_tail(void **state)
{
	static const size_t lengths[] = {1, 3, 4, 95, 96, 97, 4096, 100000};

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint8_t *data = calloc(1, sample.size + lengths[i]);
		struct walk w;

		assert_non_null(data);
		memcpy(data, sample.data, sample.size);
		walk(&w, data, sample.size + lengths[i], 1);
		assert_int_equal(w.reader.chunks, sample.chunks);
		assert_int_equal(w.reader.damage_count, 0);
		assert_int_equal(w.reader.torn_bytes, lengths[i]);
		assert_false(bst_reader_complete(&w.reader));
		free(data);
	}
}

static void garbage_behind_the_end_is_damage(void **state)
{
	static const size_t lengths[] = {1, 3, 4, 95, 96, 97, 4096};

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint8_t *data = malloc(sample.size + lengths[i]);
		struct walk w;

		assert_non_null(data);
		memcpy(data, sample.data, sample.size);
		memset(data + sample.size, 'x', lengths[i]);
		walk(&w, data, sample.size + lengths[i], 1);
		assert_int_equal(w.reader.chunks, sample.chunks);
		assert_int_equal(w.reader.damage_count, 1);
		assert_damage(&w, 0, sample.size, lengths[i], BST_CHUNK_MAGIC_BAD);
		assert_false(bst_reader_complete(&w.reader));
		free(data);
	}
}

static void losses_of_a_torn_chunk_count(void **state)
{
	size_t size = sample.chunk[4].offset + BST_CHUNK_HEADER_BYTES + 5;
	struct walk w;

	(void)state;
	walk(&w, sample.data, size, 1);
	assert_int_equal(w.reader.chunks, 4);
	assert_int_equal(w.reader.losses[BST_ENUM_LOSS_RING_FULL - 1], 21);
	walk(&w, sample.data, size - 6, 1); /* its header is not whole */
	assert_int_equal(w.reader.losses[BST_ENUM_LOSS_RING_FULL - 1], 14);
}

/* --- damage ----------------------------------------------------------------------------------- */

/* No bit is without a checksum: the list of bits whose flip goes unnoticed is empty. */
static void every_flipped_bit_is_noticed(void **state)
{
	uint8_t *data = sample_copy();
	unsigned long unnoticed = 0;

	(void)state;
	for (size_t bit = 0; bit < sample.size * 8; bit++) {
		struct walk w;

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		walk(&w, data, sample.size, 1);
		if (!w.refused) {
			/* One bit costs one chunk, or at the end two. */
			assert_true(w.reader.chunks + 1 >= sample.chunks);
			if (bst_reader_complete(&w.reader)) {
				print_message("unnoticed: byte %zu bit %zu\n", bit / 8, bit % 8);
				unnoticed++;
			}
		} else {
			assert_true(bit < 8 * BST_FILE_HEADER_BYTES);
		}
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	print_message("%zu bits flipped, %lu unnoticed\n", sample.size * 8, unnoticed);
	assert_int_equal(unnoticed, 0);
	free(data);
}

static void overwritten_stretches_lose_no_more_than_they_touch(void **state)
{
	(void)state;
	random_init();
	for (unsigned i = 0; i < 3000; i++) {
		uint8_t *data = sample_copy();
		size_t from = 64 + random_below(sample.size - 64);
		size_t to = from + 1 + random_below(sample.size - from);
		unsigned touched = 0;
		struct walk w;

		for (size_t j = from; j < to; j++)
			data[j] = (uint8_t)random_next();
		for (unsigned j = 0; j < sample.chunks; j++)
			touched +=
				memcmp(data + sample.chunk[j].offset,
				       sample.data + sample.chunk[j].offset, chunk_bytes(j)) != 0;
		walk(&w, data, sample.size, 1);
		assert_int_equal(w.refused, BST_OK);
		assert_int_equal(w.reader.chunks, sample.chunks - touched);
		free(data);
	}
}

static void a_zeroed_chunk_is_damage_and_missing(void **state)
{
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	memset(data + sample.chunk[2].offset, 0, chunk_bytes(2));
	walk(&w, data, sample.size, 1);
	assert_chunk_lost(&w, 2, BST_CHUNK_MAGIC_BAD);
	assert_int_equal(w.reader.missing_chunks, 1);
	free(data);
}

static void neighbouring_damage_is_one_stretch_until_a_good_header(void **state)
{
	uint8_t *data = sample_copy();
	size_t size = chunk_bytes(2) + chunk_bytes(3);
	struct walk w;

	(void)state;
	data[sample.chunk[2].offset + 50] ^= 1;
	data[sample.chunk[3].offset] ^= 1;
	walk(&w, data, sample.size, 1);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, sample.chunk[2].offset, size, BST_CHUNK_HEADER_BAD);
	assert_int_equal(w.reader.damage_bytes, size);
	assert_int_equal(w.reader.missing_chunks, 2);
	free(data);
}

static void damage_ends_at_a_torn_chunk_too(void **state)
{
	uint8_t *data = sample_copy();
	size_t size = sample.chunk[3].offset + BST_CHUNK_HEADER_BYTES + 1;
	struct walk w;

	(void)state;
	data[sample.chunk[2].offset] ^= 1;
	walk(&w, data, size, 1);
	assert_int_equal(w.reader.chunks, 2);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, sample.chunk[2].offset, chunk_bytes(2), BST_CHUNK_MAGIC_BAD);
	assert_int_equal(w.reader.torn_bytes, BST_CHUNK_HEADER_BYTES + 1);
	assert_int_equal(w.reader.missing_chunks, 1);
	free(data);
}

static void a_bad_payload_is_not_missing(void **state)
{
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	data[sample.chunk[2].offset + BST_CHUNK_HEADER_BYTES + 40] ^= 1;
	walk(&w, data, sample.size, 1);
	assert_chunk_lost(&w, 2, BST_PAYLOAD_BAD);
	assert_int_equal(w.reader.missing_chunks, 0);
	free(data);
}

/* A page of the file's own beginning, with a magic in it, does not start a chunk elsewhere. */
static void inserted_bytes_make_what_follows_stale(void **state)
{
	size_t at = sample.chunk[3].offset, size = sample.size + 13;
	uint8_t *data = malloc(size);
	struct walk w;

	(void)state;
	assert_non_null(data);
	memcpy(data, sample.data, at);
	memset(data + at, 0, 13);
	memcpy(data + at + 13, sample.data + at, sample.size - at);
	walk(&w, data, size, 1);
	assert_int_equal(w.reader.chunks, 3);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, at, size - at, BST_CHUNK_MAGIC_BAD);
	free(data);
}

static void a_removed_chunk_makes_what_follows_stale(void **state)
{
	size_t at = sample.chunk[3].offset, size = sample.size - chunk_bytes(3);
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	memmove(data + at, data + at + chunk_bytes(3), sample.size - at - chunk_bytes(3));
	walk(&w, data, size, 1);
	assert_int_equal(w.reader.chunks, 3);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, at, size - at, BST_CHUNK_STALE);
	free(data);
}

static void a_chunk_twice_is_read_once(void **state)
{
	size_t size = sample.size + chunk_bytes(3);
	uint8_t *data = malloc(size);
	struct walk w;

	(void)state;
	assert_non_null(data);
	memcpy(data, sample.data, sample.size);
	memcpy(data + sample.size, sample.data + sample.chunk[3].offset, chunk_bytes(3));
	walk(&w, data, size, 1);
	assert_int_equal(w.reader.chunks, sample.chunks);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, sample.size, chunk_bytes(3), BST_CHUNK_STALE);
	assert_false(bst_reader_complete(&w.reader));
	free(data);
}

static void exchanged_chunks_are_stale(void **state)
{
	size_t at = sample.chunk[2].offset;
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	memcpy(data + at, sample.data + sample.chunk[3].offset, chunk_bytes(3));
	memcpy(data + at + chunk_bytes(3), sample.data + at, chunk_bytes(2));
	walk(&w, data, sample.size, 1);
	assert_int_equal(w.reader.chunks, sample.chunks - 2);
	assert_damage(&w, 0, at, chunk_bytes(2) + chunk_bytes(3), BST_CHUNK_STALE);
	assert_int_equal(w.reader.missing_chunks, 2);
	free(data);
}

/* A shorter trace written over a longer one, without its end being cut. */
static void chunks_of_another_run_never_pass(void **state)
{
	struct image other;
	size_t at = sample.chunk[3].offset;
	uint8_t *data;
	struct walk w;

	(void)state;
	image_sample(&other, other_run_id);
	assert_int_equal(other.size, sample.size);
	data = copy_of(other.data, other.size);
	memcpy(data, sample.data, at);
	walk(&w, data, sample.size, 1);
	assert_int_equal(w.reader.chunks, 3);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, at, sample.size - at, BST_CHUNK_STALE);
	assert_false(bst_reader_complete(&w.reader));
	free(data);
	image_fini(&other);
}

static void all_damage_is_counted_and_the_first_kept(void **state)
{
	struct image image;
	struct walk w;

	(void)state;
	image_init(&image, run_id, 1, 0);
	for (unsigned i = 0; i < BST_DAMAGE_KEPT + 10; i++) {
		image.chunks = 0;
		image_add_raw(&image, BST_CHUNK_TABLE, 0, "x", 1);
		image.data[image.size - 1] = 'y';
	}
	walk(&w, image.data, image.size, 0);
	assert_int_equal(w.reader.damage_count, BST_DAMAGE_KEPT + 10);
	assert_int_equal(w.reader.damage_bytes, (BST_DAMAGE_KEPT + 10) * 97);
	assert_int_equal(w.reader.damage[BST_DAMAGE_KEPT - 1].reason, BST_PAYLOAD_BAD);
	image_fini(&image);
}

static void a_chunk_that_does_not_decode_is_damage(void **state)
{
	size_t at = sample.chunk[1].offset;
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	put_u16(data + at + BST_CHUNK_HEADER_BYTES, 0); /* table 0 */
	image_seal_chunk(data + at);
	walk(&w, data, sample.size, 0);
	assert_chunk_lost(&w, 1, BST_TABLE_ZERO);
	free(data);
}

/* --- the file header -------------------------------------------------------------------------- */

static enum bst_status refusal(const uint8_t *data, size_t size)
{
	struct walk w;

	walk(&w, data, size, 0);
	return w.refused;
}

static void foreign_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(refusal((const uint8_t *)"", 0), BST_EMPTY);
	assert_int_equal(refusal((const uint8_t *)"\x7f"
						  "ELF",
				 4),
			 BST_FOREIGN);
	assert_int_equal(refusal((const uint8_t *)"\x89PNG\r\n\x1a\n", 8), BST_FOREIGN);
	assert_int_equal(refusal((const uint8_t *)"\x89"
						  "BST\n\x1a\n",
				 7),
			 BST_FOREIGN);
	assert_int_equal(refusal((const uint8_t *)"\x89", 1), BST_HEADER_TORN);
}

static void each_field_of_the_file_header_is_judged(void **state)
{
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	data[10] = 7;    /* minor */
	data[24] = 0xFF; /* compatible bits */
	data[56] = 1;    /* reserved */
	put_u64(data + 48, UINT64_MAX);
	image_seal_file(data);
	walk(&w, data, sample.size, 1);
	assert_whole(&w);
	assert_int_equal(w.reader.header.minor, 7);
	assert_int_equal(w.reader.header.compatible, 0xFF);

	data[60] ^= 1;
	assert_int_equal(refusal(data, sample.size), BST_HEADER_DAMAGED);
	data[8] = 2;
	image_seal_file(data);
	assert_int_equal(refusal(data, sample.size), BST_MAJOR_UNKNOWN);
	data[8] = 0;
	image_seal_file(data);
	assert_int_equal(refusal(data, sample.size), BST_MAJOR_UNKNOWN);
	data[8] = 1;
	for (unsigned bit = 0; bit < 64; bit++) {
		put_u64(data + 16, UINT64_C(1) << bit);
		image_seal_file(data);
		assert_int_equal(refusal(data, sample.size), BST_FEATURE_UNKNOWN);
	}
	put_u64(data + 16, 0);
	data[32] ^= 1; /* run id: nothing in this file is of this run */
	image_seal_file(data);
	walk(&w, data, sample.size, 1);
	assert_int_equal(w.reader.chunks, 0);
	assert_damage(&w, 0, 64, sample.size - 64, BST_CHUNK_STALE);
	free(data);
}

static void header_sizes_out_of_range_are_refused(void **state)
{
	static const uint32_t bad[] = {0, 63, 4097, UINT32_MAX};
	uint8_t *data = sample_copy();

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		put_u32(data + 12, bad[i]);
		image_seal_file(data);
		assert_int_equal(refusal(data, sample.size), BST_HEADER_DAMAGED);
	}
	put_u32(data + 12, 4096);
	image_seal_file(data);
	assert_int_equal(refusal(data, 4095 < sample.size ? 4095 : sample.size), BST_HEADER_TORN);
	free(data);
}

static void a_longer_file_header_is_stepped_over(void **state)
{
	uint8_t *data = calloc(1, sample.size + 64);
	size_t at = 128;
	struct walk w;

	(void)state;
	assert_non_null(data);
	memcpy(data, sample.data, 64);
	memset(data + 64, 0xC5, 64);
	put_u32(data + 12, 128);
	image_seal_file(data);
	memcpy(data + 128, sample.data + 64, sample.size - 64);
	for (unsigned i = 0; i < sample.chunks; i++) {
		put_u64(data + at + 32, at);
		image_seal_chunk(data + at);
		at += chunk_bytes(i);
	}
	walk(&w, data, sample.size + 64, 0);
	assert_whole(&w);
	free(data);
}

/* --- the chunk header, its checksum repaired after each change -------------------------------- */

static void change_chunk(unsigned chunk, unsigned at, uint64_t value, unsigned bytes,
			 struct walk *w)
{
	uint8_t *data = sample_copy();
	uint8_t *header = data + sample.chunk[chunk].offset;

	for (unsigned i = 0; i < bytes; i++)
		header[at + i] = (uint8_t)(value >> (8 * i));
	put_u32(header + 92, (uint32_t)crc32(0, header, 92));
	walk(w, data, sample.size, 0);
	free(data);
}

static void a_bad_chunk_header_costs_its_chunk(void **state)
{
	static const struct {
		unsigned at;
		unsigned bytes;
		uint64_t value;
		enum bst_status reason;
	} bad[] = {
		{0, 4, 0x435342C4, BST_CHUNK_MAGIC_BAD},
		{4, 2, 0, BST_CHUNK_TYPE_ZERO},
		{12, 4, 0x12345678, BST_PAYLOAD_BAD},
		{16, 8, 1, BST_CHUNK_STALE},
		{32, 8, 64, BST_CHUNK_STALE},
		{8, 4, (64u << 20) + 1, BST_CHUNK_TOO_LARGE},
		{8, 4, UINT32_MAX, BST_CHUNK_TOO_LARGE},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct walk w;

		change_chunk(2, bad[i].at, bad[i].value, bad[i].bytes, &w);
		assert_chunk_lost(&w, 2, bad[i].reason);
		assert_int_equal(w.reader.missing_chunks, bad[i].reason != BST_PAYLOAD_BAD);
	}
}

static void flags_reserved_bytes_and_losses_cost_nothing(void **state)
{
	struct walk w;

	(void)state;
	change_chunk(2, 6, 0xFFFF, 2, &w);
	assert_whole(&w);
	change_chunk(2, 88, UINT32_MAX, 4, &w);
	assert_whole(&w);
	change_chunk(trailer_chunk(), 84, UINT32_MAX, 4, &w);
	assert_whole(&w);
	assert_int_equal(w.reader.losses[11], UINT32_MAX);
}

static void a_wrong_payload_size_costs_what_it_covers(void **state)
{
	uint32_t size = (uint32_t)chunk_bytes(2) - BST_CHUNK_HEADER_BYTES;
	struct walk w;

	(void)state;
	change_chunk(2, 8, size - 1, 4, &w); /* then one byte is left over */
	assert_int_equal(w.reader.chunks, sample.chunks - 1);
	assert_int_equal(w.reader.damage_count, 2);
	assert_damage(&w, 0, sample.chunk[2].offset, chunk_bytes(2) - 1, BST_PAYLOAD_BAD);
	assert_damage(&w, 1, sample.chunk[3].offset - 1, 1, BST_CHUNK_MAGIC_BAD);
	change_chunk(2, 8, size + 1, 4, &w); /* then the next one begins too late */
	assert_int_equal(w.reader.chunks, sample.chunks - 2);
	assert_damage(&w, 0, sample.chunk[2].offset, chunk_bytes(2) + 1, BST_PAYLOAD_BAD);
	assert_damage(&w, 1, sample.chunk[3].offset + 1, chunk_bytes(3) - 1, BST_CHUNK_MAGIC_BAD);
	assert_int_equal(w.reader.missing_chunks, 1);
	change_chunk(2, 8, (uint32_t)sample.size, 4, &w); /* past the end: a torn tail */
	assert_int_equal(w.reader.chunks, 2);
	assert_int_equal(w.reader.damage_count, 0);
	assert_int_equal(w.reader.torn_bytes, sample.size - sample.chunk[2].offset);
}

static void jumps_of_the_sequence_are_missing_chunks(void **state)
{
	struct walk w;

	(void)state;
	change_chunk(0, 24, 5, 8, &w); /* 5, 1, 2, ... */
	assert_int_equal(w.reader.missing_chunks, 5);
	change_chunk(2, 24, 12, 8, &w); /* 0, 1, 12, 3, ... */
	assert_int_equal(w.reader.missing_chunks, 10);
	assert_int_equal(w.reader.damage_count, 0);
	assert_int_equal(w.reader.chunks, sample.chunks);
	assert_false(bst_reader_complete(&w.reader));
	change_chunk(2, 24, UINT64_MAX, 8, &w);
	assert_false(bst_reader_complete(&w.reader));
}

/* --- from the future -------------------------------------------------------------------------- */

static void unknown_skippable_types_are_counted_and_skipped(void **state)
{
	struct walk w;

	(void)state;
	change_chunk(2, 4, 3 | BST_CHUNK_SKIPPABLE << 16, 4, &w);
	assert_int_equal(w.reader.skipped_chunks, 1);
	assert_int_equal(w.reader.chunks, sample.chunks - 1);
	assert_true(bst_reader_complete(&w.reader));
	change_chunk(2, 4, 0xFFFF | 0xFFFFu << 16, 4, &w);
	assert_int_equal(w.reader.skipped_chunks, 1);
	assert_true(bst_reader_complete(&w.reader));
}

static void unknown_types_without_the_flag_end_the_walk(void **state)
{
	struct walk w;

	(void)state;
	change_chunk(2, 4, 3 | 0xFFFEu << 16, 4, &w);
	assert_int_equal(w.reader.chunks, 2);
	assert_int_equal(w.reader.stopped_by, BST_CHUNK_UNKNOWN);
	assert_int_equal(w.reader.damage_count, 1);
	assert_damage(&w, 0, sample.chunk[2].offset, sample.size - sample.chunk[2].offset,
		      BST_CHUNK_UNKNOWN);
	assert_false(bst_reader_complete(&w.reader));
}

/* --- the trailer ------------------------------------------------------------------------------ */

static void a_trailer_with_other_content_is_damage(void **state)
{
	size_t at = sample.chunk[trailer_chunk()].offset;
	uint8_t *data = sample_copy();
	struct walk w;

	(void)state;
	data[at + BST_CHUNK_HEADER_BYTES + 12] = 'X';
	image_seal_chunk(data + at);
	walk(&w, data, sample.size, 0);
	assert_chunk_lost(&w, trailer_chunk(), BST_TABLE_SHORT);
	free(data);
}

static void a_trailer_before_the_end_means_nothing(void **state)
{
	struct image image;
	uint8_t payload[BST_TRAILER_BYTES] = {0};
	struct walk w;

	(void)state;
	put_u32(payload + 12, BST_TRAILER_MAGIC);
	image_init(&image, run_id, 1, 0);
	image_add_raw(&image, BST_CHUNK_TRAILER, 0, payload, sizeof(payload));
	walk(&w, image.data, image.size, 0);
	assert_true(bst_reader_complete(&w.reader));
	image_add_raw(&image, 77, BST_CHUNK_SKIPPABLE, NULL, 0);
	walk(&w, image.data, image.size, 0);
	assert_int_equal(w.reader.damage_count, 0);
	assert_false(bst_reader_complete(&w.reader));
	image_fini(&image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_trace_is_complete),
		cmocka_unit_test(cut_at_every_byte_leaves_the_chunks_before),
		cmocka_unit_test(cut_at_every_byte_and_filled_with_zeros_leaves_the_chunks_before),
		cmocka_unit_test(zeros_behind_the_end_are_a_torn_tail),
		cmocka_unit_test(garbage_behind_the_end_is_damage),
		cmocka_unit_test(losses_of_a_torn_chunk_count),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(overwritten_stretches_lose_no_more_than_they_touch),
		cmocka_unit_test(a_zeroed_chunk_is_damage_and_missing),
		cmocka_unit_test(neighbouring_damage_is_one_stretch_until_a_good_header),
		cmocka_unit_test(damage_ends_at_a_torn_chunk_too),
		cmocka_unit_test(a_bad_payload_is_not_missing),
		cmocka_unit_test(inserted_bytes_make_what_follows_stale),
		cmocka_unit_test(a_removed_chunk_makes_what_follows_stale),
		cmocka_unit_test(a_chunk_twice_is_read_once),
		cmocka_unit_test(exchanged_chunks_are_stale),
		cmocka_unit_test(chunks_of_another_run_never_pass),
		cmocka_unit_test(all_damage_is_counted_and_the_first_kept),
		cmocka_unit_test(a_chunk_that_does_not_decode_is_damage),
		cmocka_unit_test(foreign_files_are_refused),
		cmocka_unit_test(each_field_of_the_file_header_is_judged),
		cmocka_unit_test(header_sizes_out_of_range_are_refused),
		cmocka_unit_test(a_longer_file_header_is_stepped_over),
		cmocka_unit_test(a_bad_chunk_header_costs_its_chunk),
		cmocka_unit_test(flags_reserved_bytes_and_losses_cost_nothing),
		cmocka_unit_test(a_wrong_payload_size_costs_what_it_covers),
		cmocka_unit_test(jumps_of_the_sequence_are_missing_chunks),
		cmocka_unit_test(unknown_skippable_types_are_counted_and_skipped),
		cmocka_unit_test(unknown_types_without_the_flag_end_the_walk),
		cmocka_unit_test(a_trailer_with_other_content_is_damage),
		cmocka_unit_test(a_trailer_before_the_end_means_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
