/* What a launch costs the CPU on the simulated CUDA: median over batches, ns. The differences between settings are the shim's. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cuda_runtime_api.h>

#define LAUNCHES 500
#define BATCHES 200

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int dummy; /* its address stands for a kernel */

static double batch_ns(void)
{
	dim3 one = {1, 1, 1};
	void *args[1] = {NULL};
	double begin = now_ns();

	for (int i = 0; i < LAUNCHES; i++)
		cudaLaunchKernel(&dummy, one, one, args, 0, NULL);
	begin = now_ns() - begin;
	cudaDeviceSynchronize();
	return begin / LAUNCHES;
}

int main(void)
{
	static double cost[BATCHES];

	batch_ns();
	for (int i = 0; i < BATCHES; i++)
		cost[i] = batch_ns();
	qsort(cost, BATCHES, sizeof(cost[0]), compare);
	printf("launch %.1f ns\n", cost[BATCHES / 2]);
	return 0;
}
