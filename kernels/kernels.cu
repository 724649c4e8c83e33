/* The table of micro-kernels. */
#include "kernels/kernels.h"

#include <string.h>

#include "kernels/check.h"

const struct micro_kernel micro_kernels[] = {
#define KERNEL(name, saturates, metric, leaf, blind, sized)                                        \
	{#name, saturates, metric, leaf, blind, sized, name##_prepare, name##_launch, name##_check},
#include "kernels/kernels.def"
#undef KERNEL
	{},
};

const struct micro_kernel *micro_kernel_find(const char *name)
{
	for (const struct micro_kernel *kernel = micro_kernels; kernel->name; kernel++)
		if (!strcmp(kernel->name, name))
			return kernel;
	return NULL;
}

void micro_kernel_launch(const struct micro_kernel *kernel, struct work *work)
{
	kernel->launch(work);
	CHECK(cudaGetLastError());
	work->launches++;
}
