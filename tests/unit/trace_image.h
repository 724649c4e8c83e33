/* A trace built in memory with the encoder, for tests that then read it, whole or damaged. */
#ifndef BOUNDSHIM_TESTS_UNIT_TRACE_IMAGE_H
#define BOUNDSHIM_TESTS_UNIT_TRACE_IMAGE_H

#include "shim/trace/chunk.h"

#define IMAGE_CHUNKS 64

struct image_chunk {
	size_t offset;
	uint16_t table; /* 0 = no table chunk */
	uint32_t rows;
	uint64_t first_row;
	uint64_t time_min;
	uint64_t time_max;
};

struct image {
	uint8_t *data;
	size_t size;
	size_t capacity;
	struct bst_encoder encoder;
	void *memory; /* the encoder's */
	struct image_chunk chunk[IMAGE_CHUNKS];
	unsigned chunks;
};

/* A file header with this run id, and room for batches of up to `rows` rows and `text` bytes. */
void image_init(struct image *image, const uint8_t run_id[16], uint32_t rows, uint32_t text);
void image_fini(struct image *image);

/* Appends the batch as a chunk and clears it. */
void image_add(struct image *image, struct bst_batch *batch);

/* Appends a chunk with any payload, framed well. */
void image_add_raw(struct image *image, uint16_t type, uint16_t flags, const void *payload,
		   size_t size);

/* Appends the index and the trailer. */
void image_finish(struct image *image);

/* The sample that most tests share: several tables, about 4 kB, chunks stored and deflated. */
void image_sample(struct image *image, const uint8_t run_id[16]);

/* Writes the checksum of a file header, of a chunk's payload and then of its header. */
void image_seal_file(uint8_t *data);
void image_seal_chunk(uint8_t *chunk);

/* An empty batch of this table in memory of its own; free() the result of batch_memory after use.
 */
void *batch_create(struct bst_batch *batch, uint16_t table, uint32_t rows, uint32_t text);

/* Random numbers. random_init takes BOUNDSHIM_TEST_SEED or else the time, and prints it. */
void random_init(void);
void random_seed(uint64_t seed);
uint64_t random_next(void);
uint64_t random_below(uint64_t limit);

#endif
