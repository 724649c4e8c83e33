/* The kernels of one device in the order of time, in eight bytes each: what steps are found in. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "timeline.h"

/* Kernels kept of one device: 256 MB. Steps behind them are not looked for. */
#define SEQUENCE_LIMIT (32u << 20)

/* Signatures and streams beyond these count as one. */
#define SEQUENCE_SIGNATURES (1u << 23)
#define SEQUENCE_STREAMS 128

struct sequence {
	uint32_t *symbol;       /* signature << 8 | stream << 1 | first kernel of a graph launch */
	uint32_t *delta;        /* ns since the kernel before; UINT32_MAX: the next of `far` */
	size_t count, capacity; /* 0 while the first is to come, and once it is full */
	uint64_t *far;          /* begins of kernels that came later than a delta can say */
	size_t far_count, far_capacity;
	uint32_t *graph; /* of each graph launch */
	size_t graph_count, graph_capacity;
	uint64_t begin_ns, last_ns;
	uint64_t stream[SEQUENCE_STREAMS];    /* stream keys; their index is in the symbols */
	uint64_t stream_ns[SEQUENCE_STREAMS]; /* kernel time in them */
	unsigned stream_count, last_stream;
	uint32_t last_correlation; /* of the last graph launch */
	uint32_t last_graph;
	bool full; /* kernels were left out */
};

void sequence_init(struct sequence *sequence);
void sequence_fini(struct sequence *sequence);

/* What sequence_add does with the first kernels, with those of graphs, of another stream than the
 * one before, after a long pause, and where there is no room yet. */
void sequence_add_any(struct sequence *sequence, const struct op *op);

/* Appends a kernel; they come in the order of begin. */
static inline void sequence_add(struct sequence *s, const struct op *op)
{
	uint64_t delta = op->begin_ns - s->last_ns;

	if (s->count >= s->capacity || op->stream != s->stream[s->last_stream] || op->graph ||
	    delta >= UINT32_MAX || op->signature >= SEQUENCE_SIGNATURES) {
		sequence_add_any(s, op);
		return;
	}
	s->symbol[s->count] = op->signature << 8 | s->last_stream << 1;
	s->delta[s->count++] = (uint32_t)delta;
	s->stream_ns[s->last_stream] += op->end_ns - op->begin_ns;
	s->last_ns = op->begin_ns;
}

/* One kernel of a walk. */
struct sequence_item {
	uint64_t begin_ns;
	uint32_t signature;
	uint32_t graph; /* of the launch that begins here; 0 = none does */
	unsigned stream;
};

/* A walk from the first kernel on. Zeroed is at the start. */
struct sequence_walk {
	size_t at, far_at, graph_at;
	uint64_t ns;
};

/* Moves a walk on to kernel number `to`. */
static inline void sequence_skip(const struct sequence *s, struct sequence_walk *walk, size_t to)
{
	for (; walk->at < to && walk->at < s->count; walk->at++) {
		if (s->delta[walk->at] == UINT32_MAX)
			walk->ns = s->far[walk->far_at++];
		else
			walk->ns += s->delta[walk->at];
		walk->graph_at += s->symbol[walk->at] & 1;
	}
}

static inline bool sequence_next(const struct sequence *s, struct sequence_walk *walk,
				 struct sequence_item *item)
{
	uint32_t symbol, delta;

	if (walk->at == s->count)
		return false;
	symbol = s->symbol[walk->at];
	delta = s->delta[walk->at++];
	if (delta == UINT32_MAX)
		walk->ns = s->far[walk->far_at++];
	else
		walk->ns += delta;
	item->begin_ns = walk->ns;
	item->signature = symbol >> 8;
	item->stream = symbol >> 1 & (SEQUENCE_STREAMS - 1);
	item->graph = symbol & 1 ? s->graph[walk->graph_at++] : 0;
	return true;
}

#endif
