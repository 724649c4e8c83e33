/* device_reset: launches [10], resets the device, launches again in the new context. */
#include <cuda_runtime_api.h>

#include "app.h"

static void launch(long count)
{
	dim3 one = {1, 1, 1};

	for (long i = 0; i < count; i++)
		CHECK(cudaLaunchKernel(app_kernel("reset_kernel"), one, one, NULL, 0, NULL));
	CHECK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	long launches = app_option(argc, argv, "launches", 10);

	launch(launches);
	CHECK(cudaDeviceReset());
	launch(launches);
	printf("device_reset: %ld launches twice\n", launches);
	return 0;
}
