/* Packing kernels into symbols and differences of time. */
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

void sequence_init(struct sequence *sequence)
{
	memset(sequence, 0, sizeof(*sequence));
}

void sequence_fini(struct sequence *sequence)
{
	free(sequence->symbol);
	free(sequence->delta);
	free(sequence->far);
	free(sequence->graph);
	sequence_init(sequence);
}

static unsigned stream_index(struct sequence *s, const struct op *op)
{
	unsigned i;

	for (i = 0; i < s->stream_count; i++)
		if (s->stream[i] == op->stream)
			break;
	if (i == s->stream_count) {
		if (i == SEQUENCE_STREAMS)
			return SEQUENCE_STREAMS - 1;
		s->stream[s->stream_count++] = op->stream;
	}
	s->last_stream = i;
	s->stream_ns[i] += op->end_ns - op->begin_ns;
	return i;
}

/* All kernels of a graph launch share its correlation id. */
static bool begins_graph(struct sequence *s, const struct op *op)
{
	bool same = op->graph == s->last_graph && op->correlation == s->last_correlation;

	if (!op->graph || same)
		return false;
	s->last_graph = op->graph;
	s->last_correlation = op->correlation;
	return true;
}

/* Symbols and deltas have the same capacity. */
static int grow(struct sequence *s)
{
	size_t symbols = s->capacity, deltas = s->capacity;

	if (s->count == SEQUENCE_LIMIT ||
	    array_reserve((void **)&s->symbol, &symbols, s->count + 1, 4) ||
	    array_reserve((void **)&s->delta, &deltas, s->count + 1, 4))
		return -1;
	s->capacity = deltas;
	return 0;
}

static int reserve(struct sequence *s, bool far, bool graph)
{
	return (s->count == s->capacity && grow(s)) ||
	       (far && array_reserve((void **)&s->far, &s->far_capacity, s->far_count + 1, 8)) ||
	       (graph &&
		array_reserve((void **)&s->graph, &s->graph_capacity, s->graph_count + 1, 4));
}

void sequence_add_any(struct sequence *s, const struct op *op)
{
	uint32_t signature = op->signature < SEQUENCE_SIGNATURES ? op->signature : 0;
	bool far = !s->count || op->begin_ns - s->last_ns >= UINT32_MAX;
	bool graph = begins_graph(s, op);

	if (s->full)
		return;
	if (reserve(s, far, graph)) {
		s->full = true;
		s->capacity = 0;
		return;
	}
	if (!s->count)
		s->begin_ns = op->begin_ns;
	s->symbol[s->count] = signature << 8 | stream_index(s, op) << 1 | graph;
	s->delta[s->count++] = far ? UINT32_MAX : (uint32_t)(op->begin_ns - s->last_ns);
	if (far)
		s->far[s->far_count++] = op->begin_ns;
	if (graph)
		s->graph[s->graph_count++] = op->graph;
	s->last_ns = op->begin_ns;
}
