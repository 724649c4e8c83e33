/*
 * The few CUDA types that cross a hook by value, laid out as libcudart 12 and 13 do (driver_types.h, vector_types.h). Hooks are
 * compiled without CUDA headers: one list then serves both versions, whose prototypes differ. tests/unit/test_cuda_abi.c
 * compares with the headers.
 */
#ifndef CUDA_ABI_H
#define CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

struct cuda_dim3 {
	unsigned x, y, z;
};

struct cuda_extent {
	size_t width, height, depth;
};

struct cuda_pitched_ptr {
	void *ptr;
	size_t pitch, xsize, ysize;
};

/* cudaErrorSharedObjectSymbolNotFound: what a hook returns when there is nothing to forward to. */
#define CUDA_SYMBOL_NOT_FOUND 302

#endif
