/* Whole traces for tests of the analysis: rows go in by name, a file comes out. */
#ifndef TESTS_UNIT_TRACE_BUILDER_H
#define TESTS_UNIT_TRACE_BUILDER_H

#include <stdbool.h>

#include "analysis/analyze.h"
#include "shim/trace/chunk.h"

/* Device times of built traces are host times plus this: 2023 against an uptime. */
#define BUILDER_DEVICE_OFFSET UINT64_C(1700000000000000000)

struct trace_builder {
	uint8_t *data;
	size_t size, capacity;
	struct bst_encoder encoder;
	void *encoder_memory;
	struct bst_batch batch[BST_TABLE_LIMIT];
	void *batch_memory[BST_TABLE_LIMIT];
	uint32_t rows; /* of a chunk */
	uint64_t strings, apis, threads, kernels, handles;
	uint32_t correlation; /* last used by builder_launch */
};

struct builder_call {
	uint64_t thread, api, begin_ns, duration_ns, correlation, stream, flags, object;
};

struct builder_range {
	uint64_t thread, time_ns, kind, domain, name, id;
};

/* Times are the host's. */
struct builder_run {
	uint64_t kernel, begin_ns, duration_ns, correlation, stream, graph, node, device, flags;
};

struct builder_copy {
	uint64_t kind, begin_ns, duration_ns, correlation, stream, device, bytes, source_kind,
		target_kind;
};

/* An empty trace in chunks of up to `rows` rows. builder_init_bare leaves device, clock and meta
 * rows to the test. */
void builder_init_bare(struct trace_builder *b, uint32_t rows);
/* The same with an H200 as device 0, clock readings, CUPTI on and its cost calibrated as 0. */
void builder_init(struct trace_builder *b, uint32_t rows);
void builder_fini(struct trace_builder *b);

void builder_meta(struct trace_builder *b, const char *key, const char *value);
void builder_number(struct trace_builder *b, unsigned device, const char *key, uint64_t number);
void builder_text(struct trace_builder *b, unsigned device, const char *key, const char *text);
void builder_clock(struct trace_builder *b, uint64_t device_ns, uint64_t host_ns, unsigned reason);
void builder_loss(struct trace_builder *b, unsigned cause, uint64_t count, uint64_t thread,
		  uint64_t begin_ns, uint64_t end_ns);
void builder_cost(struct trace_builder *b, unsigned kind, uint64_t count, uint64_t total_ns);

/* A percentage that device 0's samples have in `slot`, and a sample of such, in hundredths. */
void builder_metric(struct trace_builder *b, unsigned slot, const char *name);
void builder_sample(struct trace_builder *b, uint64_t begin_ns, uint64_t duration_ns,
		    const uint64_t value[12]);

/* Dictionary rows: each returns its new id. */
uint64_t builder_thread(struct trace_builder *b, uint64_t tid);
uint64_t builder_api(struct trace_builder *b, const char *name, unsigned klass);
uint64_t builder_kernel(struct trace_builder *b, const char *name, uint64_t grid, uint64_t block);

uint64_t builder_string(struct trace_builder *b, const char *value);
uint64_t builder_handle(struct trace_builder *b, uint64_t value);

void builder_call(struct trace_builder *b, const struct builder_call *call);
void builder_run(struct trace_builder *b, const struct builder_run *run);
void builder_copy(struct trace_builder *b, const struct builder_copy *copy);
void builder_range(struct trace_builder *b, const struct builder_range *range);

/* A row of any table that is written: one cell for each column. */
void builder_row(struct trace_builder *b, uint16_t table, const struct bst_cell *cells);

/* Writes out all rows gathered so far. */
void builder_flush(struct trace_builder *b);
/* The same, and the trailer. */
void builder_finish(struct trace_builder *b);

/* Writes the bytes to a file of their own; free() and unlink() the path. */
char *builder_write(const struct trace_builder *b);

/* Finishes, writes, analyses and removes the file. The report is the caller's; returns the exit
 * status. */
int builder_analyze(struct trace_builder *b, struct report *report);

#endif
