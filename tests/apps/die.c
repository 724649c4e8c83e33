/* die: launches, then ends in the way asked for: how=return|_exit|abort|segv|kill|term|wait
 * [return].
 *
 * launches [1000], each synchronised with sync=1; pause [0] ms between the last launch and the end.
 * _exit ends with status 7. wait launches for ever (for a test that kills it).
 */
#include <cuda_runtime_api.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

static void end(const char *how)
{
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "term"))
		kill(getpid(), SIGTERM);
}

int main(int argc, char **argv)
{
	const char *how = app_text(argc, argv, "how", "return");
	long launches = app_option(argc, argv, "launches", 1000);
	bool sync = app_option(argc, argv, "sync", 0), forever = !strcmp(how, "wait");
	dim3 one = {1, 1, 1};

	for (long i = 0; forever || i < launches; i++) {
		CHECK(cudaLaunchKernel(app_kernel("die_kernel"), one, one, NULL, 0, NULL));
		if (sync)
			CHECK(cudaDeviceSynchronize());
	}
	if (!sync)
		CHECK(cudaDeviceSynchronize());
	printf("die: %ld launches\n", launches);
	fflush(stdout);
	if (app_option(argc, argv, "pause", 0))
		app_wait((uint64_t)app_option(argc, argv, "pause", 0) * 1000000);
	end(how);
	return 0;
}
