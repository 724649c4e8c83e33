/* The trace file being written: batches of rows become chunks, dictionaries before what refers to them. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/batch.h"

struct output;

struct output_options {
	const char *out;    /* BOUNDSHIM_OUT, NULL = default */
	uint64_t max_bytes; /* 0 = no limit */
	int keep_newest;    /* beyond it the oldest goes, else what comes is not kept */
	const char *host;
	const char *rank; /* "" if none */
	int64_t start_ms; /* CLOCK_REALTIME */
};

/*
 * Creates the file (O_EXCL, 0600) and writes its header, schema and vocabularies. NULL on failure, with the reason said on
 * stderr. One output in a process; memory is mapped, not allocated.
 */
struct output *output_open(const struct output_options *options);

/* Appends a row to a table: one cell for each column in the order of tables.def. Only the writer thread from here on. */
void output_add(struct output *output, enum bst_table table, const struct bst_cell *cells);
/* The same for tables of numbers only. */
void output_add_numbers(struct output *output, enum bst_table table, const uint64_t *numbers);

/* A row of `meta`, both ends as text. NULL values are left out. */
void output_meta(struct output *output, const char *key, const char *value);
void output_meta_number(struct output *output, const char *key, uint64_t value);

/* Writes all that waits. */
void output_flush(struct output *output);

/*
 * Where the newest is kept and the file has grown: takes a piece of the way to a shorter one. True while there is more of it; what
 * waits in rings and buffers is to be added in between.
 */
bool output_trim(struct output *output);

/* Flushes, writes index and trailer, closes. */
void output_close(struct output *output);

/* In a forked child: closes the descriptor, writes nothing. */
void output_abandon(struct output *output);

/* Bytes in the file so far. */
uint64_t output_bytes(const struct output *output);

/* The path, for messages. */
const char *output_path(const struct output *output);

#endif
