/* crowd: threads [64] that are all alive at once; each launches launches [10] times, waits for what it
 * launched after every sync [0] of them, and stays until all others have launched too. */
#include <cuda_runtime_api.h>
#include <pthread.h>

#include "app.h"

#define STACK_BYTES (128u << 10)
#define THREADS_MOST 20000

static long threads, launches, sync_every;
static pthread_barrier_t all;

static void *run(void *arg)
{
	dim3 one = {1, 1, 1};

	pthread_barrier_wait(&all);
	for (long i = 0; i < launches; i++) {
		CHECK(cudaLaunchKernel(app_kernel("crowd_kernel"), one, one, NULL, 0, NULL));
		if (sync_every && (i + 1) % sync_every == 0)
			CHECK(cudaDeviceSynchronize());
	}
	pthread_barrier_wait(&all);
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t thread[THREADS_MOST];
	pthread_attr_t small;

	threads = app_option(argc, argv, "threads", 64);
	launches = app_option(argc, argv, "launches", 10);
	sync_every = app_option(argc, argv, "sync", 0);
	if (threads < 1 || threads > THREADS_MOST)
		return 2;
	CHECK(cudaFree(NULL));
	CHECK(pthread_barrier_init(&all, NULL, (unsigned int)threads));
	CHECK(pthread_attr_init(&small));
	CHECK(pthread_attr_setstacksize(&small, STACK_BYTES));
	for (long t = 0; t < threads; t++)
		CHECK(pthread_create(&thread[t], &small, run, NULL));
	for (long t = 0; t < threads; t++)
		CHECK(pthread_join(thread[t], NULL));
	CHECK(cudaDeviceSynchronize());
	printf("crowd: %ld launches by each of %ld threads\n", launches, threads);
	return 0;
}
