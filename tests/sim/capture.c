/* Stream capture: what is recorded instead of run, and what is forbidden meanwhile. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu.h"

static struct capture *captures;
static unsigned long long next_capture_id = 1;

int capture_invalidate(struct capture *capture, int error)
{
	capture->invalid = true;
	return error;
}

/* A call that could synchronise or allocate, against every capture in force whose mode forbids it
 * to this thread: global mode to all threads, thread-local mode to the one that captures. */
int capture_forbids(void)
{
	struct thread *t = thread_self();
	bool relaxed = t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED;
	bool hit = false;

	if (!captures || relaxed)
		return 0;
	gpu_lock();
	for (struct capture *c = captures; c; c = c->next) {
		bool mine = c->owner_tid == t->tid;

		if (c->over || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		if (c->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !mine)
			continue;
		if (!mine && t->capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
			continue;
		c->invalid = true;
		hit = true;
	}
	gpu_unlock();
	return hit ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0;
}

int capture_forbids_legacy(const struct CUstream_st *stream)
{
	int err = 0;

	if (!captures)
		return 0;
	gpu_lock();
	for (struct CUstream_st *s = stream->context->streams; s; s = s->next) {
		if (!s->capture || (s->flags & CU_STREAM_NON_BLOCKING))
			continue;
		s->capture->invalid = true;
		err = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	gpu_unlock();
	return err;
}

int capture_begin(struct CUstream_st *stream, struct CUgraph_st *graph, CUstreamCaptureMode mode)
{
	struct capture *c;

	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	c->graph = graph ? graph : graph_create();
	c->origin = stream;
	c->mode = mode;
	c->owner_tid = thread_self()->tid;
	gpu_lock();
	c->id = next_capture_id++;
	c->next = captures;
	captures = c;
	stream->capture = c;
	nodes_clear(&stream->tips);
	gpu_unlock();
	return 0;
}

/* Every stream that joined must have been joined back: its last nodes have a node after them. */
static bool is_joined(struct CUstream_st *stream, const struct CUstream_st *origin)
{
	for (size_t i = 0; i < stream->tips.count; i++) {
		bool found = false;

		for (size_t n = 0; !found && n < origin->tips.count; n++)
			found = origin->tips.at[n] == stream->tips.at[i];
		for (size_t n = 0; !found && n < stream->capture->graph->nodes.count; n++) {
			const struct nodes *deps = &stream->capture->graph->nodes.at[n]->deps;

			for (size_t d = 0; !found && d < deps->count; d++)
				found = deps->at[d] == stream->tips.at[i];
		}
		if (!found)
			return false;
	}
	return true;
}

int capture_end(struct CUstream_st *stream, struct CUgraph_st **graph)
{
	struct capture *c = stream->capture;
	int err = 0;

	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (c->origin != stream)
		return capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->owner_tid != thread_self()->tid)
		return capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	if (c->invalid)
		err = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	gpu_lock();
	for (struct CUstream_st *s = stream->context->streams; s; s = s->next) {
		if (s->capture != c)
			continue;
		if (!err && s != stream && !is_joined(s, stream))
			err = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	}
	for (struct CUstream_st *s = stream->context->streams; s; s = s->next) {
		if (s->capture != c)
			continue;
		s->capture = NULL;
		nodes_clear(&s->tips);
	}
	c->over = true;
	/* Events may still point here, so it is unlinked and kept. */
	for (struct capture **at = &captures; *at; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	gpu_unlock();
	*graph = err ? NULL : c->graph;
	return err;
}

int capture_add(struct CUstream_st *stream, CUgraphNodeType type, const struct work *work,
		struct sim_call *call, struct CUgraphNode_st **out)
{
	struct CUgraphNode_st *node;

	if (stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	call->captured = true;
	node = graph_add(stream->capture->graph, type, work, stream->tips.at, stream->tips.count);
	nodes_clear(&stream->tips);
	nodes_add(&stream->tips, node);
	if (out)
		*out = node;
	return 0;
}
