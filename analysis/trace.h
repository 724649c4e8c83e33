/* One trace file: mapped, walked once, its dictionaries read, its chunks of events listed, its
 * damage put into words. */
#ifndef TRACE_H
#define TRACE_H

#include "shim/trace/reader.h"
#include "vocabulary.h"

/* A chunk of events that has not been decoded yet. */
struct trace_chunk {
	uint64_t offset;
	const uint8_t *payload;
	uint32_t payload_bytes;
	uint16_t table;
	bool bad; /* it did not decode: reported, to be passed over */
	uint32_t rows;
	uint64_t time_min; /* as its header says, in the table's own clock */
	uint64_t time_max;
};

/* Rows of an event table that damage took: they lie between these times of the table's own clock.
 */
struct trace_hole {
	uint16_t table;
	uint64_t begin_ns;
	uint64_t end_ns;
};

struct trace {
	const char *path; /* the caller's */
	uint8_t *data;
	size_t size;
	struct bst_reader reader;
	struct vocabulary vocabulary;
	struct trace_chunk
		*chunk; /* of tables run, copy, call, sample, wake and range, in file order */
	size_t chunk_count, chunk_capacity;
	struct trace_hole *hole;
	size_t hole_count, hole_capacity;
};

/*
 * Maps and walks the trace at `path` (kept by reference). 0, or -1 with words in *reason (to be
 * freed) when there is nothing to read: no such file, foreign, empty, of another version. Damage
 * further in is no error here: see trace_damage.
 */
int trace_open(struct trace *trace, const char *path, char **reason);
void trace_close(struct trace *trace);

/* A listed chunk that turned out not to decode: noted as damage once. */
void trace_reject(struct trace *trace, struct trace_chunk *chunk, enum bst_status why);

/* Gives the pages of a chunk that has been read back to the system: a trace may be larger than
 * memory should grow. */
void trace_forget(const struct trace *trace, const struct trace_chunk *chunk);

/* Is the file whole? */
bool trace_complete(const struct trace *trace);
/* Is it damaged inside (as against cut off)? */
bool trace_damaged(const struct trace *trace);

/*
 * What is wrong, in words: "chunk at 12345: payload: checksum mismatch; 3.1 s of 12.4 s are
 * intact". NULL for a complete trace or without memory. The caller frees it.
 */
char *trace_damage(const struct trace *trace, uint64_t intact_ns, uint64_t traced_ns);

#endif
