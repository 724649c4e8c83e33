/* launch_loop: the general traced workload. Options as name=value, defaults in brackets:
 *
 *   steps [100]      times round the loop
 *   kernels [1]      launches in a step; their names are kernel_0, kernel_1 ...
 *   name [kernel]    the part of their names before the number
 *   grid [132] block [256] shared [0]
 *   work [0]         CPU work before each launch, us
 *   sync [0]         synchronise the stream after every so many steps; 0 only at the end
 *   streams [1]      launches go round these streams
 *   threads [1]      each runs the whole loop on streams of its own
 *   devices [1]      threads go round these devices
 *   h2d [0] d2h [0]  bytes copied each way in a step
 *   set [0]          bytes set in a step
 *   pinned [1]       host side of the copies: 1 pinned, 0 pageable
 *   alloc [0]        malloc and free each step, bytes; async=1 uses the stream-ordered pair
 *   graph [0]        1: a step's kernels are captured once and replayed each step
 *   host [0]         1: a host function each step
 *   events [0]       1: each stream waits for the one before it, through events
 *   wait [0]         sleep after each step, us
 *   ptsz [0]         1: cudaLaunchKernel_ptsz
 *   quiet [0]        1: no output
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "app.h"

#define STREAMS 16

cudaError_t cudaLaunchKernel_ptsz(const void *, dim3, dim3, void **, size_t, cudaStream_t);

struct options {
	long steps, kernels, grid, block, shared, work_us, sync, streams, threads, h2d, d2h, set,
		pinned;
	long alloc, async, graph, host, events, wait_us, ptsz, devices;
};

static struct options o;
static const char *kernel_name;
static _Atomic long host_calls;

static void host_function(void *arg)
{
	(void)arg;
	atomic_fetch_add(&host_calls, 1);
}

static void launch(long k, cudaStream_t stream)
{
	dim3 grid = {(unsigned int)o.grid, 1, 1}, block = {(unsigned int)o.block, 1, 1};
	char name[96];

	snprintf(name, sizeof(name), "%s_%ld", kernel_name, k);
	if (o.work_us)
		app_work((uint64_t)o.work_us * 1000);
	if (o.ptsz)
		CHECK(cudaLaunchKernel_ptsz(app_kernel(name), grid, block, NULL, (size_t)o.shared,
					    stream));
	else
		CHECK(cudaLaunchKernel(app_kernel(name), grid, block, NULL, (size_t)o.shared,
				       stream));
}

static char *host_memory(size_t bytes)
{
	char *p = NULL;

	if (o.pinned)
		CHECK(cudaHostAlloc((void **)&p, bytes, 0));
	else
		p = malloc(bytes);
	memset(p, 0x11, bytes);
	return p;
}

static void copies(char *device, char *up, char *down, cudaStream_t stream)
{
	if (o.h2d)
		CHECK(cudaMemcpyAsync(device, up, (size_t)o.h2d, cudaMemcpyHostToDevice, stream));
	if (o.d2h)
		CHECK(cudaMemcpyAsync(down, device, (size_t)o.d2h, cudaMemcpyDeviceToHost, stream));
	if (o.set)
		CHECK(cudaMemsetAsync(device, 0x22, (size_t)o.set, stream));
}

static void allocations(cudaStream_t stream)
{
	void *p;

	if (o.async) {
		CHECK(cudaMallocAsync(&p, (size_t)o.alloc, stream));
		CHECK(cudaFreeAsync(p, stream));
	} else {
		CHECK(cudaMalloc(&p, (size_t)o.alloc));
		CHECK(cudaFree(p));
	}
}

static cudaGraphExec_t capture(cudaStream_t stream)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (long k = 0; k < o.kernels; k++)
		launch(k, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static void chain(cudaStream_t *streams, cudaEvent_t event)
{
	for (long s = 1; s < o.streams; s++) {
		CHECK(cudaEventRecord(event, streams[s - 1]));
		CHECK(cudaStreamWaitEvent(streams[s], event, 0));
	}
}

static void *run(void *arg)
{
	size_t bytes = (size_t)(o.h2d > o.d2h ? o.h2d : o.d2h);
	cudaStream_t streams[STREAMS];
	cudaGraphExec_t exec = NULL;
	char *device, *up = NULL, *down = NULL;
	cudaEvent_t event;

	if (bytes < (size_t)o.set)
		bytes = (size_t)o.set;
	CHECK(cudaSetDevice((int)((intptr_t)arg % o.devices)));
	for (long s = 0; s < o.streams; s++)
		CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaMalloc((void **)&device, bytes + 1));
	if (bytes) {
		up = host_memory(bytes);
		down = host_memory(bytes);
	}
	if (o.graph)
		exec = capture(streams[0]);
	if (o.threads > 1)
		app_barrier(0, (unsigned int)o.threads);
	for (long step = 0; step < o.steps; step++) {
		cudaStream_t stream = streams[step % o.streams];

		copies(device, up, down, stream);
		if (o.alloc)
			allocations(stream);
		if (exec)
			CHECK(cudaGraphLaunch(exec, stream));
		for (long k = 0; !exec && k < o.kernels; k++)
			launch(k, streams[(step + k) % o.streams]);
		if (o.host)
			CHECK(cudaLaunchHostFunc(stream, host_function, NULL));
		if (o.events)
			chain(streams, event);
		if (o.sync && (step + 1) % o.sync == 0)
			CHECK(cudaStreamSynchronize(stream));
		if (o.wait_us)
			app_wait((uint64_t)o.wait_us * 1000);
	}
	CHECK(cudaDeviceSynchronize());
	/* With both copies on, what went up came down. */
	if (o.h2d && o.d2h && o.d2h <= o.h2d && !o.set)
		EXPECT(memcmp(up, down, (size_t)o.d2h), 0);
	if (exec)
		CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaFree(device));
	CHECK(cudaEventDestroy(event));
	for (long s = 0; s < o.streams; s++)
		CHECK(cudaStreamDestroy(streams[s]));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[256];

#define OPTION(field, name, fallback) o.field = app_option(argc, argv, name, fallback)
	kernel_name = app_text(argc, argv, "name", "kernel");
	OPTION(steps, "steps", 100);
	OPTION(kernels, "kernels", 1);
	OPTION(grid, "grid", 132);
	OPTION(block, "block", 256);
	OPTION(shared, "shared", 0);
	OPTION(work_us, "work", 0);
	OPTION(sync, "sync", 0);
	OPTION(streams, "streams", 1);
	OPTION(threads, "threads", 1);
	OPTION(h2d, "h2d", 0);
	OPTION(d2h, "d2h", 0);
	OPTION(set, "set", 0);
	OPTION(pinned, "pinned", 1);
	OPTION(alloc, "alloc", 0);
	OPTION(async, "async", 0);
	OPTION(graph, "graph", 0);
	OPTION(host, "host", 0);
	OPTION(events, "events", 0);
	OPTION(wait_us, "wait", 0);
	OPTION(ptsz, "ptsz", 0);
	OPTION(devices, "devices", 1);
#undef OPTION
	if (o.streams > STREAMS || o.threads > 256 || o.streams < 1 || o.devices < 1)
		return 2;
	if (o.threads == 1) {
		run(NULL);
	} else {
		for (long t = 0; t < o.threads; t++)
			CHECK(pthread_create(&threads[t], NULL, run, (void *)(intptr_t)t));
		for (long t = 0; t < o.threads; t++)
			CHECK(pthread_join(threads[t], NULL));
	}
	if (o.host)
		EXPECT(host_calls, o.steps * o.threads);
	if (!app_option(argc, argv, "quiet", 0))
		printf("launch_loop: %ld steps of %ld kernels on %ld threads\n", o.steps, o.kernels,
		       o.threads);
	return 0;
}
