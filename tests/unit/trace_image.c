/* Encoder calls in the order of a real writer, without a file. */
#include "tests/unit/trace_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "shim/trace/wire.h"

static uint64_t random_state;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "trace_image: %s\n", what);
	abort();
}

static uint8_t *room(struct image *image, size_t bytes)
{
	if (image->size + bytes > image->capacity) {
		image->capacity = (image->size + bytes) * 2;
		image->data = realloc(image->data, image->capacity);
		must(image->data != NULL, "no memory");
	}
	return image->data + image->size;
}

void image_init(struct image *image, const uint8_t run_id[16], uint32_t rows, uint32_t text)
{
	size_t bytes = bst_encoder_bytes(rows, text);

	memset(image, 0, sizeof(*image));
	image->memory = malloc(bytes);
	must(image->memory != NULL, "no memory");
	must(bst_encoder_init(&image->encoder, run_id, rows, text, image->memory, bytes) == BST_OK,
	     "encoder");
	bst_encode_file_header(&image->encoder, run_id, UINT64_C(1700000000123456789),
			       room(image, BST_FILE_HEADER_BYTES));
	image->size = BST_FILE_HEADER_BYTES;
}

void image_fini(struct image *image)
{
	free(image->data);
	free(image->memory);
}

static void note_chunk(struct image *image, const struct bst_batch *batch)
{
	struct image_chunk *chunk = &image->chunk[image->chunks++];

	must(image->chunks <= IMAGE_CHUNKS, "too many chunks");
	memset(chunk, 0, sizeof(*chunk));
	chunk->offset = image->size;
	if (!batch)
		return;
	chunk->table = batch->info->id;
	chunk->rows = batch->rows;
	chunk->first_row = batch->first_row;
	chunk->time_min = batch->time_min;
	chunk->time_max = batch->time_max;
}

void image_add(struct image *image, struct bst_batch *batch)
{
	size_t size, most = bst_chunk_bytes(batch);

	must(bst_encode_batch(&image->encoder, batch, room(image, most), most, &size) == BST_OK,
	     "a batch does not encode");
	note_chunk(image, batch);
	image->size += size;
	bst_encoder_commit(&image->encoder, size);
	bst_batch_clear(batch);
}

void image_add_raw(struct image *image, uint16_t type, uint16_t flags, const void *payload,
		   size_t size)
{
	uint8_t *p = room(image, BST_CHUNK_HEADER_BYTES + size);

	memset(p, 0, BST_CHUNK_HEADER_BYTES);
	put_u32(p, BST_CHUNK_MAGIC);
	put_u16(p + 4, type);
	put_u16(p + 6, flags);
	put_u32(p + 8, (uint32_t)size);
	put_u64(p + 16, image->encoder.run);
	put_u64(p + 24, image->encoder.sequence);
	put_u64(p + 32, image->encoder.offset);
	if (size)
		memcpy(p + BST_CHUNK_HEADER_BYTES, payload, size);
	image_seal_chunk(p);
	note_chunk(image, NULL);
	image->size += BST_CHUNK_HEADER_BYTES + size;
	bst_encoder_commit(&image->encoder, BST_CHUNK_HEADER_BYTES + size);
}

void image_finish(struct image *image)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_INDEX, IMAGE_CHUNKS, 0);
	size_t index = image->size;

	for (unsigned i = 0; i < image->chunks; i++) {
		const struct image_chunk *c = &image->chunk[i];
		uint64_t row[] = {c->offset,    c->table,    c->rows,
				  c->first_row, c->time_min, c->time_max};

		if (c->table)
			must(bst_batch_add_numbers(&batch, row) == BST_OK, "index");
	}
	image_add(image, &batch);
	free(memory);
	room(image, BST_CHUNK_HEADER_BYTES + BST_TRAILER_BYTES);
	note_chunk(image, NULL);
	image->size += bst_encode_trailer(&image->encoder, index, 1, image->data + image->size);
}

static void add_strings(struct image *image)
{
	static const char *const value[] = {
		"", "vectorAdd(float const*, float*, int)",
		"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5",
		"tab\tquote\"back\\slash\xff"};
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_STRING, 8, 4096);

	for (unsigned i = 0; i < 4; i++) {
		struct bst_cell row[] = {
			{.number = i + 1},
			{.text = value[i], .size = (uint32_t)strlen(value[i])},
		};

		must(bst_batch_add(&batch, row) == BST_OK, "string");
	}
	image_add(image, &batch);
	free(memory);
}

static void add_calls(struct image *image, unsigned chunks)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_CALL, 64, 0);

	for (unsigned i = 0; i < chunks; i++) {
		for (unsigned j = 0; j < 48; j++) {
			unsigned n = i * 48 + j;
			uint64_t begin = UINT64_C(5000000000) + 7321 * n + (n * n) % 911;
			uint64_t row[] = {1, n % 3 + 1, begin, 2400 + n % 17,    1000 + n,
					  1, 0,         0,     n % 5 ? 0u : 16u, 0};

			must(bst_batch_add_numbers(&batch, row) == BST_OK, "call");
		}
		image->encoder.losses[BST_ENUM_LOSS_RING_FULL - 1] = i * 7;
		image_add(image, &batch);
	}
	free(memory);
}

static void add_runs(struct image *image)
{
	struct bst_batch batch;
	void *memory = batch_create(&batch, BST_TABLE_RUN, 64, 0);

	for (unsigned j = 0; j < 40; j++) {
		uint64_t begin = UINT64_C(1700000000000000000) + 9000 * j;
		uint64_t row[] = {j % 4, begin, 4096 + 3 * j, 1000 + j, 1, 7, 0, 0, 0, j == 9};

		must(bst_batch_add_numbers(&batch, row) == BST_OK, "run");
	}
	image_add(image, &batch);
	free(memory);
}

void image_sample(struct image *image, const uint8_t run_id[16])
{
	image_init(image, run_id, 64, 4096);
	add_strings(image);
	add_calls(image, 4);
	add_runs(image);
	image_finish(image);
}

void image_seal_file(uint8_t *data)
{
	put_u32(data + 60, (uint32_t)crc32(0, data, 60));
}

void image_seal_chunk(uint8_t *chunk)
{
	put_u32(chunk + 12, (uint32_t)crc32(0, chunk + BST_CHUNK_HEADER_BYTES, get_u32(chunk + 8)));
	put_u32(chunk + 92, (uint32_t)crc32(0, chunk, 92));
}

void *batch_create(struct bst_batch *batch, uint16_t table, uint32_t rows, uint32_t text)
{
	const struct bst_table_info *info = bst_table_info(table);
	void *memory = malloc(bst_batch_bytes(info, rows, text) + 1);

	must(memory != NULL, "no memory");
	bst_batch_init(batch, info, rows, text, memory);
	return memory;
}

void random_init(void)
{
	const char *seed = getenv("BOUNDSHIM_TEST_SEED");

	random_seed(seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL));
	printf("BOUNDSHIM_TEST_SEED=%llu\n", (unsigned long long)random_state);
}

void random_seed(uint64_t seed)
{
	random_state = seed;
}

/* splitmix64, public domain (Sebastiano Vigna). */
uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t random_below(uint64_t limit)
{
	return random_next() % limit;
}
