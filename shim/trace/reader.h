/* Walking the chunks of a trace in memory, past any damage. */
#ifndef BST_READER_H
#define BST_READER_H

#include "chunk.h"

struct bst_chunk {
	uint64_t offset; /* of its header in the file */
	uint64_t sequence;
	uint16_t type;
	uint16_t flags;
	uint32_t payload_bytes;
	const uint8_t *payload; /* inside the mapped file, crc checked */
	uint32_t losses[BST_CAUSE_COUNT];
};

/* A stretch of the file that could not be used. */
struct bst_damage {
	uint64_t offset;
	uint64_t bytes;
	enum bst_status reason; /* the first one */
};

#define BST_DAMAGE_KEPT 64

/* One walk over a trace. Plain data over memory that the caller keeps mapped; nothing to free. */
struct bst_reader {
	const uint8_t *data;
	size_t size;
	struct bst_file_header header;
	uint64_t run;
	size_t at;
	uint64_t next_sequence;
	uint64_t chunks;         /* good ones so far */
	uint64_t missing_chunks; /* by jumps of the sequence */
	uint64_t skipped_chunks; /* of unknown, skippable type */
	uint64_t torn_bytes;     /* behind the last whole chunk of a file that was cut off */
	uint64_t damage_bytes;
	unsigned damage_count; /* all; the first BST_DAMAGE_KEPT are in `damage` */
	struct bst_damage damage[BST_DAMAGE_KEPT];
	int trailer; /* a trailer stood at the very end */
	enum bst_status
		stopped_by; /* BST_OK, or BST_CHUNK_UNKNOWN: an incompatible chunk ended the walk; the rest is damage */
	uint32_t losses[BST_CAUSE_COUNT]; /* of the last good chunk header */
};

/* Judges the file header. On BST_OK the reader stands before the first chunk. */
enum bst_status bst_reader_init(struct bst_reader *reader, const uint8_t *data, size_t size);

/* The next good table or trailer chunk: 1, or 0 at the end. Damage on the way is recorded in the reader. */
int bst_reader_next(struct bst_reader *reader, struct bst_chunk *chunk);

/* Records that a chunk whose crc was right does not decode (see bst_rows_decode). */
void bst_reader_reject(struct bst_reader *reader, const struct bst_chunk *chunk,
		       enum bst_status why);

/* After the walk: a trailer at the end, no damage and no missing chunk. */
int bst_reader_complete(const struct bst_reader *reader);

#endif
