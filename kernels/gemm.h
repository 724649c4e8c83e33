/* Large matrix products through cuBLASLt: what the tensor cores reach in each type. */
#ifndef GEMM_H
#define GEMM_H

#include "kernels/measure.h"

enum gemm_type {
	GEMM_BF16,
	GEMM_FP16,
	GEMM_TF32,
	GEMM_FP8, /* e4m3, sums with fast accumulation, result in bf16 */
	GEMM_INT8,
	GEMM_FP64,
	GEMM_TYPES,
};

/*
 * Operations a second, an FMA is two, of products of 8192 x 8192 x 8192 (fp64: 4096) on random
 * data: on zeros an H200 was 13 % faster. Not known where the library, the type or enough memory is
 * missing, or where the result is wrong.
 */
struct measured measure_gemm(const struct gpu *gpu, enum gemm_type type);

#endif
