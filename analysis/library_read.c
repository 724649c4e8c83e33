/* Two walks over a trace: first what libraries were asked for, then what was launched meanwhile. */
#include "library_read.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "shim/trace/reader.h"
#include "shim/trace/rows.h"

#define BIT(column) (UINT32_C(1) << (column))

/*
 * Kernels come behind their calls in the file, by as much as CUPTI holds back: a buffer of 8 MB has
 * some 40,000 records. The ids of calls count up, so that so many of them can be told apart by
 * their low bits.
 */
#define LAUNCHES (1u << 20)
/*
 * Kernels whose call has not been read: threads are drained one after the other, so that one may be
 * a chunk of calls behind.
 */
#define EARLY_LIMIT 65536u
#define EARLY_CHUNKS 2

struct launch {
	uint32_t correlation;
	uint32_t call; /* 0 = not in a library call */
};

struct kernel {
	uint32_t correlation;
	uint32_t signature;
	uint32_t chunks; /* of calls read since */
	uint64_t duration_ns;
};

struct reading {
	struct library *l;
	const struct vocabulary *v;
	struct bst_rows rows;
	struct launch *launch;
	struct kernel *early;
	size_t early_count, early_capacity;
	bool any; /* calls or nodes */
};

static uint32_t thread_of(const struct vocabulary *v, uint64_t id)
{
	uint32_t at;

	return dict_find(&v->threads, id, &at) ? at + 1 : 0;
}

static int take_shapes(struct reading *r)
{
	const struct bst_rows *rows = &r->rows;
	const struct bst_text *detail = rows->text[BST_SHAPE_DETAIL];

	for (uint32_t i = 0; i < rows->count; i++) {
		struct library_shape shape = {
			.library = (uint8_t)bst_value(rows, BST_SHAPE_LIBRARY, i, 0),
			.operation = (uint8_t)bst_value(rows, BST_SHAPE_OPERATION, i, 0),
			.compute = (uint8_t)bst_value(rows, BST_SHAPE_COMPUTE, i, 0),
			.type = {(uint8_t)bst_value(rows, BST_SHAPE_TYPE_A, i, 0),
				 (uint8_t)bst_value(rows, BST_SHAPE_TYPE_B, i, 0),
				 (uint8_t)bst_value(rows, BST_SHAPE_TYPE_C, i, 0)},
			.flags = (uint16_t)bst_value(rows, BST_SHAPE_FLAGS, i, 0),
			.m = bst_value(rows, BST_SHAPE_M, i, 0),
			.n = bst_value(rows, BST_SHAPE_N, i, 0),
			.k = bst_value(rows, BST_SHAPE_K, i, 0),
			.batch = bst_value(rows, BST_SHAPE_BATCH, i, 0),
			.flops = bst_value(rows, BST_SHAPE_FLOPS, i, 0),
			.bytes = bst_value(rows, BST_SHAPE_BYTES, i, 0),
		};

		if (library_add_shape(r->l, bst_value(rows, BST_SHAPE_ID, i, 0), &shape,
				      detail ? (const char *)detail[i].data : NULL,
				      detail ? detail[i].size : 0))
			return -1;
	}
	return 0;
}

static uint16_t operand_number(uint64_t value)
{
	return value <= UINT16_MAX ? (uint16_t)value : 0;
}

static int take_library_calls(struct reading *r)
{
	const struct bst_rows *rows = &r->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t begin = bst_value(rows, BST_LIBRARY_BEGIN, i, 0);
		struct library_call call = {
			.begin_ns = begin,
			.end_ns = begin + bst_value(rows, BST_LIBRARY_DURATION, i, 0),
			.thread = thread_of(r->v, bst_value(rows, BST_LIBRARY_THREAD, i, 0)),
			.shape = (uint32_t)bst_value(rows, BST_LIBRARY_SHAPE, i, 0),
			.flags = (uint8_t)bst_value(rows, BST_LIBRARY_FLAGS, i, 0),
			.operand = {operand_number(bst_value(rows, BST_LIBRARY_OPERAND_A, i, 0)),
				    operand_number(bst_value(rows, BST_LIBRARY_OPERAND_B, i, 0))},
		};

		if (call.thread && library_add_call(r->l, &call))
			return -1;
	}
	r->any = true;
	return 0;
}

static int take_nodes(struct reading *r)
{
	const struct bst_rows *rows = &r->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		struct library_node node = {
			.node = bst_value(rows, BST_NODE_NODE, i, 0),
			.source = bst_value(rows, BST_NODE_SOURCE, i, 0),
			.library_ns = bst_value(rows, BST_NODE_LIBRARY, i, 0),
			.thread = thread_of(r->v, bst_value(rows, BST_NODE_THREAD, i, 0)),
			.shape = (uint32_t)bst_value(rows, BST_NODE_SHAPE, i, 0),
		};

		if (library_add_node(r->l, &node))
			return -1;
	}
	return 0;
}

/* The launch behind a kernel, if it has been read. */
static const struct launch *find_launch(const struct reading *r, uint32_t correlation)
{
	const struct launch *launch = &r->launch[correlation % LAUNCHES];

	return launch->correlation == correlation ? launch : NULL;
}

static int take_kernel(struct reading *r, const struct kernel *k)
{
	const struct launch *launch = find_launch(r, k->correlation);

	return library_add_kernel(r->l, launch ? launch->call : 0, k->signature, k->duration_ns);
}

/* Kernels whose calls have come by now; with `all`, the others too. */
static int take_early(struct reading *r, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->early_count; i++) {
		struct kernel *k = &r->early[i];

		if (!all && !find_launch(r, k->correlation) && ++k->chunks < EARLY_CHUNKS)
			r->early[kept++] = *k;
		else if (take_kernel(r, k))
			return -1;
	}
	r->early_count = kept;
	return 0;
}

static int take_calls(struct reading *r)
{
	const struct bst_rows *rows = &r->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t correlation = (uint32_t)bst_value(rows, BST_CALL_CORRELATION, i, 0);
		uint32_t call;

		if (!correlation)
			continue;
		call = library_at(r->l, thread_of(r->v, bst_value(rows, BST_CALL_THREAD, i, 0)),
				  bst_value(rows, BST_CALL_BEGIN, i, 0));
		r->launch[correlation % LAUNCHES] = (struct launch){correlation, call};
		if (call && library_add_launch(r->l, correlation, call))
			return -1;
	}
	return take_early(r, false);
}

static int keep_early(struct reading *r, const struct kernel *k)
{
	if (array_reserve((void **)&r->early, &r->early_capacity, r->early_count + 1,
			  sizeof(*r->early)))
		return -1;
	r->early[r->early_count++] = *k;
	return 0;
}

static int take_runs(struct reading *r)
{
	const struct bst_rows *rows = &r->rows;

	for (uint32_t i = 0; i < rows->count; i++) {
		struct kernel k = {
			.correlation = (uint32_t)bst_value(rows, BST_RUN_CORRELATION, i, 0),
			.signature =
				vocabulary_signature(r->v, bst_value(rows, BST_RUN_KERNEL, i, 0)),
			.duration_ns = bst_value(rows, BST_RUN_DURATION, i, 0),
		};
		int status;

		if (bst_value(rows, BST_RUN_FLAGS, i, 0) & BST_ENUM_DEVICE_FLAG_TIME_INVALID)
			continue;
		if (bst_value(rows, BST_RUN_GRAPH, i, 0)) {
			status = library_add_graph_kernel(r->l, k.correlation,
							  bst_value(rows, BST_RUN_NODE, i, 0),
							  k.signature, k.duration_ns);
		} else if (!find_launch(r, k.correlation) && r->early_count < EARLY_LIMIT) {
			status = keep_early(r, &k);
		} else {
			status = take_kernel(r, &k);
		}
		if (status)
			return -1;
	}
	return 0;
}

/* Columns that a walk wants of a table, 0 = none of it; and what becomes of the rows. */
struct interest {
	uint16_t table;
	uint32_t columns;
	int (*take)(struct reading *r);
};

static const struct interest first_walk[] = {
	{BST_TABLE_SHAPE, BST_ALL_COLUMNS, take_shapes},
	{BST_TABLE_LIBRARY, BST_ALL_COLUMNS, take_library_calls},
	{BST_TABLE_NODE, BST_ALL_COLUMNS, take_nodes},
};

static const struct interest second_walk[] = {
	{BST_TABLE_CALL, BIT(BST_CALL_THREAD) | BIT(BST_CALL_BEGIN) | BIT(BST_CALL_CORRELATION),
	 take_calls},
	{BST_TABLE_RUN,
	 BIT(BST_RUN_KERNEL) | BIT(BST_RUN_DURATION) | BIT(BST_RUN_CORRELATION) |
		 BIT(BST_RUN_GRAPH) | BIT(BST_RUN_NODE) | BIT(BST_RUN_FLAGS),
	 take_runs},
};

static int walk(struct reading *r, const uint8_t *data, size_t size,
		const struct interest *interest, size_t count)
{
	struct bst_reader reader;
	struct bst_chunk chunk;

	if (bst_reader_init(&reader, data, size))
		return 0;
	while (bst_reader_next(&reader, &chunk)) {
		if (chunk.type != BST_CHUNK_TABLE ||
		    bst_rows_peek(chunk.payload, chunk.payload_bytes, &r->rows))
			continue;
		for (size_t i = 0; i < count; i++)
			if (interest[i].table == r->rows.table) {
				if (!bst_rows_decode(&r->rows, chunk.payload, chunk.payload_bytes,
						     interest[i].columns) &&
				    interest[i].take(r))
					return -1;
				break;
			}
	}
	return 0;
}

/* How a library.state.* key reads; counts those that say so. */
static unsigned count_states(const struct vocabulary *v, const char *words)
{
	static const char prefix[] = "library.state.";
	unsigned count = 0;

	for (size_t i = 0; i < v->meta_count; i++) {
		const struct meta_row *row = &v->meta[i];

		if (row->key && !strncmp(row->key, prefix, sizeof(prefix) - 1) && row->value &&
		    !strcmp(vocabulary_meta(v, row->key), words))
			count++;
	}
	return count;
}

bool library_not_visible(const struct vocabulary *vocabulary)
{
	return count_states(vocabulary, "loaded, no call seen") &&
	       !count_states(vocabulary, "calls seen");
}

int library_read(struct library *l, const uint8_t *data, size_t size,
		 const struct vocabulary *vocabulary)
{
	struct reading r = {.l = l, .v = vocabulary};
	int status = -1;

	bst_rows_init(&r.rows);
	if (!count_states(vocabulary, "calls seen")) {
		status = library_ready(l) || library_finish(l) ? -1 : 0;
		goto out;
	}
	r.launch = calloc(LAUNCHES, sizeof(*r.launch));
	if (!r.launch ||
	    walk(&r, data, size, first_walk, sizeof(first_walk) / sizeof(first_walk[0])) ||
	    library_ready(l))
		goto out;
	if (r.any &&
	    (walk(&r, data, size, second_walk, sizeof(second_walk) / sizeof(second_walk[0])) ||
	     take_early(&r, true)))
		goto out;
	status = library_finish(l);
out:
	bst_rows_fini(&r.rows);
	free(r.launch);
	free(r.early);
	return status;
}
