/* Graphs that a tracer does not see being made, or whose kernels no host call launches.
 *
 *     graphs before SECONDS   one graph of three kernels, made at once and replayed for so long
 *     graphs while            a while node whose body runs ten times, launched 20 times
 *     graphs device           a kernel launches a graph of two kernels from the device, 20 times
 *
 * Prints what the kernels counted, which does not depend on time but for `before`. Built with -rdc=true -lcudadevrt. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <cuda_runtime.h>

constexpr int LAUNCHES = 20, BODY_RUNS = 10;

static void check(cudaError_t error, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "graphs.cu:%d: %s\n", line, cudaGetErrorString(error));
	exit(1);
}
#define CHECK(call) check(call, __LINE__)

__global__ void count(int *n)
{
	atomicAdd(n, 1);
}

__global__ void begin_while(cudaGraphConditionalHandle handle, int *left)
{
	*left = BODY_RUNS;
	cudaGraphSetConditional(handle, 1);
}

__global__ void body_of_while(cudaGraphConditionalHandle handle, int *n, int *left)
{
	*n += 1;
	*left -= 1;
	cudaGraphSetConditional(handle, *left > 0);
}

__global__ void launch_from_device(cudaGraphExec_t exec)
{
	cudaGraphLaunch(exec, cudaStreamGraphFireAndForget);
}

static int *counter()
{
	int *n;

	CHECK(cudaMalloc(&n, 2 * sizeof(int)));
	CHECK(cudaMemset(n, 0, 2 * sizeof(int)));
	return n;
}

static int value(const int *n)
{
	int result;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&result, n, sizeof(result), cudaMemcpyDeviceToHost));
	return result;
}

static cudaGraph_t captured(cudaStream_t stream, int *n, int kernels)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < kernels; i++)
		count<<<1, 32, 0, stream>>>(n);
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static void before(cudaStream_t stream, double seconds)
{
	int *n = counter(), replays = 0;
	cudaGraphExec_t exec;
	timespec begin, now, pause = {0, 200000};

	CHECK(cudaGraphInstantiate(&exec, captured(stream, n, 3), 0));
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		replays++;
		nanosleep(&pause, nullptr);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((double)(now.tv_sec - begin.tv_sec) +
			 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
		 seconds);
	printf("each replay counted %d\n", value(n) / replays);
	fprintf(stderr, "%d replays\n", replays);
}

static void while_node(cudaStream_t stream)
{
	int *n = counter(), *left = n + 1;
	cudaGraphConditionalHandle handle;
	cudaGraphNode_t first, loop, inside;
	cudaGraphNodeParams params = {};
	cudaKernelNodeParams kernel = {};
	void *begin_args[] = {&handle, &left}, *body_args[] = {&handle, &n, &left};
	cudaGraph_t graph, body;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
	kernel.gridDim = kernel.blockDim = dim3(1);
	kernel.func = (void *)begin_while;
	kernel.kernelParams = begin_args;
	CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = cudaGraphCondTypeWhile;
	params.conditional.size = 1;
	CHECK(cudaGraphAddNode(&loop, graph, &first, nullptr, 1, &params));
	body = params.conditional.phGraph_out[0];
	kernel.func = (void *)body_of_while;
	kernel.kernelParams = body_args;
	CHECK(cudaGraphAddKernelNode(&inside, body, nullptr, 0, &kernel));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	printf("the body ran %d times\n", value(n));
}

static void device_graph(cudaStream_t stream)
{
	int *n = counter();
	cudaGraphExec_t exec, launcher;
	cudaGraph_t graph;

	CHECK(cudaGraphInstantiate(&exec, captured(stream, n, 2),
				   cudaGraphInstantiateFlagDeviceLaunch));
	CHECK(cudaGraphUpload(exec, stream));
	/* only a graph may launch graphs */
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	launch_from_device<<<1, 1, 0, stream>>>(exec);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&launcher, graph, 0));
	for (int i = 0; i < LAUNCHES; i++) {
		CHECK(cudaGraphLaunch(launcher, stream));
		CHECK(cudaStreamSynchronize(stream));
	}
	printf("counted %d\n", value(n));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	if (!strcmp(what, "before") && argc > 2)
		before(stream, atof(argv[2]));
	else if (!strcmp(what, "while"))
		while_node(stream);
	else if (!strcmp(what, "device"))
		device_graph(stream);
	else
		return 2;
	return 0;
}
