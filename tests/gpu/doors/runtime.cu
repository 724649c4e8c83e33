/* Launches through the runtime: <<<>>>, cudaLaunchKernel, cudaLaunchKernelExC and functions by entry point, on the default stream,
 * streams of its own and from four threads. Built with the shared and with the static runtime, for per-thread default streams, and
 * as a plug-in that loader.c loads. */
#include <thread>
#include <vector>

#include "door.h"

constexpr int N = 1 << 14, BLOCK = 256, THREADS = 4;

extern "C" __global__ void add_one(int *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

extern "C" __global__ void twice(int *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

static void with_api(int *v, cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	void *args[] = {&v};

	config.gridDim = dim3(N / BLOCK);
	config.blockDim = dim3(BLOCK);
	config.stream = stream;
	CHECK(cudaLaunchKernel((const void *)twice, config.gridDim, config.blockDim, args, 0,
			       stream));
	CHECK(cudaLaunchKernelExC(&config, (const void *)add_one, args));
	launched("twice", 1);
	launched("add_one", 1);
}

static void one_thread(int *v)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < 100; i++)
		add_one<<<N / BLOCK, BLOCK, 0, stream>>>(v);
	launched("add_one", 100);
	with_api(v, stream);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamDestroy(stream));
}

extern "C" int run_door(void)
{
	std::vector<int> out(N);
	std::vector<std::thread> threads;
	int *v[THREADS + 1];

	for (int *&p : v) {
		CHECK(cudaMalloc(&p, N * sizeof(int)));
		CHECK(cudaMemset(p, 0, N * sizeof(int)));
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(one_thread, v[i]);
	for (int i = 0; i < 300; i++)
		add_one<<<N / BLOCK, BLOCK>>>(v[THREADS]);
	launched("add_one", 300);
	with_api(v[THREADS], 0);
	for (std::thread &thread : threads)
		thread.join();
	CHECK(cudaGetLastError());
	for (int *p : v) {
		CHECK(cudaMemcpy(out.data(), p, N * sizeof(int), cudaMemcpyDeviceToHost));
		print_checksum("array", out.data(), N * sizeof(int));
	}
	print_launches();
	return 0;
}

#ifndef PLUGIN
int main(void)
{
	return run_door();
}
#endif
