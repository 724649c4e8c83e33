/* A heap of open chunks, over a list of those whose time has not come. */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "decode.h"

/*
 * Rows decoded at one time, at most: about 200 MB. Recorders write chunks of thousands of rows that
 * overlap a little; a file that goes beyond was made to (a chunk of a million equal rows is 300
 * bytes long).
 */
#define OPEN_ROWS_LIMIT (3u << 20)

struct open_chunk {
	uint8_t *row; /* struct op, call, wake or range_event: all begin with begin_ns */
	size_t bytes;
	const uint8_t *head, *end; /* rows not handed out yet */
	struct trace_chunk *source;
	struct open_chunk *next; /* in the list of spare ones */
};

static uint64_t head_ns(const struct open_chunk *c)
{
	uint64_t begin;

	memcpy(&begin, c->head, sizeof(begin));
	return begin;
}

static int is_mine(const struct timeline *t, const struct trace_chunk *c)
{
	if (c->bad)
		return 0;
	if (t->what == TIMELINE_CALLS)
		return c->table == BST_TABLE_CALL;
	if (t->what == TIMELINE_WAKES)
		return c->table == BST_TABLE_WAKE;
	if (t->what == TIMELINE_RANGES)
		return c->table == BST_TABLE_RANGE;
	return c->table == BST_TABLE_RUN || c->table == BST_TABLE_COPY;
}

/* Host time of its last end, as the header says. */
static uint64_t chunk_end_ns(const struct timeline *t, const struct trace_chunk *c)
{
	struct clock_cursor cursor = {0};

	if (t->what == TIMELINE_CALLS || c->time_max == UINT64_MAX)
		return c->time_max;
	return clock_host(t->clock, c->time_max, &cursor);
}

struct order {
	uint64_t begin;
	struct trace_chunk *chunk;
};

static int by_begin(const void *a, const void *b)
{
	const struct order *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static int list_pending(struct timeline *t)
{
	size_t n = t->trace->chunk_count;
	struct order *order = malloc((n + 1) * sizeof(*order));

	t->pending = malloc((n + 1) * sizeof(struct trace_chunk *));
	t->pending_begin = malloc((n + 1) * sizeof(uint64_t));
	if (!order || !t->pending || !t->pending_begin) {
		free(order);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		struct trace_chunk *c = &t->trace->chunk[i];

		if (!is_mine(t, c))
			continue;
		order[t->pending_count].begin = decode_begin(&t->rows, t->trace, t->clock, c);
		if (order[t->pending_count].begin > t->to_ns || chunk_end_ns(t, c) < t->from_ns)
			continue;
		order[t->pending_count++].chunk = c;
	}
	qsort(order, t->pending_count, sizeof(*order), by_begin);
	for (size_t i = 0; i < t->pending_count; i++) {
		t->pending[i] = order[i].chunk;
		t->pending_begin[i] = order[i].begin;
	}
	free(order);
	return 0;
}

static size_t row_bytes_of(enum timeline_what what)
{
	switch (what) {
	case TIMELINE_OPS:
		return sizeof(struct op);
	case TIMELINE_CALLS:
		return sizeof(struct call);
	case TIMELINE_RANGES:
		return sizeof(struct range_event);
	default:
		return sizeof(struct wake);
	}
}

int timeline_init(struct timeline *t, struct trace *trace, const struct clock *clock,
		  enum timeline_what what)
{
	return timeline_init_between(t, trace, clock, what, 0, UINT64_MAX);
}

int timeline_init_between(struct timeline *t, struct trace *trace, const struct clock *clock,
			  enum timeline_what what, uint64_t from_ns, uint64_t to_ns)
{
	memset(t, 0, sizeof(*t));
	t->from_ns = from_ns;
	t->to_ns = to_ns;
	t->trace = trace;
	t->clock = clock;
	t->what = what;
	t->row_bytes = row_bytes_of(what);
	bst_rows_init(&t->rows);
	if (list_pending(t) == 0)
		return 0;
	timeline_fini(t);
	return -1;
}

static void destroy(struct open_chunk *c)
{
	free(c->row);
	free(c);
}

void timeline_fini(struct timeline *t)
{
	for (size_t i = 0; i < t->heap_count; i++)
		destroy(t->heap[i]);
	while (t->spare) {
		struct open_chunk *next = t->spare->next;

		destroy(t->spare);
		t->spare = next;
	}
	free(t->heap);
	free(t->pending);
	free(t->pending_begin);
	bst_rows_fini(&t->rows);
	memset(t, 0, sizeof(*t));
}

static struct open_chunk *take_spare(struct timeline *t, size_t bytes)
{
	struct open_chunk *c = t->spare;

	if (c)
		t->spare = c->next;
	else
		c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	if (c->bytes < bytes) {
		free(c->row);
		c->row = malloc(bytes);
		c->bytes = c->row ? bytes : 0;
	}
	c->next = t->spare;
	if (c->row)
		return c;
	t->spare = c;
	return NULL;
}

static void release(struct timeline *t, struct open_chunk *c)
{
	t->open_rows -= c->source->rows;
	trace_forget(t->trace, c->source);
	c->next = t->spare;
	t->spare = c;
}

static void sift_down(struct timeline *t, size_t at)
{
	for (;;) {
		size_t least = at, child = 2 * at + 1;
		struct open_chunk *swap = t->heap[at];

		for (size_t i = child; i < child + 2 && i < t->heap_count; i++)
			if (head_ns(t->heap[i]) < head_ns(t->heap[least]))
				least = i;
		if (least == at)
			return;
		t->heap[at] = t->heap[least];
		t->heap[least] = swap;
		at = least;
	}
}

static void push(struct timeline *t, struct open_chunk *c)
{
	size_t at = t->heap_count++;

	t->heap[at] = c;
	while (at && head_ns(t->heap[at]) < head_ns(t->heap[(at - 1) / 2])) {
		struct open_chunk *swap = t->heap[at];

		t->heap[at] = t->heap[(at - 1) / 2];
		t->heap[(at - 1) / 2] = swap;
		at = (at - 1) / 2;
	}
}

static enum bst_status decode(struct timeline *t, const struct trace_chunk *source, void *row,
			      uint32_t *count)
{
	switch (t->what) {
	case TIMELINE_OPS:
		return decode_ops(&t->rows, t->trace, t->clock, source, row, count, &t->counts,
				  &t->cursor);
	case TIMELINE_CALLS:
		return decode_calls(&t->rows, t->trace, t->clock, source, row, count, &t->counts);
	case TIMELINE_RANGES:
		return decode_ranges(&t->rows, t->trace, t->clock, source, row, count, &t->counts);
	default:
		return decode_wakes(&t->rows, t->trace, t->clock, source, row, count, &t->counts);
	}
}

/* Decodes the next pending chunk onto the heap. What does not decode, or does not fit, is counted
 * and passed over. */
static void open_next(struct timeline *t)
{
	struct trace_chunk *source = t->pending[t->pending_at++];
	struct open_chunk *c;
	enum bst_status status;
	uint32_t count = 0;

	if (source->bad)
		return;
	if (t->open_rows + source->rows > OPEN_ROWS_LIMIT ||
	    array_reserve((void **)&t->heap, &t->heap_capacity, t->heap_count + 1,
			  sizeof(struct open_chunk *)) ||
	    !(c = take_spare(t, source->rows * t->row_bytes))) {
		t->counts.crowded += source->rows;
		return;
	}
	t->open_rows += source->rows;
	c->source = source;
	status = decode(t, source, c->row, &count);
	if (status)
		trace_reject(t->trace, source, status);
	c->head = c->row;
	c->end = c->row + count * t->row_bytes;
	if (status || !count)
		release(t, c);
	else
		push(t, c);
}

/* Opens all chunks whose time has come, and finds out how far the first of the heap may go on. */
static void settle(struct timeline *t)
{
	while (t->pending_at < t->pending_count &&
	       (!t->heap_count || t->pending_begin[t->pending_at] <= head_ns(t->heap[0])))
		open_next(t);
	t->limit = t->pending_at < t->pending_count ? t->pending_begin[t->pending_at] : UINT64_MAX;
	for (size_t i = 1; i < 3 && i < t->heap_count; i++)
		if (head_ns(t->heap[i]) < t->limit)
			t->limit = head_ns(t->heap[i]);
}

/* Brings the earliest chunk to the top, or drops one that is used up. False at the end. */
static bool advance(struct timeline *t)
{
	struct open_chunk *first = t->heap_count ? t->heap[0] : NULL;

	if (first && first->head == first->end) {
		t->heap[0] = t->heap[--t->heap_count];
		release(t, first);
	}
	if (t->heap_count)
		sift_down(t, 0);
	settle(t);
	return t->heap_count > 0;
}

static const void *next(struct timeline *t)
{
	for (;;) {
		struct open_chunk *first = t->heap_count ? t->heap[0] : NULL;
		const void *row;
		uint64_t begin;

		if (!first || first->head == first->end || head_ns(first) > t->limit) {
			if (!advance(t))
				return NULL;
			first = t->heap[0];
		}
		begin = head_ns(first);
		row = first->head;
		first->head += t->row_bytes;
		if (begin >= t->last_ns) {
			t->last_ns = begin;
			return row;
		}
		t->counts.late++;
	}
}

const struct op *timeline_op(struct timeline *t)
{
	return next(t);
}

const struct call *timeline_call(struct timeline *t)
{
	return next(t);
}

const struct wake *timeline_wake(struct timeline *t)
{
	return next(t);
}

const struct range_event *timeline_range(struct timeline *t)
{
	return next(t);
}
