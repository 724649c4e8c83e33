/* CUDA graphs. `replay`: captured, with two branches, a copy and a set, replayed, updated, uploaded. `late`: captured and replayed
 * before a pause of SECONDS, in which tracing begins, and replayed after it: only that is counted. `conditional`: an IF node whose
 * body runs every other time and a WHILE node whose body runs five times. `device`: kernels that launch kernels. */
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>

#include "door.h"

constexpr int N = 1 << 12, BLOCK = 256;

extern "C" __global__ void left(int *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

extern "C" __global__ void right(int *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += 2;
}

extern "C" __global__ void join(const int *a, const int *b, int *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	sum[i] += a[i] + b[i];
}

struct arrays {
	int *a, *b, *sum, *scratch;
};

static struct arrays arrays_create(void)
{
	struct arrays v;

	for (int **p : {&v.a, &v.b, &v.sum, &v.scratch}) {
		CHECK(cudaMalloc(p, N * sizeof(int)));
		CHECK(cudaMemset(*p, 0, N * sizeof(int)));
	}
	CHECK(cudaDeviceSynchronize());
	return v;
}

static cudaGraph_t capture(const struct arrays *v, cudaStream_t stream)
{
	cudaStream_t other;
	cudaEvent_t fork, back;
	cudaGraph_t graph;

	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	CHECK(cudaMemsetAsync(v->scratch, 0, N * sizeof(int), stream));
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(other, fork, 0));
	left<<<N / BLOCK, BLOCK, 0, stream>>>(v->a);
	left<<<N / BLOCK, BLOCK, 0, stream>>>(v->a);
	right<<<N / BLOCK, BLOCK, 0, other>>>(v->b);
	CHECK(cudaEventRecord(back, other));
	CHECK(cudaStreamWaitEvent(stream, back, 0));
	join<<<N / BLOCK, BLOCK, 0, stream>>>(v->a, v->b, v->sum);
	CHECK(cudaMemcpyAsync(v->scratch, v->sum, N * sizeof(int), cudaMemcpyDeviceToDevice,
			      stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

static void replay(cudaGraphExec_t exec, cudaStream_t stream, int count, bool counted)
{
	for (int i = 0; i < count; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	if (!counted)
		return;
	launched("left", 2 * count);
	launched("right", count);
	launched("join", count);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void graphs(double pause)
{
	double began = now();
	struct arrays v = arrays_create();
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	cudaGraph_t graph;
	std::vector<int> out(N);

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	graph = capture(&v, stream);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	if (pause > 0) {
		replay(exec, stream, 20, false);
		fprintf(stderr, "before the pause: %.1f s\n", now() - began);
		usleep((useconds_t)(pause * 1e6));
		replay(exec, stream, 50, true);
	} else {
		CHECK(cudaGraphUpload(exec, stream));
		replay(exec, stream, 50, true);
		CHECK(cudaGraphExecUpdate(exec, capture(&v, stream), &info));
		replay(exec, stream, 25, true);
		/* outside of the graph too */
		left<<<N / BLOCK, BLOCK, 0, stream>>>(v.a);
		launched("left", 1);
		CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaMemcpy(out.data(), v.scratch, N * sizeof(int), cudaMemcpyDeviceToHost));
	print_checksum("array", out.data(), N * sizeof(int));
}

/* --- what a node or a kernel decides on the device ------------------------------------------------------------------------- */

struct counts {
	int round, loop;
};

extern "C" __global__ void decide(struct counts *c, cudaGraphConditionalHandle even,
				  cudaGraphConditionalHandle again)
{
	cudaGraphSetConditional(even, c->round++ % 2 == 0);
	cudaGraphSetConditional(again, 1);
	c->loop = 0;
}

extern "C" __global__ void if_body(int *v)
{
	v[threadIdx.x] += 1;
}

extern "C" __global__ void while_body(int *v, struct counts *c, cudaGraphConditionalHandle again)
{
	v[blockDim.x + threadIdx.x] += 1;
	if (threadIdx.x == 0)
		cudaGraphSetConditional(again, ++c->loop < 5);
}

extern "C" __global__ void child(int *v)
{
	atomicAdd(&v[threadIdx.x], 1);
}

extern "C" __global__ void parent(int *v)
{
	for (int i = 0; i < 3; i++)
		child<<<1, 32>>>(v);
}

static cudaGraphNode_t kernel_node(cudaGraph_t graph, const cudaGraphNode_t *after, void *function,
				   int threads, void **args)
{
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;

	params.func = function;
	params.gridDim = dim3(1);
	params.blockDim = dim3(threads);
	params.kernelParams = args;
	CHECK(cudaGraphAddKernelNode(&node, graph, after, after ? 1 : 0, &params));
	return node;
}

static cudaGraph_t conditional_node(cudaGraph_t graph, cudaGraphNode_t *node,
				    cudaGraphConditionalHandle handle,
				    enum cudaGraphConditionalNodeType type)
{
	cudaGraphNodeParams params = {};
	cudaGraphNode_t after = *node;

	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = 1;
	CHECK(cudaGraphAddNode(node, graph, &after, NULL, 1, &params));
	return params.conditional.phGraph_out[0];
}

static void conditional(void)
{
	constexpr int ROUNDS = 40;
	struct counts *c;
	int *v, out[128];
	cudaGraphConditionalHandle even, again;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaGraphNode_t node;

	CHECK(cudaMalloc(&c, sizeof(*c)));
	CHECK(cudaMemset(c, 0, sizeof(*c)));
	CHECK(cudaMalloc(&v, sizeof(out)));
	CHECK(cudaMemset(v, 0, sizeof(out)));
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&even, graph, 0, 0));
	CHECK(cudaGraphConditionalHandleCreate(&again, graph, 0, 0));
	void *deciding[] = {&c, &even, &again}, *adding[] = {&v}, *looping[] = {&v, &c, &again};

	node = kernel_node(graph, NULL, (void *)decide, 1, deciding);
	kernel_node(conditional_node(graph, &node, even, cudaGraphCondTypeIf), NULL,
		    (void *)if_body, 64, adding);
	kernel_node(conditional_node(graph, &node, again, cudaGraphCondTypeWhile), NULL,
		    (void *)while_body, 64, looping);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < ROUNDS; i++)
		CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(out, v, sizeof(out), cudaMemcpyDeviceToHost));
	printf("bodies ran %d and %d times\n", out[0], out[64]);
	launched("decide", ROUNDS);
	launched("if_body", ROUNDS / 2);
	launched("while_body", 5 * ROUNDS);
}

static void from_the_device(void)
{
	constexpr int ROUNDS = 40;
	int *v, out[32];

	CHECK(cudaMalloc(&v, sizeof(out)));
	CHECK(cudaMemset(v, 0, sizeof(out)));
	for (int i = 0; i < ROUNDS; i++)
		parent<<<1, 1>>>(v);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(out, v, sizeof(out), cudaMemcpyDeviceToHost));
	printf("children ran %d times\n", out[0]);
	launched("parent", ROUNDS);
	launched("child", 3 * ROUNDS);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "replay";

	if (strcmp(what, "conditional") == 0)
		conditional();
	else if (strcmp(what, "device") == 0)
		from_the_device();
	else
		graphs(strcmp(what, "late") == 0 ? atof(argv[2]) : 0);
	print_launches();
	return 0;
}
