/* threads_at_exit: threads [32] are still launching when main returns. After the driver has gone
 * their calls fail with cudaErrorCudartUnloading (4); nothing else may go wrong. With first=1 CUDA
 * is used before they start. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "app.h"

static _Atomic long launched;

static void *run(void *arg)
{
	dim3 one = {1, 1, 1};

	for (;;) {
		cudaError_t err =
			cudaLaunchKernel(app_kernel("exit_kernel"), one, one, NULL, 0, NULL);

		if (err == cudaErrorCudartUnloading)
			pause();
		if (err) {
			fprintf(stderr, "threads_at_exit: launch returned %d\n", err);
			_exit(1);
		}
		atomic_fetch_add(&launched, 1);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long threads = app_option(argc, argv, "threads", 32);
	long launches = app_option(argc, argv, "launches", 2000);
	pthread_t thread;

	if (app_option(argc, argv, "first", 0))
		CHECK(cudaFree(NULL));
	for (long i = 0; i < threads; i++)
		CHECK(pthread_create(&thread, NULL, run, NULL));
	while (atomic_load(&launched) < launches)
		usleep(100);
	printf("threads_at_exit: main returns\n");
	return 0;
}
