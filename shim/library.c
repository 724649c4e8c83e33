/*
 * The wrappers of math-library calls: what is computed is read from the arguments, then the real
 * function runs between two readings of the clock. One body for all, from library.def; each family
 * says how its arguments are read.
 */
#include <stdint.h>

#include "api.h"
#include "cublas.h"
#include "cudnn.h"
#include "data_type.h"
#include "library_abi.h"
#include "library_missing.h"
#include "nccl.h"
#include "real.h"
#include "recorder.h"
#include "trace/format.h"

#define TYPE_OF(TYPE) BST_ENUM_DATA_TYPE_##TYPE
#define CUDA(type) data_type_of_cuda(type)

/* Types of A and x, of y, and of the scalars, by the letters in a gemv's name. */
#define GEMV_A_S TYPE_OF(F32)
#define GEMV_Y_S TYPE_OF(F32)
#define GEMV_S_S TYPE_OF(F32)
#define GEMV_A_D TYPE_OF(F64)
#define GEMV_Y_D TYPE_OF(F64)
#define GEMV_S_D TYPE_OF(F64)
#define GEMV_A_C TYPE_OF(C32)
#define GEMV_Y_C TYPE_OF(C32)
#define GEMV_S_C TYPE_OF(C32)
#define GEMV_A_Z TYPE_OF(C64)
#define GEMV_Y_Z TYPE_OF(C64)
#define GEMV_S_Z TYPE_OF(C64)
#define GEMV_A_HSH TYPE_OF(F16)
#define GEMV_Y_HSH TYPE_OF(F16)
#define GEMV_S_HSH TYPE_OF(F32)
#define GEMV_A_HSS TYPE_OF(F16)
#define GEMV_Y_HSS TYPE_OF(F32)
#define GEMV_S_HSS TYPE_OF(F32)
#define GEMV_A_TST TYPE_OF(BF16)
#define GEMV_Y_TST TYPE_OF(BF16)
#define GEMV_S_TST TYPE_OF(F32)
#define GEMV_A_TSS TYPE_OF(BF16)
#define GEMV_Y_TSS TYPE_OF(F32)
#define GEMV_S_TSS TYPE_OF(F32)

/* The real type of a complex one: herk's scalars, her2k's beta. */
#define REAL_C32 TYPE_OF(F32)
#define REAL_C64 TYPE_OF(F64)

static inline struct matrices one(uint8_t type, int64_t ld)
{
	return (struct matrices){.type = type, .ld = ld};
}

static inline struct matrices many(uint8_t type, int64_t ld, int64_t stride)
{
	return (struct matrices){.type = type, .ld = ld, .stride = stride};
}

static inline struct matrices listed(uint8_t type)
{
	return (struct matrices){.type = type, .pointers = true};
}

static inline struct scalars scalars(const void *alpha, const void *beta, uint8_t type)
{
	return (struct scalars){alpha, beta, type, type};
}

/* herk, her2k: of the two scalars, beta is real. */
static inline struct scalars scalars_of(const void *alpha, uint8_t alpha_type, const void *beta,
					uint8_t beta_type)
{
	return (struct scalars){alpha, beta, alpha_type, beta_type};
}

/* The math mode of cublas.h's API is not to be asked for: what it sums in is what its type says. */
static uint8_t compute_of_v1(uint8_t type)
{
	bool wide = type == TYPE_OF(F64) || type == TYPE_OF(C64);

	return wide ? BST_ENUM_COMPUTE_F64 : BST_ENUM_COMPUTE_F32;
}

/* 'N', 'T', 'C' of the BLAS to cublasOperation_t. */
static int trans_of_letter(char letter)
{
	switch (letter) {
	case 'T':
	case 't':
		return 1;
	case 'C':
	case 'c':
		return 2;
	default:
		return 0;
	}
}

/* Where the two operands lie. Lists of pointers may lie on the device, and change with each call. */
#define OPERANDS(first, second) (call.operand[0] = (first), call.operand[1] = (second))

/* How the arguments of each family become a shape: statements over its parameters, `call`, `shape`
 * and `caller`. */

#define READ_GEMM(count, scalar, a_, b_, c_, compute_)                                             \
	cublas_gemm(&shape,                                                                        \
		    &(struct cublas_gemm){caller, handle, transa, transb, m, n, k, count,          \
					  scalars(alpha, beta, scalar), a_, b_, c_, compute_})

#define GEMM_READ(TYPE)                                                                            \
	OPERANDS(a, b);                                                                            \
	READ_GEMM(1, TYPE_OF(TYPE), one(TYPE_OF(TYPE), lda), one(TYPE_OF(TYPE), ldb),              \
		  one(TYPE_OF(TYPE), ldc), 0)

/* Scalars by value, and no handle to ask: they are looked at here. Returns nothing. */
#define GEMM_V1_READ(TYPE)                                                                         \
	OPERANDS(a, b);                                                                            \
	returns = false;                                                                           \
	shape_of_gemm(&shape,                                                                      \
		      &(struct gemm){BST_ENUM_LIBRARY_CUBLAS, compute_of_v1(TYPE_OF(TYPE)),        \
				     trans_of_letter(transa), trans_of_letter(transb), m, n, k, 1, \
				     one(TYPE_OF(TYPE), lda), one(TYPE_OF(TYPE), ldb),             \
				     one(TYPE_OF(TYPE), ldc), one(TYPE_OF(TYPE), ldc),             \
				     scalar_at(&alpha, TYPE_OF(TYPE)),                             \
				     scalar_at(&beta, TYPE_OF(TYPE))})

#define GEMM_TYPED_READ(TYPE)                                                                      \
	OPERANDS(a, b);                                                                            \
	READ_GEMM(1, TYPE_OF(TYPE), one(CUDA(atype), lda), one(CUDA(btype), ldb),                  \
		  one(CUDA(ctype), ldc), 0)

#define GEMM_EX_READ(TYPE)                                                                         \
	OPERANDS(a, b);                                                                            \
	READ_GEMM(1, cublas_scalar_type(compute, CUDA(atype)), one(CUDA(atype), lda),              \
		  one(CUDA(btype), ldb), one(CUDA(ctype), ldc), compute)

#define GEMM_STRIDED_READ(TYPE)                                                                    \
	OPERANDS(a, b);                                                                            \
	READ_GEMM(count, TYPE_OF(TYPE), many(TYPE_OF(TYPE), lda, stride_a),                        \
		  many(TYPE_OF(TYPE), ldb, stride_b), many(TYPE_OF(TYPE), ldc, stride_c), 0)

#define GEMM_STRIDED_EX_READ(TYPE)                                                                 \
	OPERANDS(a, b);                                                                            \
	READ_GEMM(count, cublas_scalar_type(compute, CUDA(atype)),                                 \
		  many(CUDA(atype), lda, stride_a), many(CUDA(btype), ldb, stride_b),              \
		  many(CUDA(ctype), ldc, stride_c), compute)

#define GEMM_BATCHED_READ(TYPE)                                                                    \
	READ_GEMM(count, TYPE_OF(TYPE), listed(TYPE_OF(TYPE)), listed(TYPE_OF(TYPE)),              \
		  listed(TYPE_OF(TYPE)), 0)

#define GEMM_BATCHED_EX_READ(TYPE)                                                                 \
	READ_GEMM(count, cublas_scalar_type(compute, CUDA(atype)), listed(CUDA(atype)),            \
		  listed(CUDA(btype)), listed(CUDA(ctype)), compute)

#define READ_GROUPED(scalar, a_, b_, c_, compute_)                                                 \
	cublas_grouped(&shape, &(struct cublas_groups){caller,                                     \
						       handle,                                     \
						       transa,                                     \
						       transb,                                     \
						       m,                                          \
						       n,                                          \
						       k,                                          \
						       group_size,                                 \
						       sizeof(SIZE),                               \
						       groups,                                     \
						       alpha,                                      \
						       beta,                                       \
						       scalar,                                     \
						       {a_, b_, c_},                               \
						       compute_})

#define GEMM_GROUPED_READ(TYPE)                                                                    \
	READ_GROUPED(TYPE_OF(TYPE), TYPE_OF(TYPE), TYPE_OF(TYPE), TYPE_OF(TYPE), 0)

#define GEMM_GROUPED_EX_READ(TYPE)                                                                 \
	READ_GROUPED(cublas_scalar_type(compute, CUDA(atype)), CUDA(atype), CUDA(btype),           \
		     CUDA(ctype), compute)

#define READ_GEMV(count, scalar, a_, x_, y_)                                                       \
	cublas_gemv(&shape, &(struct cublas_gemv){caller, handle, trans, m, n, count,              \
						  scalars(alpha, beta, scalar), a_, x_, y_})

#define GEMV_READ(TYPE)                                                                            \
	OPERANDS(a, x);                                                                            \
	READ_GEMV(1, GEMV_S_##TYPE, one(GEMV_A_##TYPE, lda), one(GEMV_A_##TYPE, 0),                \
		  one(GEMV_Y_##TYPE, 0))

#define GEMV_BATCHED_READ(TYPE)                                                                    \
	READ_GEMV(count, GEMV_S_##TYPE, listed(GEMV_A_##TYPE), listed(GEMV_A_##TYPE),              \
		  listed(GEMV_Y_##TYPE))

#define GEMV_STRIDED_READ(TYPE)                                                                    \
	OPERANDS(a, x);                                                                            \
	READ_GEMV(count, GEMV_S_##TYPE, many(GEMV_A_##TYPE, lda, stride_a),                        \
		  many(GEMV_A_##TYPE, 0, stride_x), many(GEMV_Y_##TYPE, 0, stride_y))

#define READ_BLAS3(OPERATION, side_, trans_, m_, n_, k_, count, a_, c_, listed_, scalars_)         \
	cublas_blas3(&shape, &(struct cublas_blas3){caller,                                        \
						    handle,                                        \
						    {.operation = BST_ENUM_OPERATION_##OPERATION,  \
						     .side = side_,                                \
						     .trans = trans_,                              \
						     .m = m_,                                      \
						     .n = n_,                                      \
						     .k = k_,                                      \
						     .batch = count,                               \
						     .type_a = a_,                                 \
						     .type_c = c_,                                 \
						     .pointers = listed_},                         \
						    scalars_})

#define READ_ALIKE(OPERATION, TYPE, side_, trans_, m_, n_, k_, scalars_)                           \
	READ_BLAS3(OPERATION, side_, trans_, m_, n_, k_, 1, TYPE_OF(TYPE), TYPE_OF(TYPE), false,   \
		   scalars_)

#define GER_READ(TYPE) READ_ALIKE(GER, TYPE, 0, 0, m, n, 0, scalars(alpha, NULL, TYPE_OF(TYPE)))

#define SYMM_READ(TYPE)                                                                            \
	READ_ALIKE(SYMM, TYPE, side, 0, m, n, 0, scalars(alpha, beta, TYPE_OF(TYPE)))

#define SYRK_READ(TYPE)                                                                            \
	READ_ALIKE(SYRK, TYPE, 0, trans, n, n, k, scalars(alpha, beta, TYPE_OF(TYPE)))
#define HERK_READ(TYPE) READ_ALIKE(SYRK, TYPE, 0, trans, n, n, k, scalars(alpha, beta, REAL_##TYPE))
#define SYRK_TYPED_READ(TYPE)                                                                      \
	READ_BLAS3(SYRK, 0, trans, n, n, k, 1, CUDA(atype), CUDA(ctype), false,                    \
		   scalars(alpha, beta, TYPE_OF(TYPE)))

#define SYR2K_READ(TYPE)                                                                           \
	READ_ALIKE(SYR2K, TYPE, 0, trans, n, n, k, scalars(alpha, beta, TYPE_OF(TYPE)))
#define HER2K_READ(TYPE)                                                                           \
	READ_ALIKE(SYR2K, TYPE, 0, trans, n, n, k,                                                 \
		   scalars_of(alpha, TYPE_OF(TYPE), beta, REAL_##TYPE))
#define SYRKX_READ(TYPE)                                                                           \
	READ_ALIKE(SYRKX, TYPE, 0, trans, n, n, k, scalars(alpha, beta, TYPE_OF(TYPE)))
#define HERKX_READ(TYPE)                                                                           \
	READ_ALIKE(SYRKX, TYPE, 0, trans, n, n, k,                                                 \
		   scalars_of(alpha, TYPE_OF(TYPE), beta, REAL_##TYPE))

#define TRMM_READ(TYPE)                                                                            \
	READ_ALIKE(TRMM, TYPE, side, trans, m, n, 0, scalars(alpha, NULL, TYPE_OF(TYPE)))
#define TRSM_READ(TYPE)                                                                            \
	READ_ALIKE(TRSM, TYPE, side, trans, m, n, 0, scalars(alpha, NULL, TYPE_OF(TYPE)))
#define TRSM_BATCHED_READ(TYPE)                                                                    \
	READ_BLAS3(TRSM, side, trans, m, n, 0, count, TYPE_OF(TYPE), TYPE_OF(TYPE), true,          \
		   scalars(alpha, NULL, TYPE_OF(TYPE)))

#define LT_MATMUL_READ(TYPE)                                                                       \
	OPERANDS(a, b);                                                                            \
	cublaslt_matmul(&shape, &(struct lt_matmul){caller, desc, alpha, beta, c, a_desc, b_desc,  \
						    c_desc, d_desc})

#define READ_CONV(OPERATION, beta_, alpha2_, z_, bias_)                                            \
	cudnn_conv(&shape,                                                                         \
		   &(struct cudnn_conv){caller, BST_ENUM_OPERATION_CONV_##OPERATION, x_desc,       \
					w_desc, y_desc, desc, beta_, alpha2_, z_, bias_})

#define CONV_FORWARD_READ(TYPE)                                                                    \
	OPERANDS(w, x);                                                                            \
	READ_CONV(FORWARD, beta, NULL, NULL, NULL)
#define CONV_FUSED_READ(TYPE)                                                                      \
	OPERANDS(w, x);                                                                            \
	READ_CONV(FORWARD, NULL, alpha2, z_desc, bias_desc)
#define CONV_BACKWARD_DATA_READ(TYPE)                                                              \
	OPERANDS(w, dy);                                                                           \
	READ_CONV(BACKWARD_DATA, beta, NULL, NULL, NULL)
#define CONV_BACKWARD_FILTER_READ(TYPE) READ_CONV(BACKWARD_FILTER, beta, NULL, NULL, NULL)

#define READ_RNN(OPERATION)                                                                        \
	cudnn_rnn(&shape, BST_ENUM_OPERATION_RNN_##OPERATION, caller, desc, x_desc, weight_bytes)

#define RNN_FORWARD_READ(TYPE)                                                                     \
	OPERANDS(weights, x);                                                                      \
	READ_RNN(FORWARD)
#define RNN_BACKWARD_DATA_READ(TYPE)                                                               \
	OPERANDS(weights, dy);                                                                     \
	READ_RNN(BACKWARD_DATA)
#define RNN_BACKWARD_WEIGHTS_READ(TYPE) READ_RNN(BACKWARD_WEIGHTS)

/* Inside a group nothing starts yet: what starts at its end is the sum. */
#define READ_COLLECTIVE(OPERATION, peer_)                                                          \
	flags = nccl_collective(&shape, call.thread, caller, comm, BST_ENUM_OPERATION_##OPERATION, \
				count, type, peer_)

#define ALL_REDUCE_READ(TYPE) READ_COLLECTIVE(ALL_REDUCE, -1)
#define REDUCE_SCATTER_READ(TYPE) READ_COLLECTIVE(REDUCE_SCATTER, -1)
#define ALL_GATHER_READ(TYPE) READ_COLLECTIVE(ALL_GATHER, -1)
#define ALL_TO_ALL_READ(TYPE) READ_COLLECTIVE(ALL_TO_ALL, -1)
#define BROADCAST_READ(TYPE) READ_COLLECTIVE(BROADCAST, peer)
#define BCAST_READ(TYPE) READ_COLLECTIVE(BROADCAST, peer)
#define REDUCE_READ(TYPE) READ_COLLECTIVE(REDUCE, peer)
#define GATHER_READ(TYPE) READ_COLLECTIVE(GATHER, peer)
#define SCATTER_READ(TYPE) READ_COLLECTIVE(SCATTER, peer)
#define SEND_READ(TYPE) READ_COLLECTIVE(SEND, peer)
#define RECV_READ(TYPE) READ_COLLECTIVE(RECV, peer)

/*
 * When the call is not recorded (tracing off, or part of another library call) it goes straight
 * through. A function that nobody provides cannot have been meant to work: the error says so.
 */
#define WRAPPER(name, LIBRARY, FAMILY, TYPE)                                                       \
	int name FAMILY##_PARAMS(TYPE);                                                            \
	int name FAMILY##_PARAMS(TYPE)                                                             \
	{                                                                                          \
		const void *caller = __builtin_return_address(0);                                  \
		int(*real) FAMILY##_PARAMS(TYPE) =                                                 \
			(int(*) FAMILY##_PARAMS(TYPE))real_function(API_##name, caller);           \
		struct library_call call;                                                          \
		struct shape shape;                                                                \
		uint8_t flags = 0;                                                                 \
		bool returns = true;                                                               \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return LIBRARY##_MISSING;                                                  \
		if (!recorder_library_begin(&call, API_##name))                                    \
			return real FAMILY##_ARGS;                                                 \
		FAMILY##_READ(TYPE);                                                               \
		recorder_library_enter(&call, &shape, flags);                                      \
		result = real FAMILY##_ARGS;                                                       \
		recorder_library_end(&call, returns ? result : 0);                                 \
		return result;                                                                     \
	}

#pragma GCC visibility push(default)

#define OWN(name, LIBRARY)
#define GETTER(name, LIBRARY)

#define SIZE int
#define CALL(name, LIBRARY, FAMILY, TYPE) WRAPPER(name, LIBRARY, FAMILY, TYPE)
#define CALL_64(name, LIBRARY, FAMILY, TYPE) WRAPPER(name, LIBRARY, FAMILY, TYPE)
#include "library.def"
#undef SIZE
#undef CALL
#undef CALL_64

#define SIZE int64_t
#define CALL(name, LIBRARY, FAMILY, TYPE)
#define CALL_64(name, LIBRARY, FAMILY, TYPE) WRAPPER(name##_64, LIBRARY, FAMILY, TYPE)
#include "library.def"

#pragma GCC visibility pop
