/* Driver API: streams, events, host functions, memory values, capture. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

int call_stream(CUstream handle, const struct sim_call *call, struct CUstream_st **stream)
{
	if (!gpu_is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	*stream = stream_of(handle, call->api->per_thread);
	if (*stream)
		return 0;
	return context_ok(context_current()) ? CUDA_ERROR_INVALID_HANDLE
					     : CUDA_ERROR_INVALID_CONTEXT;
}

int call_submit(struct CUstream_st *stream, CUgraphNodeType type, struct work *work,
		struct sim_call *call)
{
	if (stream->capture)
		return capture_add(stream, type, work, call, NULL);
	return stream_submit(stream, work, call);
}

static int create(CUstream *out, unsigned int flags, int priority)
{
	struct CUctx_st *context = context_current();

	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!out || flags > CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	*out = stream_create(context, flags, priority, false);
	return 0;
}

IMPL(cuStreamCreate)
{
	(void)call;
	return create(p->phStream, p->Flags, 0);
}

IMPL(cuStreamCreateWithPriority)
{
	(void)call;
	return create(p->phStream, p->flags, p->priority);
}

IMPL(cuStreamDestroy_v2)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	return err ? err : stream_destroy(stream);
}

IMPL(cuStreamSynchronize)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	if (stream->capture)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (stream->legacy && (err = capture_forbids_legacy(stream)))
		return err;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return stream_wait(stream);
}

IMPL(cuStreamQuery)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	if (stream->capture)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	if (stream->legacy && (err = capture_forbids_legacy(stream)))
		return err;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return stream_done_ns(stream) > sim_clock->now() ? CUDA_ERROR_NOT_READY : 0;
}

IMPL(cuStreamGetFlags)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		*p->flags = stream->flags;
	return err;
}

IMPL(cuStreamGetPriority)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		*p->priority = stream->priority;
	return err;
}

IMPL(cuStreamGetId)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	/* Not CUPTI's numbering, as on the real driver. */
	if (!err)
		*p->streamId = 1000 + stream->id;
	return err;
}

IMPL(cuStreamGetCtx)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		*p->pctx = stream->context;
	return err;
}

IMPL(cuStreamGetDevice)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		*p->device = stream->context->device;
	return err;
}

IMPL(cuStreamSetAttribute)
{
	struct CUstream_st *stream;

	return call_stream(p->hStream, call, &stream);
}

IMPL(cuStreamGetAttribute)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		memset(p->value, 0, sizeof(*p->value));
	return err;
}

IMPL(cuStreamCopyAttributes)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuStreamAttachMemAsync)
{
	struct CUstream_st *stream;

	return call_stream(p->hStream, call, &stream);
}

IMPL(cuStreamWaitEvent)
{
	struct CUevent_st *event = event_of(p->hEvent);
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	return stream_wait_event(stream, event, call);
}

IMPL(cuEventCreate)
{
	struct CUctx_st *context = context_current();
	struct CUevent_st *event;

	(void)call;
	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	if (!event)
		abort();
	event->magic = MAGIC_EVENT;
	event->flags = p->Flags;
	event->context = context;
	*p->phEvent = event;
	return 0;
}

IMPL(cuEventDestroy_v2)
{
	struct CUevent_st *event = event_of(p->hEvent);

	(void)call;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	nodes_clear(&event->tips);
	event->magic = 0;
	free(event);
	return 0;
}

static int record(CUevent handle, CUstream stream_handle, unsigned int flags, struct sim_call *call)
{
	struct CUevent_st *event = event_of(handle);
	struct CUstream_st *stream;
	int err = call_stream(stream_handle, call, &stream);

	if (err)
		return err;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture && (flags & CU_EVENT_RECORD_EXTERNAL)) {
		struct CUgraphNode_st *node;

		err = capture_add(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, NULL, call, &node);
		if (!err)
			node->event = event;
		return err;
	}
	return stream_record(stream, event, call);
}

IMPL(cuEventRecord)
{
	return record(p->hEvent, p->hStream, 0, call);
}

IMPL(cuEventRecordWithFlags)
{
	return record(p->hEvent, p->hStream, p->flags, call);
}

/* 900 where a capture in force forbids asking at all, 907 where the event itself was captured. */
static int event_forbids(struct CUevent_st *event)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (event->capture && !event->capture->over)
		return capture_invalidate(event->capture, CUDA_ERROR_CAPTURED_EVENT);
	return 0;
}

IMPL(cuEventQuery)
{
	struct CUevent_st *event = event_of(p->hEvent);
	int err = event_forbids(event);

	(void)call;
	if (err)
		return err;
	return event->recorded && event->at_ns > sim_clock->now() ? CUDA_ERROR_NOT_READY : 0;
}

IMPL(cuEventSynchronize)
{
	struct CUevent_st *event = event_of(p->hEvent);
	int err = event_forbids(event);

	(void)call;
	if (err)
		return err;
	if (event->recorded && event->at_ns > sim_clock->now())
		wait_until(event->at_ns + script.sync_latency_ns);
	host_drain();
	return 0;
}

static int elapsed(float *ms, CUevent start, CUevent end)
{
	if (!event_of(start) || !event_of(end) || !start->recorded || !end->recorded ||
	    ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_HANDLE;
	if (end->at_ns > sim_clock->now() || start->at_ns > sim_clock->now())
		return CUDA_ERROR_NOT_READY;
	*ms = (float)((double)((int64_t)(end->at_ns - start->at_ns)) / 1e6);
	return 0;
}

IMPL(cuEventElapsedTime)
{
	(void)call;
	return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}

IMPL(cuEventElapsedTime_v2)
{
	(void)call;
	return elapsed(p->pMilliseconds, p->hStart, p->hEnd);
}

static int host_function(CUstream handle, CUhostFn function, void *data, struct sim_call *call)
{
	struct work work = {
		.op = {.kind = SIM_HOST, .name = "host function"},
		.duration_ns = script.host_function_ns,
		.host = function,
		.host_data = data,
	};
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (err)
		return err;
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	return call_submit(stream, CU_GRAPH_NODE_TYPE_HOST, &work, call);
}

IMPL(cuLaunchHostFunc)
{
	return host_function(p->hStream, p->fn, p->userData, call);
}

struct old_callback {
	CUstreamCallback function;
	CUstream stream;
	void *data;
};

static void run_old_callback(void *arg)
{
	struct old_callback c = *(struct old_callback *)arg;

	free(arg);
	c.function(c.stream, CUDA_SUCCESS, c.data);
}

IMPL(cuStreamAddCallback)
{
	struct old_callback *c;
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	if (stream->capture)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	c = malloc(sizeof(*c));
	if (!c)
		abort();
	*c = (struct old_callback){p->callback, p->hStream, p->userData};
	return host_function(p->hStream, run_old_callback, c, call);
}

/* When each address last got its value on the device's timeline, for waits to find. */
#define WRITES 64
static struct {
	CUdeviceptr address;
	uint64_t at_ns;
} writes[WRITES];
static unsigned int write_count;

static int write_value(CUstream handle, CUdeviceptr address, uint64_t value, size_t bytes,
		       struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (err)
		return err;
	if (stream->capture)
		return capture_add(stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, NULL, call, NULL);
	memcpy((void *)address, &value, bytes);
	gpu_lock();
	writes[write_count % WRITES].address = address;
	writes[write_count++ % WRITES].at_ns =
		stream->tail_end_ns > sim_clock->now() ? stream->tail_end_ns : sim_clock->now();
	gpu_unlock();
	return 0;
}

/* A wait is over when the latest write that is enqueued already has happened. */
static int wait_value(CUstream handle, CUdeviceptr address, struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (err)
		return err;
	if (stream->capture)
		return capture_add(stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, NULL, call, NULL);
	gpu_lock();
	for (unsigned int i = 0; i < WRITES; i++)
		if (writes[i].address == address && writes[i].at_ns > stream->wait_ns)
			stream->wait_ns = writes[i].at_ns;
	gpu_unlock();
	return 0;
}

IMPL(cuStreamWriteValue32_v2)
{
	return write_value(p->stream, p->addr, p->value, 4, call);
}

IMPL(cuStreamWriteValue64_v2)
{
	return write_value(p->stream, p->addr, p->value, 8, call);
}

IMPL(cuStreamWaitValue32_v2)
{
	return wait_value(p->stream, p->addr, call);
}

IMPL(cuStreamWaitValue64_v2)
{
	return wait_value(p->stream, p->addr, call);
}

IMPL(cuStreamBeginCapture_v2)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	return err ? err : capture_begin(stream, NULL, p->mode);
}

IMPL(cuStreamBeginCaptureToGraph)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err && (!p->hGraph || p->hGraph->magic != MAGIC_GRAPH))
		err = CUDA_ERROR_INVALID_HANDLE;
	if (!err)
		err = capture_begin(stream, p->hGraph, p->mode);
	for (size_t i = 0; !err && i < p->numDependencies; i++)
		nodes_add(&stream->tips, p->dependencies[i]);
	return err;
}

IMPL(cuStreamEndCapture)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err)
		err = capture_end(stream, p->phGraph);
	if (err && p->phGraph)
		*p->phGraph = NULL;
	return err;
}

static CUstreamCaptureStatus status(const struct CUstream_st *stream)
{
	if (!stream->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					: CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

IMPL(cuStreamIsCapturing)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (!err && stream->legacy)
		err = capture_forbids_legacy(stream);
	if (!err)
		*p->captureStatus = status(stream);
	return err;
}

static int capture_info(CUstream handle, CUstreamCaptureStatus *out, cuuint64_t *id, CUgraph *graph,
			const CUgraphNode **deps, size_t *count, struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (!err && stream->legacy)
		err = capture_forbids_legacy(stream);
	if (err)
		return err;
	*out = status(stream);
	if (!stream->capture)
		return 0;
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = stream->capture->graph;
	if (deps)
		*deps = stream->tips.at;
	if (count)
		*count = stream->tips.count;
	return 0;
}

IMPL(cuStreamGetCaptureInfo)
{
	return capture_info(p->hStream, p->captureStatus_out, p->id_out, NULL, NULL, NULL, call);
}

IMPL(cuStreamGetCaptureInfo_v2)
{
	return capture_info(p->hStream, p->captureStatus_out, p->id_out, p->graph_out,
			    p->dependencies_out, p->numDependencies_out, call);
}

IMPL(cuStreamGetCaptureInfo_v3)
{
	if (p->edgeData_out)
		*p->edgeData_out = NULL;
	return capture_info(p->hStream, p->captureStatus_out, p->id_out, p->graph_out,
			    p->dependencies_out, p->numDependencies_out, call);
}

static int update_dependencies(CUstream handle, CUgraphNode *deps, size_t count, unsigned int flags,
			       struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (err)
		return err;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		nodes_clear(&stream->tips);
	for (size_t i = 0; i < count; i++)
		nodes_add(&stream->tips, deps[i]);
	return 0;
}

IMPL(cuStreamUpdateCaptureDependencies)
{
	return update_dependencies(p->hStream, p->dependencies, p->numDependencies, p->flags, call);
}

IMPL(cuStreamUpdateCaptureDependencies_v2)
{
	return update_dependencies(p->hStream, p->dependencies, p->numDependencies, p->flags, call);
}

IMPL(cuThreadExchangeStreamCaptureMode)
{
	struct thread *t = thread_self();
	CUstreamCaptureMode old = t->capture_mode;

	(void)call;
	t->capture_mode = *p->mode;
	*p->mode = old;
	return 0;
}
