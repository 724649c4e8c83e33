/* caller12.so, caller13.so: each bound to its own libcudart; see two_cudarts. */
#include <cuda_runtime_api.h>

#define NAME_(x) "kernel_of_cudart_" #x
#define NAME(x) NAME_(x)

int caller_run(long launches, int *version);

/* The kernel is registered with this library's libcudart only: the other one does not know it. */
int caller_run(long launches, int *version)
{
	static char kernel_stub[16];
	dim3 one = {1, 1, 1};
	cudaError_t err;
	void **binary;
	extern void **__cudaRegisterFatBinary(void *);
	extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *,
					   void *, void *, void *, int *);

	binary = __cudaRegisterFatBinary(NULL);
	__cudaRegisterFunction(binary, kernel_stub, (char *)NAME(CALLER), NAME(CALLER), -1, NULL,
			       NULL, NULL, NULL, NULL);
	err = cudaRuntimeGetVersion(version);
	for (long i = 0; !err && i < launches; i++)
		err = cudaLaunchKernel(kernel_stub, one, one, NULL, 0, NULL);
	return err ? err : cudaDeviceSynchronize();
}
