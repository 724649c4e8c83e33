/* What tests/apps/app.c stands in for on the simulated CUDA, with a real kernel and variable: so the
 * programs of tests/apps run on a GPU. Linked with app.c, whose own two are compiled under other names. */
#include <cuda_runtime.h>

__global__ void app_null_kernel()
{
}

__device__ char app_device_symbol[256];

extern "C" const void *app_kernel(const char *)
{
	return (const void *)app_null_kernel;
}

extern "C" char *app_symbol(void)
{
	return app_device_symbol;
}
