/* A hundred short kernels, then one that runs for SECONDS (5): what a kill under it leaves behind.
 * Says `running` once the long kernel is known to run. */
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

__global__ void spin(volatile int *started, unsigned long long duration_ns)
{
	unsigned long long begin, now;

	if (started)
		*started = 1;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	} while (now - begin < duration_ns);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 5.0;
	volatile int *started;

	if (cudaHostAlloc((void **)&started, sizeof(*started), cudaHostAllocMapped) != cudaSuccess)
		return 1;
	*started = 0;
	for (int i = 0; i < 100; i++)
		spin<<<1, 1>>>(NULL, 10000);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	spin<<<1, 1>>>(started, (unsigned long long)(seconds * 1e9));
	while (!*started)
		;
	puts("running");
	fflush(stdout);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	puts("done");
	return 0;
}
