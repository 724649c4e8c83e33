/* A small CUDA program whose every round has a phase for each thing that can bind a GPU.
 *
 * Claim: a round is, in this order: tiny kernels with host work between them (host overhead), a
 * triad over 768 MiB (DRAM), independent FMA chains (compute), copies each waited for (transfer and
 * sync), and a graph of tiny kernels replayed (underfilled, little host time).
 * Expected verdict: mixed; each phase by itself as named above.
 *
 *     nvcc -O2 --cudart shared -o demo demo.cu && ./demo [ROUNDS]
 *
 * A round takes about 10 ms on an H200, 300 are run. The result printed depends on ROUNDS alone. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

static void check(cudaError_t error, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "demo.cu:%d: %s\n", line, cudaGetErrorString(error));
	exit(1);
}
#define CHECK(call) check(call, __LINE__)

constexpr int BLOCK = 256;
constexpr int SMALL = 1 << 14;      /* floats of a tiny kernel: 64 blocks, shorter than a launch */
constexpr size_t LARGE = 64u << 20; /* floats of each of the triad's three arrays */
constexpr int FMA_BLOCKS = 4096, FMA_STEPS = 1024, FMA_CHAINS = 8;
constexpr size_t COPY_FLOATS = 1u << 20;

struct buffers {
	float *small, *a, *b, *c, *chains, *staging, *pinned;
};

/* v -> (v + i) / 2 stays bounded and is exact enough to print. */
__global__ void average(float *v, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		v[i] = 0.5f * (v[i] + (float)(i % 64));
}

__global__ void fill(float *v, size_t n, float value)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
		v[i] = value;
}

/* STREAM's triad: 2 flops for 12 bytes, far below any GPU's ridge. */
__global__ void triad(float *a, const float *b, const float *c, float scale, size_t n)
{
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		a[i] = b[i] + scale * c[i];
}

/* Independent chains hide the pipe's latency, and nothing but one store touches memory. */
__global__ void fma_chains(float *out, float x, float y)
{
	float chain[FMA_CHAINS];
	float sum = 0;

	for (int j = 0; j < FMA_CHAINS; j++)
		chain[j] = (float)(threadIdx.x + j);
	for (int step = 0; step < FMA_STEPS; step++) {
#pragma unroll
		for (int j = 0; j < FMA_CHAINS; j++)
			chain[j] = fmaf(chain[j], x, y);
	}
	for (int j = 0; j < FMA_CHAINS; j++)
		sum += chain[j];
	out[(size_t)blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Stands for the Python between two kernels: some 20 us of dependent integer work. */
static uint64_t host_work(uint64_t state)
{
	for (int i = 0; i < 12000; i++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	return state;
}

static uint64_t tiny_kernels(const struct buffers *m, uint64_t state)
{
	for (int i = 0; i < 100; i++) {
		average<<<SMALL / BLOCK, BLOCK>>>(m->small, SMALL);
		state = host_work(state);
	}
	CHECK(cudaDeviceSynchronize());
	return state;
}

static void bandwidth(const struct buffers *m)
{
	for (int i = 0; i < 8; i++)
		triad<<<LARGE / BLOCK, BLOCK>>>(m->a, m->b, m->c, 0.25f, LARGE);
	CHECK(cudaDeviceSynchronize());
}

static void arithmetic(const struct buffers *m)
{
	for (int i = 0; i < 10; i++)
		fma_chains<<<FMA_BLOCKS, BLOCK>>>(m->chains, 0.5f, 1.0f);
	CHECK(cudaDeviceSynchronize());
}

static void copies(const struct buffers *m, cudaStream_t stream)
{
	size_t bytes = COPY_FLOATS * sizeof(float);

	for (int i = 0; i < 5; i++) {
		CHECK(cudaMemcpyAsync(m->staging, m->pinned, bytes, cudaMemcpyHostToDevice,
				      stream));
		average<<<COPY_FLOATS / BLOCK, BLOCK, 0, stream>>>(m->staging, COPY_FLOATS);
		CHECK(cudaMemcpyAsync(m->pinned, m->staging, bytes, cudaMemcpyDeviceToHost,
				      stream));
		CHECK(cudaStreamSynchronize(stream));
	}
}

static cudaGraphExec_t capture(const struct buffers *m, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 20; i++)
		average<<<SMALL / BLOCK, BLOCK, 0, stream>>>(m->small, SMALL);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static void replays(cudaGraphExec_t exec, cudaStream_t stream)
{
	for (int i = 0; i < 4; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

static void allocate(struct buffers *m)
{
	CHECK(cudaMalloc(&m->small, SMALL * sizeof(float)));
	CHECK(cudaMalloc(&m->a, LARGE * sizeof(float)));
	CHECK(cudaMalloc(&m->b, LARGE * sizeof(float)));
	CHECK(cudaMalloc(&m->c, LARGE * sizeof(float)));
	CHECK(cudaMalloc(&m->chains, (size_t)FMA_BLOCKS * BLOCK * sizeof(float)));
	CHECK(cudaMalloc(&m->staging, COPY_FLOATS * sizeof(float)));
	CHECK(cudaMallocHost(&m->pinned, COPY_FLOATS * sizeof(float)));
	CHECK(cudaMemset(m->small, 0, SMALL * sizeof(float)));
	fill<<<1024, BLOCK>>>(m->b, LARGE, 1.0f);
	fill<<<1024, BLOCK>>>(m->c, LARGE, 2.0f);
	for (size_t i = 0; i < COPY_FLOATS; i++)
		m->pinned[i] = 0;
	CHECK(cudaGetLastError());
}

static void release(const struct buffers *m)
{
	float *device[] = {m->small, m->a, m->b, m->c, m->chains, m->staging};

	for (float *p : device)
		CHECK(cudaFree(p));
	CHECK(cudaFreeHost(m->pinned));
}

static float last_of(const float *device, size_t n)
{
	float value;

	CHECK(cudaMemcpy(&value, device + n - 1, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	struct buffers m;
	cudaStream_t stream;
	cudaGraphExec_t exec;
	uint64_t state = 1;

	if (rounds < 1) {
		fprintf(stderr, "usage: demo [ROUNDS]\n");
		return 2;
	}
	CHECK(cudaStreamCreate(&stream));
	allocate(&m);
	exec = capture(&m, stream);
	for (int round = 0; round < rounds; round++) {
		state = tiny_kernels(&m, state);
		bandwidth(&m);
		arithmetic(&m);
		copies(&m, stream);
		replays(exec, stream);
	}
	printf("demo: %d rounds, host %016llx, tiny %.3f, triad %.3f, fma %.3f, copied %.3f\n",
	       rounds, (unsigned long long)state, last_of(m.small, SMALL), last_of(m.a, LARGE),
	       last_of(m.chains, (size_t)FMA_BLOCKS * BLOCK), m.pinned[COPY_FLOATS - 1]);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaStreamDestroy(stream));
	release(&m);
	return 0;
}
