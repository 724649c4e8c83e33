/* exec_twice: launches, then replaces itself twice by exec with the same process id, launching each
 * time. */
#include <cuda_runtime_api.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

int main(int argc, char **argv)
{
	long turn = app_option(argc, argv, "turn", 0);
	dim3 one = {1, 1, 1};
	char arg[32];

	for (long i = 0; i < 10 * (turn + 1); i++)
		CHECK(cudaLaunchKernel(app_kernel("exec_kernel"), one, one, NULL, 0, NULL));
	CHECK(cudaDeviceSynchronize());
	printf("exec_twice: turn %ld\n", turn);
	fflush(stdout);
	if (turn == 2)
		return 0;
	snprintf(arg, sizeof(arg), "turn=%ld", turn + 1);
	execl("/proc/self/exe", argv[0], arg, (char *)NULL);
	return 1;
}
