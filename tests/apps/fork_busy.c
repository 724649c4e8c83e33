/* fork_busy: launches without a break and forks all the while. Options: ms [1000], every [7] ms
 * between forks, child=exit|_exit|cuda [exit]. A child of a process that uses CUDA cannot: its call
 * fails with cudaErrorInitializationError (3).
 */
#include <cuda_runtime_api.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app.h"

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void have_child(const char *what)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		void *p;

		if (!strcmp(what, "cuda"))
			EXPECT(cudaMalloc(&p, 16), cudaErrorInitializationError);
		if (!strcmp(what, "_exit"))
			_exit(0);
		exit(0);
	}
	EXPECT(pid > 0, 1);
	EXPECT(waitpid(pid, &status, 0), pid);
	EXPECT(status, 0);
}

int main(int argc, char **argv)
{
	long end = now_ms() + app_option(argc, argv, "ms", 1000),
	     every = app_option(argc, argv, "every", 7), next = 0;
	const char *what = app_text(argc, argv, "child", "exit");
	dim3 one = {1, 1, 1};

	while (now_ms() < end) {
		CHECK(cudaLaunchKernel(app_kernel("busy_kernel"), one, one, NULL, 0, NULL));
		CHECK(cudaDeviceSynchronize());
		if (now_ms() < next)
			continue;
		have_child(what);
		next = now_ms() + every;
	}
	printf("fork_busy: all children are well\n");
	return 0;
}
