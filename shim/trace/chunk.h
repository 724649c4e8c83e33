/* Framing: file header, chunk headers, trailer; batches become chunks. */
#ifndef BST_CHUNK_H
#define BST_CHUNK_H

#include "batch.h"

struct bst_file_header {
	uint16_t major;
	uint16_t minor;
	uint32_t header_bytes;
	uint64_t incompatible;
	uint64_t compatible;
	uint8_t run_id[16];
	uint64_t created_ns; /* CLOCK_REALTIME */
};

/* State of one file being written. Plain data; one thread at a time. */
struct bst_encoder {
	uint64_t run; /* the first 8 bytes of the run id */
	uint64_t sequence;
	uint64_t offset; /* where the next chunk will stand in the file */
	uint32_t losses
		[BST_CAUSE_COUNT]; /* cumulative, by cause - 1; the caller keeps them up to date */
	void *deflater;            /* from bst_encoder_init, memory inside the caller's block */
	uint64_t *values;
	uint8_t *raw;
	uint32_t rows; /* the largest batch that fits */
	uint32_t text;
};

/* Memory that an encoder needs for batches of up to `rows` rows and `text` bytes in a text column. */
size_t bst_encoder_bytes(uint32_t rows, uint32_t text);

/* Prepares an encoder in `memory` (aligned to 16, bst_encoder_bytes long). Allocates nothing else, now or later. */
enum bst_status bst_encoder_init(struct bst_encoder *encoder, const uint8_t run_id[16],
				 uint32_t rows, uint32_t text, void *memory, size_t bytes);

/* The 64 bytes of a file header; sets encoder->offset behind it. */
void bst_encode_file_header(struct bst_encoder *encoder, const uint8_t run_id[16],
			    uint64_t created_ns, uint8_t out[BST_FILE_HEADER_BYTES]);

/* Bytes that bst_encode_batch may need for this batch at most. */
size_t bst_chunk_bytes(const struct bst_batch *batch);

/*
 * Writes the batch as one chunk into `out` (room for `capacity` bytes) and its length into *size. The encoder's
 * sequence and offset move on only with bst_encoder_commit, once the bytes are in the file: a failed write leaves no
 * hole in the numbering that would look like damage. BST_FULL if `out` is too small, the batch larger than the encoder
 * was made for, or the payload larger than a reader takes. A batch without rows is an error of the caller.
 */
enum bst_status bst_encode_batch(struct bst_encoder *encoder, const struct bst_batch *batch,
				 uint8_t *out, size_t capacity, size_t *size);

/* The trailer chunk: `index_offset` and `index_chunks` of the chunk table. Needs 112 bytes. */
size_t bst_encode_trailer(struct bst_encoder *encoder, uint64_t index_offset, uint32_t index_chunks,
			  uint8_t *out);

/* The chunk of `size` bytes was written at encoder->offset. */
void bst_encoder_commit(struct bst_encoder *encoder, size_t size);

/*
 * Gives the chunk, whose header begins at `header`, another place in its file, and adds `file_limit` to the rows that it says the
 * size limit has cost so far. Its payload stays.
 */
void bst_chunk_move(uint8_t *header, uint64_t sequence, uint64_t offset, uint64_t file_limit);

/* Parses and judges a file header: BST_OK, or the first reason of FORMAT.md section 1 why the file is refused. */
enum bst_status bst_decode_file_header(const uint8_t *data, size_t size,
				       struct bst_file_header *header);

#endif
