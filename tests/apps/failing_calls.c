/* failing_calls: calls that fail keep their code, the last error and errno; later calls work. */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <string.h>

#include "app.h"

#define ERRNO 12345

/* The call returns want, is the last error once, and touched errno not at all. */
#define FAILS(call, want)                                                                          \
	do {                                                                                       \
		errno = ERRNO;                                                                     \
		EXPECT(call, want);                                                                \
		EXPECT(errno, ERRNO);                                                              \
		EXPECT(cudaPeekAtLastError(), want);                                               \
		EXPECT(cudaGetLastError(), want);                                                  \
		EXPECT(cudaGetLastError(), cudaSuccess);                                           \
	} while (0)

int main(void)
{
	dim3 one = {1, 1, 1}, none = {0, 1, 1}, huge = {2048, 1, 1};
	const void *kernel = app_kernel("failing_kernel");
	cudaStream_t stream, gone;
	cudaEvent_t event;
	char host[16];
	void *p = (void *)0x1234;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreate(&gone));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaStreamDestroy(gone));
	FAILS(cudaLaunchKernel(host, one, one, NULL, 0, stream), cudaErrorInvalidDeviceFunction);
	FAILS(cudaLaunchKernel(kernel, none, one, NULL, 0, stream), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(kernel, one, huge, NULL, 0, stream), cudaErrorInvalidConfiguration);
	FAILS(cudaLaunchKernel(kernel, one, one, NULL, 0, gone), cudaErrorInvalidResourceHandle);
	FAILS(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
	EXPECT(p == (void *)0x1234, 1);
	FAILS(cudaMemcpy(host, host, 16, (enum cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
	FAILS(cudaMemcpy(host, (void *)0x1000, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	FAILS(cudaFree(host), cudaErrorInvalidValue);
	FAILS(cudaSetDevice(99), cudaErrorInvalidDevice);
	FAILS(cudaStreamSynchronize(gone), cudaErrorInvalidResourceHandle);
	FAILS(cudaGraphLaunch(NULL, stream), cudaErrorInvalidResourceHandle);

	/* Not ready is an answer; it is a last error too, which programs clear. */
	CHECK(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
	CHECK(cudaEventRecord(event, stream));
	CHECK(cudaEventSynchronize(event));
	CHECK(cudaEventQuery(event));
	errno = ERRNO;
	for (int i = 0; i < 10; i++)
		CHECK(cudaLaunchKernel(kernel, one, one, NULL, 0, stream));
	EXPECT(errno, ERRNO);
	CHECK(cudaDeviceSynchronize());
	EXPECT(cudaGetLastError(), cudaSuccess);
	printf("failing_calls: as expected\n");
	return 0;
}
