/* capture: what a stream capture allows and forbids, and that replays run what was captured. A
 * tracer that made one CUDA call of its own in a hook would break the first test. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <string.h>

#include "app.h"

static cudaStream_t stream, side;
static const void *kernel;
static const dim3 one = {1, 1, 1};
static char *device, *pinned;

static void launch(cudaStream_t s)
{
	CHECK(cudaLaunchKernel(kernel, one, one, NULL, 0, s));
}

static void expect_status(enum cudaStreamCaptureStatus want)
{
	enum cudaStreamCaptureStatus status;

	CHECK(cudaStreamIsCapturing(stream, &status));
	EXPECT(status, want);
}

static void host_function(void *arg)
{
	(*(int *)arg)++;
}

/* Everything legal at once, with a fork to a second stream and back; then replays. */
static void legal(void)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaEvent_t fork, join;
	size_t nodes = 0;
	int calls = 0;
	void *async;

	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	expect_status(cudaStreamCaptureStatusActive);
	launch(stream);
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	launch(side);
	launch(stream);
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	CHECK(cudaMemcpyAsync(device, pinned, 64, cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemsetAsync(device + 64, 9, 64, stream));
	CHECK(cudaMallocAsync(&async, 64, stream));
	CHECK(cudaFreeAsync(async, stream));
	CHECK(cudaLaunchHostFunc(stream, host_function, &calls));
	CHECK(cudaStreamEndCapture(stream, &graph));
	expect_status(cudaStreamCaptureStatusNone);
	CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
	EXPECT(nodes, 8);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphUpload(exec, stream));
	for (int i = 0; i < 100; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	EXPECT(calls, 100);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

static cudaError_t do_malloc(void)
{
	void *p;

	return cudaMalloc(&p, 16);
}

static cudaError_t do_stream_sync(void)
{
	return cudaStreamSynchronize(stream);
}

static cudaError_t do_stream_query(void)
{
	return cudaStreamQuery(stream);
}

static cudaError_t do_device_sync(void)
{
	return cudaDeviceSynchronize();
}

static cudaError_t do_event_query(void)
{
	static cudaEvent_t event;

	if (!event)
		CHECK(cudaEventCreate(&event));
	return cudaEventQuery(event);
}

static cudaError_t do_copy(void)
{
	return cudaMemcpy(pinned, device, 16, cudaMemcpyDeviceToHost);
}

/* Each of these ends the capture with an error, and the program can capture again. */
static void illegal(cudaError_t (*call)(void), cudaError_t want)
{
	cudaGraph_t graph = NULL;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch(stream);
	EXPECT(call(), want);
	EXPECT(cudaGetLastError(), want);
	expect_status(cudaStreamCaptureStatusInvalidated);
	EXPECT(cudaLaunchKernel(kernel, one, one, NULL, 0, stream),
	       cudaErrorStreamCaptureInvalidated);
	EXPECT(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
	EXPECT(graph == NULL, 1);
	cudaGetLastError();
}

static void *other_thread(void *arg)
{
	return (void *)(intptr_t)((cudaError_t(*)(void))arg)();
}

/* Another thread's allocation breaks a global capture and not a thread-local one. */
static void from_another_thread(enum cudaStreamCaptureMode mode, cudaError_t want)
{
	cudaGraph_t graph;
	pthread_t thread;
	void *got;

	CHECK(cudaStreamBeginCapture(stream, mode));
	launch(stream);
	CHECK(pthread_create(&thread, NULL, other_thread, (void *)do_malloc));
	CHECK(pthread_join(thread, &got));
	EXPECT((intptr_t)got, want);
	EXPECT(cudaStreamEndCapture(stream, &graph),
	       want ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
	cudaGetLastError();
}

static void unjoined(void)
{
	cudaGraph_t graph;
	cudaEvent_t fork;

	CHECK(cudaEventCreate(&fork));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	launch(stream);
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	launch(side);
	EXPECT(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
	cudaGetLastError();
}

/* The legacy default stream may not be used beside a capture of a blocking stream. */
static void implicit(void)
{
	cudaStream_t blocking;
	cudaGraph_t graph;

	CHECK(cudaStreamCreate(&blocking));
	CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
	launch(blocking);
	EXPECT(cudaLaunchKernel(kernel, one, one, NULL, 0, NULL), cudaErrorStreamCaptureImplicit);
	EXPECT(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
	cudaGetLastError();
}

int main(void)
{
	kernel = app_kernel("capture_kernel");
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CHECK(cudaMalloc((void **)&device, 128));
	CHECK(cudaHostAlloc((void **)&pinned, 128, 0));
	do_event_query();
	legal();
	illegal(do_malloc, cudaErrorStreamCaptureUnsupported);
	illegal(do_stream_sync, cudaErrorStreamCaptureUnsupported);
	illegal(do_stream_query, cudaErrorStreamCaptureUnsupported);
	illegal(do_device_sync, cudaErrorStreamCaptureUnsupported);
	illegal(do_event_query, cudaErrorStreamCaptureUnsupported);
	illegal(do_copy, cudaErrorStreamCaptureUnsupported);
	from_another_thread(cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported);
	from_another_thread(cudaStreamCaptureModeThreadLocal, cudaSuccess);
	unjoined();
	implicit();
	legal();
	printf("capture: as expected\n");
	return 0;
}
