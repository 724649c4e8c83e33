/* Rows to batches to chunks, in memory. */
#include "tests/unit/trace_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES (1u << 20)

/* Dictionary rows go out before event rows that refer to them. */
static const uint16_t flush_order[] = {
	BST_TABLE_META,   BST_TABLE_DEVICE,  BST_TABLE_CLOCK,   BST_TABLE_STRING, BST_TABLE_API,
	BST_TABLE_THREAD, BST_TABLE_CONTEXT, BST_TABLE_KERNEL,  BST_TABLE_LOSS,   BST_TABLE_COST,
	BST_TABLE_CALL,   BST_TABLE_RUN,     BST_TABLE_COPY,    BST_TABLE_METRIC, BST_TABLE_SAMPLE,
	BST_TABLE_BURST,  BST_TABLE_SHAPE,   BST_TABLE_LIBRARY, BST_TABLE_NODE,   BST_TABLE_HANDLE,
	BST_TABLE_RANGE,
};

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "trace_builder: %s\n", what);
	abort();
}

static uint8_t *room(struct trace_builder *b, size_t bytes)
{
	if (b->size + bytes > b->capacity) {
		b->capacity = (b->size + bytes) * 2;
		b->data = realloc(b->data, b->capacity);
		must(b->data != NULL, "no memory");
	}
	return b->data + b->size;
}

void builder_init_bare(struct trace_builder *b, uint32_t rows)
{
	static const uint8_t run_id[16] = "0123456789abcde";
	uint32_t most = rows > 64 ? rows : 64;
	size_t bytes = bst_encoder_bytes(most, TEXT_BYTES);

	memset(b, 0, sizeof(*b));
	b->rows = rows;
	b->encoder_memory = malloc(bytes);
	must(b->encoder_memory != NULL, "no memory");
	must(bst_encoder_init(&b->encoder, run_id, most, TEXT_BYTES, b->encoder_memory, bytes) ==
		     BST_OK,
	     "encoder");
	bst_encode_file_header(&b->encoder, run_id, BUILDER_DEVICE_OFFSET,
			       room(b, BST_FILE_HEADER_BYTES));
	b->size = BST_FILE_HEADER_BYTES;
}

void builder_init(struct trace_builder *b, uint32_t rows)
{
	static const struct {
		const char *key;
		uint64_t number;
	} h200[] = {
		{"cc_major", 9},
		{"cc_minor", 0},
		{"sm_count", 132},
		{"clock_khz", 1980000},
		{"warp_size", 32},
		{"threads_per_sm", 2048},
		{"blocks_per_sm", 32},
		{"registers_per_sm", 65536},
		{"shared_per_sm", 233472},
		{"shared_reserved", 1024},
		{"memory_clock_khz", 3201000},
		{"memory_bus_bits", 6144},
	};

	builder_init_bare(b, rows);
	builder_text(b, 0, "name", "NVIDIA H200");
	for (size_t i = 0; i < sizeof(h200) / sizeof(h200[0]); i++)
		builder_number(b, 0, h200[i].key, h200[i].number);
	builder_clock(b, BUILDER_DEVICE_OFFSET + 1000, 1000, BST_ENUM_CLOCK_REASON_START);
	builder_meta(b, "cupti.state", "on");
	builder_meta(b, "cost.cupti_launch_ns", "0");
	builder_meta(b, "cost.cupti_node_ns", "0");
	builder_meta(b, "process.pid", "4242");
}

void builder_fini(struct trace_builder *b)
{
	for (unsigned i = 0; i < BST_TABLE_LIMIT; i++)
		free(b->batch_memory[i]);
	free(b->encoder_memory);
	free(b->data);
}

static void flush_table(struct trace_builder *b, uint16_t table)
{
	struct bst_batch *batch = &b->batch[table];
	size_t size, most;

	if (!b->batch_memory[table] || !batch->rows)
		return;
	most = bst_chunk_bytes(batch);
	must(bst_encode_batch(&b->encoder, batch, room(b, most), most, &size) == BST_OK, "encode");
	b->size += size;
	bst_encoder_commit(&b->encoder, size);
	bst_batch_clear(batch);
}

void builder_flush(struct trace_builder *b)
{
	for (size_t i = 0; i < sizeof(flush_order) / sizeof(flush_order[0]); i++)
		flush_table(b, flush_order[i]);
}

void builder_finish(struct trace_builder *b)
{
	builder_flush(b);
	room(b, BST_CHUNK_HEADER_BYTES + BST_TRAILER_BYTES);
	b->size += bst_encode_trailer(&b->encoder, b->size, 0, b->data + b->size);
}

static struct bst_batch *batch_for(struct trace_builder *b, uint16_t table)
{
	const struct bst_table_info *info = bst_table_info(table);
	struct bst_batch *batch = &b->batch[table];

	if (!b->batch_memory[table]) {
		b->batch_memory[table] = malloc(bst_batch_bytes(info, b->rows, TEXT_BYTES) + 1);
		must(b->batch_memory[table] != NULL, "no memory");
		bst_batch_init(batch, info, b->rows, TEXT_BYTES, b->batch_memory[table]);
	}
	if (batch->rows == b->rows)
		builder_flush(b);
	return batch;
}

static void add(struct trace_builder *b, uint16_t table, const struct bst_cell *cells)
{
	must(bst_batch_add(batch_for(b, table), cells) == BST_OK, "a row does not fit");
}

static void add_numbers(struct trace_builder *b, uint16_t table, const uint64_t *numbers)
{
	must(bst_batch_add_numbers(batch_for(b, table), numbers) == BST_OK, "a row does not fit");
}

void builder_row(struct trace_builder *b, uint16_t table, const struct bst_cell *cells)
{
	add(b, table, cells);
}

static struct bst_cell text(const char *s)
{
	return (struct bst_cell){0, s, (uint32_t)strlen(s)};
}

static struct bst_cell number(uint64_t n)
{
	return (struct bst_cell){.number = n};
}

void builder_meta(struct trace_builder *b, const char *key, const char *value)
{
	add(b, BST_TABLE_META, (struct bst_cell[]){text(key), text(value)});
}

void builder_number(struct trace_builder *b, unsigned device, const char *key, uint64_t n)
{
	add(b, BST_TABLE_DEVICE,
	    (struct bst_cell[]){number(device), text(key), number(n), text("")});
}

void builder_text(struct trace_builder *b, unsigned device, const char *key, const char *value)
{
	add(b, BST_TABLE_DEVICE,
	    (struct bst_cell[]){number(device), text(key), number(0), text(value)});
}

void builder_clock(struct trace_builder *b, uint64_t device_ns, uint64_t host_ns, unsigned reason)
{
	add_numbers(b, BST_TABLE_CLOCK, (uint64_t[]){device_ns, device_ns, host_ns, 100, reason});
}

void builder_loss(struct trace_builder *b, unsigned cause, uint64_t count, uint64_t thread,
		  uint64_t begin_ns, uint64_t end_ns)
{
	add_numbers(b, BST_TABLE_LOSS, (uint64_t[]){cause, count, thread, begin_ns, end_ns});
}

void builder_cost(struct trace_builder *b, unsigned kind, uint64_t count, uint64_t total_ns)
{
	add_numbers(b, BST_TABLE_COST, (uint64_t[]){kind, 1000, count, total_ns});
}

void builder_metric(struct trace_builder *b, unsigned slot, const char *name)
{
	add(b, BST_TABLE_METRIC,
	    (struct bst_cell[]){number(1), number(slot), text(name), number(100), text("pct"),
				text("vendor__name.pct")});
}

void builder_sample(struct trace_builder *b, uint64_t begin_ns, uint64_t duration_ns,
		    const uint64_t value[12])
{
	uint64_t row[16] = {0, 1, begin_ns + BUILDER_DEVICE_OFFSET, duration_ns};

	memcpy(row + 4, value, 12 * sizeof(*value));
	add_numbers(b, BST_TABLE_SAMPLE, row);
}

uint64_t builder_thread(struct trace_builder *b, uint64_t tid)
{
	add(b, BST_TABLE_THREAD,
	    (struct bst_cell[]){number(++b->threads), number(tid), number(1), text("python")});
	return b->threads;
}

uint64_t builder_api(struct trace_builder *b, const char *name, unsigned klass)
{
	add(b, BST_TABLE_API, (struct bst_cell[]){number(++b->apis), text(name), number(klass)});
	return b->apis;
}

uint64_t builder_kernel(struct trace_builder *b, const char *name, uint64_t grid, uint64_t block)
{
	add(b, BST_TABLE_STRING, (struct bst_cell[]){number(++b->strings), text(name)});
	add_numbers(b, BST_TABLE_KERNEL,
		    (uint64_t[]){++b->kernels, b->strings, grid, 1, 1, block, 1, 1, 0, 0, 0, 32, 0,
				 0, 0, 0});
	return b->kernels;
}

uint64_t builder_string(struct trace_builder *b, const char *value)
{
	add(b, BST_TABLE_STRING, (struct bst_cell[]){number(++b->strings), text(value)});
	return b->strings;
}

uint64_t builder_handle(struct trace_builder *b, uint64_t value)
{
	add_numbers(b, BST_TABLE_HANDLE, (uint64_t[]){++b->handles, value});
	return b->handles;
}

void builder_range(struct trace_builder *b, const struct builder_range *r)
{
	add_numbers(b, BST_TABLE_RANGE,
		    (uint64_t[]){r->thread, r->time_ns, r->kind, r->domain, r->name, r->id});
}

void builder_call(struct trace_builder *b, const struct builder_call *c)
{
	add_numbers(b, BST_TABLE_CALL,
		    (uint64_t[]){c->thread, c->api, c->begin_ns, c->duration_ns, c->correlation,
				 c->stream, 0, 0, c->flags, c->object});
}

void builder_run(struct trace_builder *b, const struct builder_run *r)
{
	add_numbers(b, BST_TABLE_RUN,
		    (uint64_t[]){r->kernel, r->begin_ns + BUILDER_DEVICE_OFFSET, r->duration_ns,
				 r->correlation, 1, r->stream, r->graph, r->node, r->device,
				 r->flags});
}

void builder_copy(struct trace_builder *b, const struct builder_copy *c)
{
	add_numbers(b, BST_TABLE_COPY,
		    (uint64_t[]){c->kind, c->begin_ns + BUILDER_DEVICE_OFFSET, c->duration_ns,
				 c->correlation, 1, c->stream, 0, 0, c->device, 0, c->bytes,
				 c->source_kind, c->target_kind, c->device, c->device});
}

char *builder_write(const struct trace_builder *b)
{
	char *path = strdup("/tmp/boundshim-unit-XXXXXX.bst");
	int fd = mkstemps(path, 4);

	must(fd >= 0 && write(fd, b->data, b->size) == (ssize_t)b->size, "write");
	close(fd);
	return path;
}

int builder_analyze(struct trace_builder *b, struct report *report)
{
	const char *paths[1];
	char *path;
	int status;

	builder_finish(b);
	path = builder_write(b);
	paths[0] = path;
	report_init(report);
	status = analyze_paths(paths, 1, report, NULL);
	unlink(path);
	free(path);
	return status;
}
