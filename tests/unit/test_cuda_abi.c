/* The types that cross a hook by value are laid out, and passed, as CUDA's headers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>
#include <string.h>
#include <cmocka.h>

#include "shim/cuda_abi.h"

_Static_assert(sizeof(struct cuda_dim3) == sizeof(struct dim3), "dim3");
_Static_assert(offsetof(struct cuda_dim3, z) == offsetof(struct dim3, z), "dim3");
_Static_assert(sizeof(struct cuda_extent) == sizeof(struct cudaExtent), "cudaExtent");
_Static_assert(offsetof(struct cuda_extent, depth) == offsetof(struct cudaExtent, depth),
	       "cudaExtent");
_Static_assert(sizeof(struct cuda_pitched_ptr) == sizeof(struct cudaPitchedPtr), "cudaPitchedPtr");
_Static_assert(offsetof(struct cuda_pitched_ptr, pitch) == offsetof(struct cudaPitchedPtr, pitch),
	       "cudaPitchedPtr");
_Static_assert(offsetof(struct cuda_pitched_ptr, ysize) == offsetof(struct cudaPitchedPtr, ysize),
	       "cudaPitchedPtr");
_Static_assert(CUDA_SYMBOL_NOT_FOUND == cudaErrorSharedObjectSymbolNotFound, "error code");
_Static_assert(sizeof(cudaError_t) == sizeof(int), "hooks return int");

static struct cuda_dim3 seen_grid, seen_block;
static size_t seen_shared;

/* As a hook declares it. */
static int hook(const void *func, struct cuda_dim3 grid, struct cuda_dim3 block, void **args,
		size_t shared, void *stream)
{
	(void)func;
	(void)args;
	(void)stream;
	seen_grid = grid;
	seen_block = block;
	seen_shared = shared;
	return 17;
}

static void a_call_by_cudas_prototype_arrives_whole(void **state)
{
	/* as a program calls it */
	int (*call)(const void *, struct dim3, struct dim3, void **, size_t, cudaStream_t);
	void *p = (void *)&hook;
	struct dim3 grid = {1, 2, 3}, block = {4, 5, 6};

	(void)state;
	memcpy(&call, &p, sizeof(call));
	assert_int_equal(call(NULL, grid, block, NULL, 77, NULL), 17);
	assert_int_equal(seen_grid.x, 1);
	assert_int_equal(seen_grid.z, 3);
	assert_int_equal(seen_block.x, 4);
	assert_int_equal(seen_block.z, 6);
	assert_int_equal(seen_shared, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_by_cudas_prototype_arrives_whole)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
