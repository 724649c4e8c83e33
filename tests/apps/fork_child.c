/* fork_child: forks after CUDA was used. Options: when=before|after [after] (of the parent's first
 * call), child=exit|_exit|cuda|launch [exit].
 *
 * A child of a process that had initialised CUDA cannot use it: its calls fail with
 * cudaErrorInitializationError (3). One forked before may launch for itself (child=launch).
 */
#include <cuda_runtime_api.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app.h"

static void launch(long count)
{
	dim3 one = {1, 1, 1};

	for (long i = 0; i < count; i++)
		CHECK(cudaLaunchKernel(app_kernel("fork_kernel"), one, one, NULL, 0, NULL));
	CHECK(cudaDeviceSynchronize());
}

static int child(const char *what)
{
	if (!strcmp(what, "cuda")) {
		void *p = NULL;

		EXPECT(cudaMalloc(&p, 16), cudaErrorInitializationError);
		return 0;
	}
	if (!strcmp(what, "launch"))
		launch(5);
	if (!strcmp(what, "_exit"))
		_exit(5);
	return 0;
}

int main(int argc, char **argv)
{
	bool before = !strcmp(app_text(argc, argv, "when", "after"), "before");
	const char *what = app_text(argc, argv, "child", "exit");
	int status;
	pid_t pid;

	if (!before)
		launch(10);
	fflush(stdout);
	pid = fork();
	if (!pid)
		return child(what);
	EXPECT(pid > 0, 1);
	EXPECT(waitpid(pid, &status, 0), pid);
	EXPECT(WIFEXITED(status), 1);
	EXPECT(WEXITSTATUS(status), strcmp(what, "_exit") ? 0 : 5);
	launch(10);
	printf("fork_child: parent and child are well\n");
	return 0;
}
