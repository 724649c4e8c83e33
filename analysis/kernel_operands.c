/* Types as cuBLAS, cuDNN, CUTLASS and C++ spell them in the names of kernels. */
#include "kernel_operands.h"

#include "kernel_name.h"

/* The first line that fits: a name of fp16 operands may also have the shape that tf32 has
 * ("turing_fp16_s1688gemm_fp16"). nvjet's first letter: t with bf16 and h with fp16 operands, by
 * the library calls of samples/traces and tests/gpu/library.py (CUDA 13.0). */
static const struct {
	enum ceiling ceiling;
	const char *parts;
} rows[] = {
	{CEILING_TENSOR_FP8, "e4m3|e5m2|_fp8_|Float8"},
	{CEILING_TENSOR_INT8, "int8|_s8_|i8i8|i8i32|i8816|i16832|imma"},
	{CEILING_TENSOR_BF16, "bf16|bfloat16|^nvjet_t|^nvjet_sm90_t|^nvjet_sm100_t"},
	{CEILING_TENSOR_FP16,
	 "f16|fp16|half|Half|hmma|h884|h1688|h16816|s884gemm|s16816|^nvjet_h|^nvjet_sm90_h|^nvjet_sm100_h"},
	{CEILING_TENSOR_TF32, "tf32|s1688"},
	{CEILING_TENSOR_FP64, "d884|dmma"},
};

enum ceiling kernel_operands(const char *name)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kernel_name_has(name, rows[i].parts))
			return rows[i].ceiling;
	return CEILING_COUNT;
}
