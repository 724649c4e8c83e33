/* contexts: two contexts of its own and the primary one on device 0, `launches` [50] kernels in each by turns, from threads of their
 * own, all through the driver API. */
#include <cuda.h>
#include <pthread.h>
#include <stdint.h>

#include "app.h"

#define CONTEXTS 3
#define TRY(call) EXPECT(call, CUDA_SUCCESS)

static long launches;

static void *work(void *arg)
{
	CUfunction function;
	CUmodule module;
	CUstream stream;

	TRY(cuCtxSetCurrent(arg));
	TRY(cuModuleLoadData(&module, "module"));
	TRY(cuModuleGetFunction(&function, module, "kernel"));
	TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (long i = 0; i < launches; i++)
		TRY(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	TRY(cuCtxSynchronize());
	return NULL;
}

int main(int argc, char **argv)
{
	CUcontext context[CONTEXTS];
	pthread_t thread[CONTEXTS];
	CUdevice device;

	launches = app_option(argc, argv, "launches", 50);
	TRY(cuInit(0));
	TRY(cuDeviceGet(&device, 0));
	TRY(cuDevicePrimaryCtxRetain(&context[0], device));
	for (int i = 1; i < CONTEXTS; i++)
#if CUDA_VERSION >= 13000
		TRY(cuCtxCreate(&context[i], NULL, 0, device));
#else
		TRY(cuCtxCreate(&context[i], 0, device));
#endif
	for (int i = 0; i < CONTEXTS; i++)
		CHECK(pthread_create(&thread[i], NULL, work, context[i]));
	for (int i = 0; i < CONTEXTS; i++)
		CHECK(pthread_join(thread[i], NULL));
	puts("contexts: done");
	return 0;
}
