/* A ring of spans for each thread. */
#include "thread_log.h"

#include <stdlib.h>
#include <string.h>

#include "leaf.h"

/* Spans kept of one thread: 2 MB. Only a device that idles while its thread makes more waits than
 * these loses evidence. */
#define SPANS_LIMIT 65536

/*
 * Shorter calls of the classes that block only now and then (setting the device, creating a stream)
 * are ordinary host time: cudaSetDevice takes 0.1 us, and PyTorch calls it before every launch.
 */
#define BLOCKING_NS 10000

void thread_log_init(struct thread_log *log)
{
	memset(log, 0, sizeof(*log));
}

void thread_log_fini(struct thread_log *log)
{
	free(log->ring);
	silences_fini(&log->silences);
	thread_log_init(log);
}

static struct thread_span *span_at(const struct thread_log *log, uint64_t n)
{
	return &log->ring[n & (log->capacity - 1)];
}

static int grow(struct thread_log *log)
{
	uint64_t capacity = log->capacity ? log->capacity * 2 : 64;
	struct thread_span *ring;

	if (capacity > SPANS_LIMIT)
		return -1;
	ring = malloc(capacity * sizeof(*ring));
	if (!ring)
		return -1;
	for (uint64_t n = log->first; n < log->last; n++)
		ring[n & (capacity - 1)] = *span_at(log, n);
	free(log->ring);
	log->ring = ring;
	log->capacity = capacity;
	return 0;
}

static uint64_t push(struct thread_log *log, const struct thread_span *span)
{
	if (log->last - log->first == log->capacity && grow(log)) {
		if (!log->capacity)
			return UINT64_MAX;
		log->forgotten_ns = span_at(log, log->first)->end_ns;
		log->first++;
	}
	*span_at(log, log->last) = *span;
	return log->last++;
}

static bool span_kind_of(const struct call *call, bool blocking, enum span_kind *kind)
{
	uint64_t duration = call->end_ns - call->begin_ns;

	switch (call->klass) {
	case BST_ENUM_CLASS_SYNC:
		*kind = SPAN_SYNC;
		return true;
	case BST_ENUM_CLASS_COPY:
		*kind = blocking ? SPAN_SYNC : SPAN_COPY;
		return true;
	case BST_ENUM_CLASS_ALLOC:
	case BST_ENUM_CLASS_FREE:
	case BST_ENUM_CLASS_MODULE:
		*kind = SPAN_ALLOC;
		return true;
	case BST_ENUM_CLASS_STREAM:
	case BST_ENUM_CLASS_CAPTURE:
	case BST_ENUM_CLASS_GRAPH:
	case BST_ENUM_CLASS_DEVICE:
		*kind = SPAN_ALLOC;
		return duration >= BLOCKING_NS;
	case BST_ENUM_CLASS_LAUNCH:
		*kind = SPAN_ALLOC;
		return call->flags & BST_ENUM_CALL_FLAG_MODULE_LOADED;
	default:
		return false;
	}
}

void thread_log_launched(struct thread_log *log, uint64_t begin_ns)
{
	if (log->unlaunched < log->first)
		log->unlaunched = log->first;
	for (; log->unlaunched < log->last; log->unlaunched++)
		span_at(log, log->unlaunched)->next_launch_ns = begin_ns;
}

uint64_t thread_log_span(struct thread_log *log, const struct call *call, bool blocking)
{
	struct thread_span span = {call->begin_ns, call->end_ns, UINT64_MAX, SPAN_ALLOC};

	if (span.begin_ns < log->covered_ns)
		span.begin_ns = log->covered_ns;
	if (!span_kind_of(call, blocking, &span.kind) || span.end_ns <= span.begin_ns)
		return UINT64_MAX;
	log->covered_ns = span.end_ns;
	if (span.kind == SPAN_SYNC)
		log->sync_ns += span.end_ns - span.begin_ns;
	return push(log, &span);
}

void thread_log_waited(struct thread_log *log, uint64_t span)
{
	struct thread_span *copy;

	if (span < log->first || span >= log->last)
		return;
	copy = span_at(log, span);
	if (copy->kind != SPAN_COPY)
		return;
	copy->kind = SPAN_SYNC;
	log->sync_ns += copy->end_ns - copy->begin_ns;
}

void thread_log_nested(const struct thread_log *log, uint64_t *begin_ns, uint64_t *end_ns)
{
	if (*begin_ns > log->outer_end_ns)
		return;
	switch (log->outer_class) {
	case BST_ENUM_CLASS_LAUNCH:
	case BST_ENUM_CLASS_GRAPH_LAUNCH:
	case BST_ENUM_CLASS_COPY:
	case BST_ENUM_CLASS_SET:
	case BST_ENUM_CLASS_PREFETCH:
		*begin_ns = log->outer_begin_ns;
		if (log->outer_end_ns > *end_ns)
			*end_ns = log->outer_end_ns;
		break;
	default:
		break;
	}
}

/* The part of a split that is being written. */
struct split {
	uint64_t at_ns, to_ns;
	uint64_t tail_ns; /* up to here the lead of an earlier wait is still missing */
	void (*emit)(void *context, const struct thread_piece *piece);
	void *context;
};

static void emit_until(struct split *split, uint64_t until_ns, enum leaf leaf)
{
	struct thread_piece piece = {split->at_ns, until_ns, leaf};

	if (piece.end_ns > split->to_ns)
		piece.end_ns = split->to_ns;
	if (piece.end_ns <= piece.begin_ns)
		return;
	split->emit(split->context, &piece);
	split->at_ns = piece.end_ns;
}

static void emit_host(struct split *split, uint64_t until_ns)
{
	uint64_t tail = split->tail_ns < until_ns ? split->tail_ns : until_ns;

	emit_until(split, tail, LEAF_SYNC);
	emit_until(split, until_ns, LEAF_HOST);
}

/* First span that can matter from `from_ns` on: those before it are over, and a launch ended their
 * tails. */
static uint64_t find_first(const struct thread_log *log, uint64_t from_ns)
{
	uint64_t n = log->last;

	while (n > log->first) {
		const struct thread_span *span = span_at(log, n - 1);

		if (span->end_ns <= from_ns && span->next_launch_ns <= from_ns)
			break;
		n--;
	}
	return n;
}

void thread_log_split(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns,
		      busy_between busy, const void *device,
		      void (*emit)(void *context, const struct thread_piece *piece), void *context)
{
	struct split split = {from_ns, to_ns, 0, emit, context};

	emit_until(&split, log->forgotten_ns, LEAF_UNKNOWN);
	for (uint64_t n = find_first(log, from_ns); n < log->last; n++) {
		const struct thread_span *span = span_at(log, n);
		uint64_t tail;

		if (span->begin_ns >= to_ns)
			break;
		if (span->kind == SPAN_COPY)
			continue;
		emit_host(&split, span->begin_ns);
		emit_until(&split, span->end_ns, span->kind == SPAN_SYNC ? LEAF_SYNC : LEAF_ALLOC);
		if (span->kind != SPAN_SYNC)
			continue;
		tail = span->end_ns + busy(device, span->begin_ns, span->end_ns);
		if (tail > span->next_launch_ns)
			tail = span->next_launch_ns;
		if (tail > split.tail_ns)
			split.tail_ns = tail;
	}
	emit_host(&split, to_ns);
}

uint64_t thread_log_waited_until(const struct thread_log *log, uint64_t until_ns, uint64_t from_ns)
{
	for (uint64_t n = log->last; n > log->first; n--) {
		const struct thread_span *span = span_at(log, n - 1);

		if (span->end_ns <= from_ns)
			break;
		if (span->kind == SPAN_SYNC && span->end_ns <= until_ns)
			return span->end_ns;
	}
	return 0;
}

struct thread_calls thread_log_calls(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t kept = log->call_count < RECENT_CALLS ? log->call_count : RECENT_CALLS;
	struct thread_calls count = {0, 0};
	uint64_t oldest = to_ns;
	double scale;

	for (uint64_t i = 1; i <= kept; i++) {
		const struct recent_call *call = &log->recent[(log->call_count - i) % RECENT_CALLS];

		if (call->begin_ns >= to_ns)
			continue;
		if (call->begin_ns < from_ns)
			return count;
		oldest = call->begin_ns;
		count.calls++;
		count.launches += call->launches;
	}
	if (kept < RECENT_CALLS || oldest >= to_ns)
		return count;
	scale = (double)(to_ns - from_ns) / (double)(to_ns - oldest);
	count.calls *= scale;
	count.launches *= scale;
	return count;
}
