/* A library as Python loads them: it alone is linked with libcudart. 0, or the first error. */
#include <cuda_runtime.h>

__global__ void plugin_kernel()
{
}

extern "C" int plugin_run(long launches)
{
	for (long i = 0; i < launches; i++)
		plugin_kernel<<<1, 32>>>();
	return cudaDeviceSynchronize();
}
