/* Streams and events: when each operation starts and ends. */
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* The operations of a graph launch, told to CUPTI after the lock is dropped. */
struct told {
	struct sim_op *ops;
	size_t count, room;
};

static void tell_stream(uint32_t cbid, struct CUstream_st *stream)
{
	CUpti_ResourceData data = {.context = stream->context, .resourceHandle.stream = stream};

	tell_resource(cbid, &data);
}

struct CUstream_st *stream_create(struct CUctx_st *context, unsigned int flags, int priority,
				  bool legacy)
{
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->magic = MAGIC_STREAM;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	stream->legacy = legacy;
	stream->ends = calloc(script.queue_depth, sizeof(*stream->ends));
	if (!stream->ends)
		abort();
	gpu_lock();
	stream->id = context->next_stream_id;
	/* The first stream an application makes is 13 where the default stream is 7. */
	context->next_stream_id = stream->id == 7 ? 13 : stream->id + 1;
	stream->next = context->streams;
	context->streams = stream;
	gpu_unlock();
	tell_stream(CUPTI_CBID_RESOURCE_STREAM_CREATED, stream);
	return stream;
}

int stream_destroy(struct CUstream_st *stream)
{
	if (stream->legacy)
		return CUDA_ERROR_INVALID_HANDLE;
	tell_stream(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, stream);
	gpu_lock();
	stream->dead = true;
	free(stream->ends);
	stream->ends = NULL;
	gpu_unlock();
	return 0;
}

/* One default stream for each thread and context, made when first used. */
static struct CUstream_st *own_stream(struct CUctx_st *context)
{
	struct thread *t = thread_self();

	if (!t->own_stream || t->own_stream->context != context || t->own_stream->dead)
		t->own_stream = stream_create(context, 0, 0, false);
	return t->own_stream;
}

struct CUstream_st *stream_of(CUstream handle, bool per_thread)
{
	struct CUctx_st *context = context_current();

	if (handle == CU_STREAM_PER_THREAD || (!handle && per_thread))
		return context_ok(context) ? own_stream(context) : NULL;
	if (!handle || handle == CU_STREAM_LEGACY)
		return context_ok(context) ? context->legacy : NULL;
	return handle->magic == MAGIC_STREAM && !handle->dead ? handle : NULL;
}

struct CUevent_st *event_of(CUevent handle)
{
	return handle && handle->magic == MAGIC_EVENT ? handle : NULL;
}

/* What the stream's next operation has to wait for, by the rules of the legacy default stream. */
static uint64_t held_until(const struct CUstream_st *stream)
{
	uint64_t until = stream->wait_ns;

	if (stream->flags & CU_STREAM_NON_BLOCKING)
		return until;
	if (!stream->legacy) {
		const struct CUstream_st *legacy = stream->context->legacy;

		return legacy->tail_end_ns > until ? legacy->tail_end_ns : until;
	}
	for (const struct CUstream_st *s = stream->context->streams; s; s = s->next)
		if (!(s->flags & CU_STREAM_NON_BLOCKING) && s != stream && s->tail_end_ns > until)
			until = s->tail_end_ns;
	return until;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The start on the stream of something that could start at ready_ns. */
static uint64_t start_on(struct CUstream_st *stream, uint64_t ready_ns, uint64_t overlap_ns,
			 bool traced)
{
	uint64_t gap = script.queue_gap_ns + (traced ? script.cupti.gap_ns : 0);
	uint64_t start = later(ready_ns, held_until(stream));

	if (!stream->count)
		return start;
	if (overlap_ns)
		return later(start, later(stream->tail_start_ns, stream->tail_end_ns - overlap_ns));
	return later(start, stream->tail_end_ns + gap);
}

static void append(struct CUstream_st *stream, uint64_t start_ns, uint64_t end_ns)
{
	stream->ends[stream->count++ % script.queue_depth] = end_ns;
	stream->tail_start_ns = start_ns;
	stream->tail_end_ns = later(stream->tail_end_ns, end_ns);
}

/* Gives work its times from start_ns on; the engine it needs may hold it longer. */
static void run_at(struct CUctx_st *context, struct work *work, uint64_t start_ns)
{
	uint64_t *busy = work->engine ? engine_free(context->device, work->engine) : NULL;
	uint64_t duration = work->duration_ns;

	if (busy)
		start_ns = later(start_ns, *busy);
	if (work->op.kind == SIM_KERNEL) {
		uint64_t blocks = (uint64_t)work->op.grid[0] * (uint64_t)work->op.grid[1] *
				  (uint64_t)work->op.grid[2];

		duration =
			script_duration(work->function->script, work->function->launches++, blocks);
		if (script.serial_kernels)
			start_ns = later(start_ns, context->kernel_free_ns);
		context->kernel_free_ns = start_ns + duration;
		work->op.grid_id = ++context->grid_id;
	}
	work->op.start_ns = start_ns;
	work->op.end_ns = start_ns + duration;
	work->op.device = (uint32_t)context->device;
	work->op.context = context->id;
	if (busy)
		*busy = work->op.end_ns;
	if (work->op.kind == SIM_KERNEL)
		counters_add(context->device, work->function->script, &work->op);
}

/* The hardware queue is finite: a launch into a full one waits for the oldest entry to finish. */
static void wait_for_room(struct CUstream_st *stream)
{
	uint64_t oldest;

	gpu_lock();
	oldest = stream->count >= script.queue_depth
			 ? stream->ends[stream->count % script.queue_depth]
			 : 0;
	gpu_unlock();
	wait_until(oldest);
}

static void effect(const struct work *work)
{
	if (work->host)
		host_run(work->host, work->host_data, work->op.start_ns);
	else
		box_move(&work->box);
}

int stream_submit(struct CUstream_st *stream, struct work *work, struct sim_call *call)
{
	bool traced = records_wanted(work->op.kind);
	int err = stream->legacy ? capture_forbids_legacy(stream) : 0;

	if (err)
		return err;
	wait_for_room(stream);
	if (traced)
		charge(script.cupti.activity_cost_ns);
	work->op.stream = stream->id;
	work->op.correlation = call->correlation;
	work->op.runtime_correlation = call->runtime_correlation;
	gpu_lock();
	work->op.enqueued_ns = sim_clock->now();
	work->op.held_ns = stream->wait_ns;
	run_at(stream->context, work,
	       start_on(stream, work->op.enqueued_ns + script.launch_latency_ns, work->overlap_ns,
			traced));
	append(stream, work->op.start_ns, work->op.end_ns);
	gpu_unlock();
	effect(work);
	tell_record(&work->op);
	return 0;
}

uint64_t stream_done_ns(struct CUstream_st *stream)
{
	uint64_t done;

	gpu_lock();
	done = later(stream->tail_end_ns, held_until(stream));
	gpu_unlock();
	return done;
}

int stream_wait(struct CUstream_st *stream)
{
	uint64_t done = stream_done_ns(stream);

	/* An idle stream costs no wake-up. */
	if (done > sim_clock->now())
		wait_until(done + script.sync_latency_ns);
	host_drain();
	tell_synchronized(CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED, stream->context, stream);
	return 0;
}

int stream_record(struct CUstream_st *stream, struct CUevent_st *event, struct sim_call *call)
{
	int err = stream->legacy ? capture_forbids_legacy(stream) : 0;

	if (err)
		return err;
	if (stream->capture) {
		if (stream->capture->invalid)
			return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		call->captured = true;
		event->capture = stream->capture;
		nodes_clear(&event->tips);
		for (size_t i = 0; i < stream->tips.count; i++)
			nodes_add(&event->tips, stream->tips.at[i]);
		return 0;
	}
	event->capture = NULL;
	gpu_lock();
	event->at_ns = later(sim_clock->now(), later(stream->tail_end_ns, held_until(stream)));
	event->recorded = true;
	gpu_unlock();
	return 0;
}

int stream_wait_event(struct CUstream_st *stream, struct CUevent_st *event, struct sim_call *call)
{
	if (event->capture && event->capture->over)
		event->capture = NULL;
	if (event->capture) {
		if (event->capture->invalid)
			return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		if (stream->legacy)
			return capture_invalidate(event->capture,
						  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		if (stream->capture && stream->capture != event->capture)
			return capture_invalidate(event->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
		call->captured = true;
		stream->capture = event->capture;
		for (size_t i = 0; i < event->tips.count; i++)
			nodes_add(&stream->tips, event->tips.at[i]);
		return 0;
	}
	if (stream->capture)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	gpu_lock();
	stream->wait_ns = later(stream->wait_ns, event->at_ns);
	gpu_unlock();
	return 0;
}

static void told_add(struct told *told, const struct sim_op *op)
{
	if (told->count == told->room) {
		told->room = told->room ? told->room * 2 : 64;
		told->ops = realloc(told->ops, told->room * sizeof(*told->ops));
		if (!told->ops)
			abort();
	}
	told->ops[told->count++] = *op;
}

struct replay {
	struct CUstream_st *stream;
	struct CUgraphExec_st *exec;
	struct sim_call *call;
	uint64_t enqueued_ns, gap_ns;
	struct told told;
};

static uint64_t replay_graph(struct replay *replay, struct CUgraph_st *graph, uint64_t base_ns);

static void replay_node(struct replay *replay, struct CUgraphNode_st *node, uint64_t base_ns)
{
	struct work work = node->work;
	uint64_t start = base_ns;

	for (size_t i = 0; i < node->deps.count; i++)
		start = later(start, node->deps.at[i]->end_ns);
	node->end_ns = start;
	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		node->end_ns = replay_graph(replay, node->child, start);
		return;
	}
	if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
		node->end_ns = later(start, node->event->at_ns);
	if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
		node->event->at_ns = start;
		node->event->recorded = true;
	}
	if (node->disabled || work.op.kind == SIM_EMPTY)
		return;
	if (node->deps.count)
		start += replay->gap_ns;
	work.op.stream = replay->stream->id;
	work.op.correlation = replay->call->correlation;
	work.op.runtime_correlation = replay->call->runtime_correlation;
	work.op.graph = replay->exec->id;
	work.op.node = node->id;
	work.op.enqueued_ns = replay->enqueued_ns;
	work.op.held_ns = replay->stream->wait_ns;
	run_at(replay->stream->context, &work, start);
	node->end_ns = work.op.end_ns;
	told_add(&replay->told, &work.op);
	if (work.host)
		host_run(work.host, work.host_data, work.op.start_ns);
	else
		box_move(&work.box);
}

static uint64_t replay_graph(struct replay *replay, struct CUgraph_st *graph, uint64_t base_ns)
{
	uint64_t end = base_ns;

	for (size_t i = 0; i < graph->nodes.count; i++) {
		replay_node(replay, graph->nodes.at[i], base_ns);
		end = later(end, graph->nodes.at[i]->end_ns);
	}
	return end;
}

int stream_launch_graph(struct CUstream_st *stream, struct CUgraphExec_st *exec,
			struct sim_call *call)
{
	bool traced = records_wanted(SIM_KERNEL);
	struct replay replay = {
		.stream = stream,
		.exec = exec,
		.call = call,
		.gap_ns = script.graph_node_gap_ns + (traced ? script.cupti.node_ns : 0),
	};
	uint64_t start, end;
	int err = stream->legacy ? capture_forbids_legacy(stream) : 0;

	if (err)
		return err;
	wait_for_room(stream);
	if (traced)
		charge(script.cupti.activity_cost_ns);
	for (size_t i = 0; i < exec->graph->nodes.count; i++)
		if (exec->graph->nodes.at[i]->work.function)
			function_load(exec->graph->nodes.at[i]->work.function, call);
	gpu_lock();
	replay.enqueued_ns = sim_clock->now();
	start = start_on(stream, replay.enqueued_ns + script.graph_latency_ns, 0, traced);
	end = replay_graph(&replay, exec->graph, start);
	append(stream, start, end);
	gpu_unlock();
	for (size_t i = 0; i < replay.told.count; i++)
		tell_record(&replay.told.ops[i]);
	free(replay.told.ops);
	return 0;
}
