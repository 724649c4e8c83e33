/* The kernels of one device in the order of time, in eight bytes each: what steps are found in. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kernels kept of one device: 256 MB. Steps behind them are not looked for. */
#define SEQUENCE_LIMIT (32u << 20)

/* Signatures and streams beyond these count as one. */
#define SEQUENCE_SIGNATURES (1u << 23)
#define SEQUENCE_STREAMS 128

struct sequence {
	uint32_t *symbol; /* signature << 8 | stream << 1 | first kernel of a graph launch */
	uint32_t *delta;  /* ns since the kernel before; UINT32_MAX: the next of `far` */
	size_t count, symbol_capacity, delta_capacity;
	uint64_t *far; /* begins of kernels that came later than a delta can say */
	size_t far_count, far_capacity;
	uint32_t *graph; /* of each graph launch */
	size_t graph_count, graph_capacity;
	uint64_t begin_ns, last_ns;
	uint64_t stream[SEQUENCE_STREAMS];    /* stream keys; their index is in the symbols */
	uint64_t stream_ns[SEQUENCE_STREAMS]; /* kernel time in them */
	unsigned stream_count;
	uint32_t last_correlation; /* of the last graph launch */
	uint32_t last_graph;
	bool full; /* kernels were left out */
};

struct op;

void sequence_init(struct sequence *sequence);
void sequence_fini(struct sequence *sequence);

/* Appends a kernel; they come in the order of begin. */
void sequence_add(struct sequence *sequence, const struct op *op);

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
