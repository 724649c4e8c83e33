/*
 * churn: what a long-lived server does to a tracer: threads that come and go, children, libraries loaded and unloaded, the
 * device reset. Options: seconds [10], threads [8] at a time, launches [20] of each thread, pause [2000] us after each
 * launch, reset [0]: reset the device every so many ms when no thread runs.
 *
 * Prints once a second "churn: KB of resident memory, open files, launches", and at the end the launches it made.
 */
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

#define THREADS_MOST 64

static long launches_each, pause_us;
static _Atomic long launches;

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *live(void *unused)
{
	dim3 one = {1, 1, 1};
	cudaStream_t stream;

	(void)unused;
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (long i = 0; i < launches_each; i++) {
		CHECK(cudaLaunchKernel(app_kernel("churn_kernel"), one, one, NULL, 0, stream));
		atomic_fetch_add(&launches, 1);
		CHECK(cudaStreamSynchronize(stream));
		usleep((useconds_t)pause_us);
	}
	CHECK(cudaStreamDestroy(stream));
	return NULL;
}

static void have_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	EXPECT(waitpid(pid, &status, 0), pid);
	EXPECT(status, 0);
}

/* Any library: what counts is that the list of loaded ones changes under us. */
static void load_and_unload(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL),
	     *other = dlopen("libz.so.1", RTLD_NOW);

	if (library)
		dlclose(library);
	if (other)
		dlclose(other);
}

static long resident_kb(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	long count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	long start = now_ms(), end = start + 1000 * app_option(argc, argv, "seconds", 10),
	     told = start;
	long threads = app_option(argc, argv, "threads", 8),
	     reset = app_option(argc, argv, "reset", 0);
	long last_reset = start;
	pthread_t thread[THREADS_MOST];

	launches_each = app_option(argc, argv, "launches", 20);
	pause_us = app_option(argc, argv, "pause", 2000);
	EXPECT(threads > 0 && threads <= THREADS_MOST, 1);
	while (now_ms() < end) {
		for (long i = 0; i < threads; i++)
			EXPECT(pthread_create(&thread[i], NULL, live, NULL), 0);
		have_child();
		load_and_unload();
		for (long i = 0; i < threads; i++)
			EXPECT(pthread_join(thread[i], NULL), 0);
		if (reset && now_ms() - last_reset >= reset) {
			CHECK(cudaDeviceReset());
			last_reset = now_ms();
		}
		if (now_ms() - told < 1000)
			continue;
		told = now_ms();
		printf("churn: %ld %ld %ld\n", resident_kb(), open_files(), atomic_load(&launches));
		fflush(stdout);
	}
	printf("churn: %ld launches\n", atomic_load(&launches));
	return 0;
}
