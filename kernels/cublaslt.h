/*
 * The part of cuBLASLt that a plain matrix product needs, loaded at run time: neither its headers
 * nor the library are needed to build or to run.
 */
#ifndef CUBLASLT_H
#define CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

/* Numbers of the library's interface, the same in CUDA 11.8 to 13.0 (cublasLt.h, cublas_api.h). */
enum {
	LT_COMPUTE_32F = 68,
	LT_COMPUTE_64F = 70,
	LT_COMPUTE_32I = 72,
	LT_COMPUTE_32F_FAST_TF32 = 77,
	LT_OPERATION_TRANSPOSE = 1,
	LT_DESC_TRANSA = 3,
	LT_DESC_FAST_ACCUM = 25,
	LT_PREFERENCE_MAX_WORKSPACE_BYTES = 1,
};

struct lt_algorithm {
	uint64_t data[8];
};

struct lt_heuristic {
	struct lt_algorithm algorithm;
	size_t workspace_bytes;
	int state;
	float waves;
	int reserved[4];
};

/* Functions return 0 for success. Handles and descriptors are opaque. */
struct cublaslt {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	int (*layout_create)(void **layout, cudaDataType type, uint64_t rows, uint64_t columns,
			     int64_t leading);
	int (*layout_destroy)(void *layout);
	int (*desc_create)(void **desc, int compute, cudaDataType scale);
	int (*desc_destroy)(void *desc);
	int (*desc_set)(void *desc, int attribute, const void *value, size_t bytes);
	int (*preference_create)(void **preference);
	int (*preference_destroy)(void *preference);
	int (*preference_set)(void *preference, int attribute, const void *value, size_t bytes);
	int (*heuristic)(void *handle, void *desc, void *a, void *b, void *c, void *d,
			 void *preference, int count, struct lt_heuristic *results, int *found);
	int (*matmul)(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		      const void *b, void *b_layout, const void *beta, const void *c,
		      void *c_layout, void *d, void *d_layout, const struct lt_algorithm *algorithm,
		      void *workspace, size_t workspace_bytes, cudaStream_t stream);
};

/* NULL, or static words on why there is none. The library stays loaded. */
const char *cublaslt_load(struct cublaslt *lt);

#endif
