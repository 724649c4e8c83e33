/* Decoding event chunks. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

#include "shim/trace/wire.h"

#define BIT(column) (UINT32_C(1) << (column))

#define OP_COLUMNS                                                                                 \
	(BIT(BST_RUN_KERNEL) | BIT(BST_RUN_BEGIN) | BIT(BST_RUN_DURATION) |                        \
	 BIT(BST_RUN_CORRELATION) | BIT(BST_RUN_CONTEXT) | BIT(BST_RUN_STREAM) |                   \
	 BIT(BST_RUN_GRAPH) | BIT(BST_RUN_NODE) | BIT(BST_RUN_DEVICE) | BIT(BST_RUN_FLAGS))
#define COPY_COLUMNS                                                                               \
	(OP_COLUMNS | BIT(BST_COPY_BYTES) | BIT(BST_COPY_SOURCE_KIND) | BIT(BST_COPY_TARGET_KIND))
#define CALL_COLUMNS                                                                               \
	(BIT(BST_CALL_THREAD) | BIT(BST_CALL_API) | BIT(BST_CALL_BEGIN) | BIT(BST_CALL_DURATION) | \
	 BIT(BST_CALL_CORRELATION) | BIT(BST_CALL_STREAM) | BIT(BST_CALL_FLAGS) |                  \
	 BIT(BST_CALL_OBJECT))

#define WAKE_COLUMNS                                                                               \
	(BIT(BST_WAKE_THREAD) | BIT(BST_WAKE_TIME) | BIT(BST_WAKE_SILENCE) | BIT(BST_WAKE_CPU) |   \
	 BIT(BST_WAKE_VOLUNTARY) | BIT(BST_WAKE_INVOLUNTARY))
#define RANGE_COLUMNS                                                                              \
	(BIT(BST_RANGE_THREAD) | BIT(BST_RANGE_TIME) | BIT(BST_RANGE_KIND) |                       \
	 BIT(BST_RANGE_DOMAIN) | BIT(BST_RANGE_NAME) | BIT(BST_RANGE_ID))

/* `run` and `copy` share their first columns, so that one loop reads both. */
_Static_assert((int)BST_RUN_BEGIN == (int)BST_COPY_BEGIN &&
		       (int)BST_RUN_DURATION == (int)BST_COPY_DURATION &&
		       (int)BST_RUN_CORRELATION == (int)BST_COPY_CORRELATION &&
		       (int)BST_RUN_DEVICE == (int)BST_COPY_DEVICE &&
		       (int)BST_RUN_FLAGS == (int)BST_COPY_FLAGS,
	       "run and copy differ");

#define HOUR_NS UINT64_C(3600000000000)
/* No operation lasts longer: 2^50 ns are 13 days. Sentinels and reversed times come out far above.
 */
#define DURATION_LIMIT (UINT64_C(1) << 50)
/* No time is later: CLOCK_REALTIME reaches 2^61 ns in 2043, and sums of two still fit. */
#define TIME_LIMIT (UINT64_C(1) << 61)
#define DEVICE_LIMIT 64

/* The host times in which an event can lie: those of the clock readings, give or take an hour. */
struct bounds {
	uint64_t low;
	uint64_t high;
};

static struct bounds sensible(const struct clock *clock)
{
	struct bounds bounds = {1, TIME_LIMIT};
	uint64_t first, last;

	if (!clock->count)
		return bounds;
	first = clock->piece[0].host_ns;
	last = clock->piece[clock->count - 1].host_ns;
	if (first > HOUR_NS)
		bounds.low = first - HOUR_NS;
	if (last < bounds.high - HOUR_NS)
		bounds.high = last + HOUR_NS;
	return bounds;
}

static uint64_t least_begin(const struct bst_rows *rows, const struct clock *clock,
			    unsigned begin_column, unsigned flag_column)
{
	struct bounds bounds = sensible(clock);
	uint64_t least = UINT64_MAX;
	struct clock_cursor cursor = {0};

	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t begin = rows->number[begin_column][i];

		if (flag_column) {
			if (bst_value(rows, flag_column, i, 0) & BST_ENUM_DEVICE_FLAG_TIME_INVALID)
				continue;
			begin = clock_host(clock, begin, &cursor);
		}
		if (begin >= bounds.low && begin <= bounds.high && begin < least)
			least = begin;
	}
	return least == UINT64_MAX ? 0 : least;
}

static unsigned begin_column_of(uint16_t table)
{
	switch (table) {
	case BST_TABLE_CALL:
		return BST_CALL_BEGIN;
	case BST_TABLE_WAKE:
		return BST_WAKE_TIME;
	case BST_TABLE_RANGE:
		return BST_RANGE_TIME;
	default:
		return BST_RUN_BEGIN;
	}
}

uint64_t decode_begin(struct bst_rows *rows, const struct trace *trace, const struct clock *clock,
		      const struct trace_chunk *chunk)
{
	bool on_host = chunk->table != BST_TABLE_RUN && chunk->table != BST_TABLE_COPY;
	unsigned begin = begin_column_of(chunk->table);
	unsigned flags = on_host ? 0 : (unsigned)BST_RUN_FLAGS;
	uint32_t wanted = BIT(begin) | (flags ? BIT(flags) : 0);
	struct clock_cursor cursor = {0};

	(void)trace;
	if (chunk->time_min && chunk->time_max - chunk->time_min < HOUR_NS)
		return on_host ? chunk->time_min : clock_host(clock, chunk->time_min, &cursor);
	if (bst_rows_decode(rows, chunk->payload, chunk->payload_bytes, wanted) ||
	    !rows->number[begin])
		return 0;
	return least_begin(rows, clock, begin, flags);
}

/* Columns of a chunk that have one value for all rows, as stream, device and flags often do: not
 * worth decoding. */
struct constants {
	uint32_t mask;
	uint64_t value[BST_COLUMN_LIMIT];
};

/* What a column header says (FORMAT.md section 4): with width 0 all rows hold the base. */
static void find_constants(const struct trace_chunk *chunk, struct constants *constants)
{
	unsigned columns = get_u16(chunk->payload + 2);
	const uint8_t *header = chunk->payload + BST_TABLE_HEADER_BYTES;

	constants->mask = 0;
	memset(constants->value, 0, sizeof(constants->value));
	for (unsigned i = 0; i < columns; i++, header += BST_COLUMN_HEADER_BYTES) {
		unsigned id = get_u16(header) & (BST_COLUMN_SKIPPABLE - 1u);

		if (id >= BST_COLUMN_LIMIT || header[3] != 0 || header[2] == BST_BYTES)
			continue;
		constants->mask |= BIT(id);
		constants->value[id] = get_u64(header + 16);
	}
}

/* A column as a loop reads it: a constant is one value for all rows, and one that the chunk lacks
 * is 0. */
struct column {
	const uint64_t *at;
	size_t step;
};

static struct column column_of(const struct bst_rows *rows, const struct constants *constants,
			       unsigned id)
{
	if (rows->number[id])
		return (struct column){rows->number[id], 1};
	return (struct column){&constants->value[id], 0};
}

static inline uint64_t value(struct column column, uint32_t row)
{
	return column.at[row * column.step];
}

/* The columns of `run` that `copy` has too. */
struct op_columns {
	struct column kernel, begin, duration, correlation, context, stream, graph, node, device,
		flags;
	bool has_device;
};

static struct op_columns op_columns_of(const struct bst_rows *rows, const struct constants *k)
{
	return (struct op_columns){
		.kernel = column_of(rows, k, BST_RUN_KERNEL),
		.begin = column_of(rows, k, BST_RUN_BEGIN),
		.duration = column_of(rows, k, BST_RUN_DURATION),
		.correlation = column_of(rows, k, BST_RUN_CORRELATION),
		.context = column_of(rows, k, BST_RUN_CONTEXT),
		.stream = column_of(rows, k, BST_RUN_STREAM),
		.graph = column_of(rows, k, BST_RUN_GRAPH),
		.node = column_of(rows, k, BST_RUN_NODE),
		.device = column_of(rows, k, BST_RUN_DEVICE),
		.flags = column_of(rows, k, BST_RUN_FLAGS),
		.has_device = rows->number[BST_RUN_DEVICE] || k->mask & BIT(BST_RUN_DEVICE),
	};
}

static bool device_of(const struct vocabulary *v, const struct op_columns *c, uint32_t i,
		      uint16_t *device)
{
	uint64_t index = value(c->device, i);
	uint32_t at;

	if (!c->has_device && dict_find(&v->contexts, value(c->context, i), &at))
		index = v->context_device[at];
	*device = (uint16_t)index;
	return index < DEVICE_LIMIT;
}

/* Fills the times of an op; false where they are impossible. */
static bool op_times(const struct op_columns *c, uint32_t i, const struct clock *clock,
		     const struct bounds *bounds, struct clock_cursor *cursor, struct op *op)
{
	uint64_t begin = value(c->begin, i), duration = value(c->duration, i);

	if (value(c->flags, i) & BST_ENUM_DEVICE_FLAG_TIME_INVALID)
		return false;
	if (!begin || duration > DURATION_LIMIT || begin > UINT64_MAX - duration)
		return false;
	op->begin_ns = clock_host(clock, begin, cursor);
	op->end_ns = clock_host(clock, begin + duration, cursor);
	return op->begin_ns >= bounds->low && op->end_ns <= bounds->high &&
	       op->begin_ns <= op->end_ns;
}

/* All that kernels and copies have in common but the times. */
static void op_place(const struct op_columns *c, uint32_t i, struct op *op)
{
	op->stream = value(c->context, i) << 32 | (uint32_t)value(c->stream, i);
	op->correlation = (uint32_t)value(c->correlation, i);
	op->graph = (uint32_t)value(c->graph, i);
	op->node = op->graph ? value(c->node, i) : 0;
	op->has_node = op->node != 0;
	op->is_copy = 0;
	op->signature = 0;
	op->bytes = 0;
	op->copy_kind = op->source_kind = op->target_kind = 0;
}

static void op_copy(const struct bst_rows *rows, const struct constants *k, uint32_t i,
		    struct op *op)
{
	op->is_copy = 1;
	op->bytes = value(column_of(rows, k, BST_COPY_BYTES), i);
	op->copy_kind = (uint8_t)value(column_of(rows, k, BST_COPY_KIND), i);
	op->source_kind = (uint8_t)value(column_of(rows, k, BST_COPY_SOURCE_KIND), i);
	op->target_kind = (uint8_t)value(column_of(rows, k, BST_COPY_TARGET_KIND), i);
}

/* What `struct op` and `struct call` begin with; of wakes the second number only makes the order
 * certain, of ranges it is 0. */
struct span {
	uint64_t begin_ns;
	uint64_t end_ns;
};

static inline bool before(const uint8_t *a, const uint8_t *b)
{
	struct span x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	if (x.begin_ns != y.begin_ns)
		return x.begin_ns < y.begin_ns;
	return x.end_ns > y.end_ns;
}

/* End of the sorted run that begins at row `from`. */
static inline size_t run_end(const uint8_t *row, size_t from, size_t count, size_t bytes)
{
	size_t end = from + 1;

	while (end < count && !before(row + end * bytes, row + (end - 1) * bytes))
		end++;
	return end < count ? end : count;
}

static inline void merge(const uint8_t *in, uint8_t *out, const size_t cut[3], size_t bytes)
{
	size_t i = cut[0], j = cut[1];

	for (size_t k = cut[0]; k < cut[2]; k++) {
		bool left = i < cut[1] && (j >= cut[2] || !before(in + j * bytes, in + i * bytes));

		memcpy(out + k * bytes, in + (left ? i++ : j++) * bytes, bytes);
	}
}

/*
 * Natural merge sort: what the recorder writes is a few sorted runs (one for each thread or buffer)
 * one behind the other, and most often one. Stable. Without memory rows stay as they are: the
 * timeline then counts them as late.
 */
static inline void sort(uint8_t *row, size_t count, size_t bytes)
{
	uint8_t *spare, *in = row, *out;

	if (!count || run_end(row, 0, count, bytes) == count)
		return;
	out = spare = malloc(count * bytes);
	if (!spare)
		return;
	while (run_end(in, 0, count, bytes) < count) {
		uint8_t *swap = in;

		for (size_t at = 0; at < count;) {
			size_t cut[3] = {at, run_end(in, at, count, bytes), 0};

			cut[2] = cut[1] < count ? run_end(in, cut[1], count, bytes) : count;
			merge(in, out, cut, bytes);
			at = cut[2];
		}
		in = out;
		out = swap;
	}
	if (in != row)
		memcpy(row, in, count * bytes);
	free(spare);
}

enum bst_status decode_ops(struct bst_rows *rows, const struct trace *trace,
			   const struct clock *clock, const struct trace_chunk *chunk,
			   struct op *out, uint32_t *count, struct timeline_counts *counts,
			   struct clock_cursor *cursor)
{
	const struct vocabulary *v = &trace->vocabulary;
	bool is_copy = chunk->table == BST_TABLE_COPY;
	struct bounds bounds = sensible(clock);
	struct constants constants;
	struct op_columns c;
	enum bst_status status;
	uint32_t n = 0;

	*count = 0;
	find_constants(chunk, &constants);
	status = bst_rows_decode(rows, chunk->payload, chunk->payload_bytes,
				 (is_copy ? COPY_COLUMNS : OP_COLUMNS) & ~constants.mask);
	if (status)
		return status;
	*(is_copy ? &counts->copies : &counts->kernels) += rows->count;
	c = op_columns_of(rows, &constants);
	for (uint32_t i = 0; i < rows->count; i++) {
		struct op *op = &out[n];

		if (!op_times(&c, i, clock, &bounds, cursor, op) ||
		    !device_of(v, &c, i, &op->device))
			continue;
		op_place(&c, i, op);
		if (is_copy)
			op_copy(rows, &constants, i, op);
		else
			op->signature = vocabulary_signature(v, value(c.kernel, i));
		n++;
	}
	counts->time_invalid += rows->count - n;
	sort((uint8_t *)out, n, sizeof(*out));
	*count = n;
	return BST_OK;
}

struct call_columns {
	struct column thread, api, begin, duration, correlation, stream, flags, object;
};

static struct call_columns call_columns_of(const struct bst_rows *rows, const struct constants *k)
{
	return (struct call_columns){
		.thread = column_of(rows, k, BST_CALL_THREAD),
		.api = column_of(rows, k, BST_CALL_API),
		.begin = column_of(rows, k, BST_CALL_BEGIN),
		.duration = column_of(rows, k, BST_CALL_DURATION),
		.correlation = column_of(rows, k, BST_CALL_CORRELATION),
		.stream = column_of(rows, k, BST_CALL_STREAM),
		.flags = column_of(rows, k, BST_CALL_FLAGS),
		.object = column_of(rows, k, BST_CALL_OBJECT),
	};
}

enum bst_status decode_calls(struct bst_rows *rows, const struct trace *trace,
			     const struct clock *clock, const struct trace_chunk *chunk,
			     struct call *out, uint32_t *count, struct timeline_counts *counts)
{
	const struct vocabulary *v = &trace->vocabulary;
	struct bounds bounds = sensible(clock);
	struct constants constants;
	struct call_columns c;
	enum bst_status status;
	uint32_t n = 0, at;

	*count = 0;
	find_constants(chunk, &constants);
	status = bst_rows_decode(rows, chunk->payload, chunk->payload_bytes,
				 CALL_COLUMNS & ~constants.mask);
	if (status)
		return status;
	counts->calls += rows->count;
	c = call_columns_of(rows, &constants);
	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t begin = value(c.begin, i), length = value(c.duration, i);
		struct call *call = &out[n];

		if (begin < bounds.low || begin > bounds.high || length > DURATION_LIMIT)
			continue;
		call->begin_ns = begin;
		call->end_ns = begin + length;
		call->thread = dict_find(&v->threads, value(c.thread, i), &at) ? at + 1 : 0;
		call->correlation = (uint32_t)value(c.correlation, i);
		call->stream = (uint32_t)value(c.stream, i);
		call->object = (uint32_t)value(c.object, i);
		call->flags = (uint8_t)value(c.flags, i);
		call->api = 0;
		call->klass = BST_ENUM_CLASS_OTHER;
		if (dict_find(&v->apis, value(c.api, i), &at) && at < UINT16_MAX) {
			call->api = (uint16_t)(at + 1);
			call->klass = v->api[at].klass;
		}
		n++;
	}
	counts->time_invalid += rows->count - n;
	sort((uint8_t *)out, n, sizeof(*out));
	*count = n;
	return BST_OK;
}

struct wake_columns {
	struct column thread, time, silence, cpu, voluntary, involuntary;
};

static struct wake_columns wake_columns_of(const struct bst_rows *rows, const struct constants *k)
{
	return (struct wake_columns){
		.thread = column_of(rows, k, BST_WAKE_THREAD),
		.time = column_of(rows, k, BST_WAKE_TIME),
		.silence = column_of(rows, k, BST_WAKE_SILENCE),
		.cpu = column_of(rows, k, BST_WAKE_CPU),
		.voluntary = column_of(rows, k, BST_WAKE_VOLUNTARY),
		.involuntary = column_of(rows, k, BST_WAKE_INVOLUNTARY),
	};
}

enum bst_status decode_wakes(struct bst_rows *rows, const struct trace *trace,
			     const struct clock *clock, const struct trace_chunk *chunk,
			     struct wake *out, uint32_t *count, struct timeline_counts *counts)
{
	const struct vocabulary *v = &trace->vocabulary;
	struct bounds bounds = sensible(clock);
	struct constants constants;
	struct wake_columns c;
	enum bst_status status;
	uint32_t n = 0, at;

	*count = 0;
	find_constants(chunk, &constants);
	status = bst_rows_decode(rows, chunk->payload, chunk->payload_bytes,
				 WAKE_COLUMNS & ~constants.mask);
	if (status)
		return status;
	c = wake_columns_of(rows, &constants);
	for (uint32_t i = 0; i < rows->count; i++) {
		struct wake *wake = &out[n];

		wake->begin_ns = value(c.time, i);
		wake->silence_ns = value(c.silence, i);
		if (wake->begin_ns < bounds.low || wake->begin_ns > bounds.high ||
		    wake->silence_ns > wake->begin_ns ||
		    !dict_find(&v->threads, value(c.thread, i), &at))
			continue;
		wake->thread = at + 1;
		wake->cpu_ns = value(c.cpu, i);
		wake->voluntary = value(c.voluntary, i);
		wake->involuntary = value(c.involuntary, i);
		n++;
	}
	counts->time_invalid += rows->count - n;
	sort((uint8_t *)out, n, sizeof(*out));
	*count = n;
	return BST_OK;
}

struct range_columns {
	struct column thread, time, kind, domain, name, id;
};

static struct range_columns range_columns_of(const struct bst_rows *rows, const struct constants *k)
{
	return (struct range_columns){
		.thread = column_of(rows, k, BST_RANGE_THREAD),
		.time = column_of(rows, k, BST_RANGE_TIME),
		.kind = column_of(rows, k, BST_RANGE_KIND),
		.domain = column_of(rows, k, BST_RANGE_DOMAIN),
		.name = column_of(rows, k, BST_RANGE_NAME),
		.id = column_of(rows, k, BST_RANGE_ID),
	};
}

enum bst_status decode_ranges(struct bst_rows *rows, const struct trace *trace,
			      const struct clock *clock, const struct trace_chunk *chunk,
			      struct range_event *out, uint32_t *count,
			      struct timeline_counts *counts)
{
	const struct vocabulary *v = &trace->vocabulary;
	struct bounds bounds = sensible(clock);
	struct constants constants;
	struct range_columns c;
	enum bst_status status;
	uint32_t n = 0, at;

	*count = 0;
	find_constants(chunk, &constants);
	status = bst_rows_decode(rows, chunk->payload, chunk->payload_bytes,
				 RANGE_COLUMNS & ~constants.mask);
	if (status)
		return status;
	c = range_columns_of(rows, &constants);
	for (uint32_t i = 0; i < rows->count; i++) {
		struct range_event *event = &out[n];

		event->begin_ns = value(c.time, i);
		if (event->begin_ns < bounds.low || event->begin_ns > bounds.high ||
		    !dict_find(&v->threads, value(c.thread, i), &at))
			continue;
		event->thread = at + 1;
		event->order = 0;
		event->id = value(c.id, i);
		event->domain = value(c.domain, i);
		event->name = dict_find(&v->strings, value(c.name, i), &at) ? at + 1 : 0;
		event->kind = (uint8_t)value(c.kind, i);
		n++;
	}
	counts->time_invalid += rows->count - n;
	sort((uint8_t *)out, n, sizeof(*out));
	*count = n;
	return BST_OK;
}
