/* Prints what enqueueing a null kernel costs the CPU: the median over BATCHES (100) batches of 500
 * launches each, waited for in between, in nanoseconds per launch. */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int LAUNCHES = 500; /* below the depth of 1,024 at which a launch waits for the GPU */

__global__ void nothing()
{
}

static double batch_ns()
{
	auto begin = std::chrono::steady_clock::now();

	for (int i = 0; i < LAUNCHES; i++)
		nothing<<<1, 1>>>();

	std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;

	if (cudaDeviceSynchronize() != cudaSuccess)
		exit(1);
	return spent.count() / LAUNCHES;
}

int main(int argc, char **argv)
{
	int batches = argc > 1 ? atoi(argv[1]) : 100;
	std::vector<double> costs;

	for (int i = 0; i < 5; i++)
		batch_ns();
	for (int i = 0; i < batches; i++)
		costs.push_back(batch_ns());
	std::nth_element(costs.begin(), costs.begin() + batches / 2, costs.end());
	printf("%.1f\n", costs[batches / 2]);
	return 0;
}
