/* raw_children: children that no fork handler hears of: vfork that execs, vfork that ends, posix_spawn,
 * a bare clone that ends by exit (exit handlers run in it) and one that ends by _exit, and one by a
 * signal. cuda=1 [0]: the parent launches 10 kernels before and 10 after. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app.h"

extern char **environ;

static void launch(void)
{
	dim3 one = {1, 1, 1};

	for (int i = 0; i < 10; i++)
		CHECK(cudaLaunchKernel(app_kernel("parent_kernel"), one, one, NULL, 0, NULL));
	CHECK(cudaDeviceSynchronize());
}

static void await(pid_t pid, int want)
{
	int status = -1;

	EXPECT(pid > 0, 1);
	EXPECT(waitpid(pid, &status, 0), pid);
	EXPECT(status, want);
}

static pid_t bare_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

int main(int argc, char **argv)
{
	char *words[] = {"sh", "-c", "exit 4", NULL};
	bool cuda = app_option(argc, argv, "cuda", 0);
	pid_t pid;

	if (cuda)
		launch();
	fflush(stdout);
	pid = vfork();
	if (pid == 0) {
		execv("/bin/sh", words);
		_exit(127);
	}
	await(pid, 4 << 8);
	pid = vfork();
	if (pid == 0)
		_exit(5);
	await(pid, 5 << 8);
	CHECK(posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ));
	await(pid, 4 << 8);
	pid = bare_clone();
	if (pid == 0)
		exit(6);
	await(pid, 6 << 8);
	pid = bare_clone();
	if (pid == 0)
		_exit(7);
	await(pid, 7 << 8);
	pid = bare_clone();
	if (pid == 0)
		raise(SIGKILL);
	await(pid, SIGKILL);
	if (cuda)
		launch();
	puts("raw_children: all ended as told");
	return 3;
}
