/* The kinds' table, and what one architecture changes. */
#include "kernel_prior.h"

#include <string.h>

/* As CUTLASS and cuBLAS name kernels for tensor cores of 8.x, and cuDNN's multistage (cp.async)
 * convolutions, whose names spell the C++ types. */
#define MMA_SYNC "s16816|s1688|i16832|h16816|h1688|ImplicitGemmMultistage|MmaMultistage|sm80_xmma_"
#define NO_TENSOR "simt|ffma|sgemm|dgemm"
#define FLASH_2 "Flash_fwd_kernel_traits|Flash_bwd_kernel_traits"

static bool multiplies(const struct kernel_kind *kind)
{
	return !strcmp(kind->name, "gemm") || !strcmp(kind->name, "convolution");
}

struct kernel_prior kernel_prior_of(const char *name, unsigned cc_major)
{
	const struct kernel_kind *kind = kernel_kind_of(name);

	if (cc_major == 9 && kernel_name_has(name, FLASH_2))
		return (struct kernel_prior){LEAF_LATENCY, 0.4, false};
	if (cc_major == 9 && multiplies(kind) && kernel_name_has(name, MMA_SYNC) &&
	    !kernel_name_has(name, NO_TENSOR))
		return (struct kernel_prior){LEAF_CACHE, 0.4, true};
	return (struct kernel_prior){kind->prior, kind->confidence, false};
}
