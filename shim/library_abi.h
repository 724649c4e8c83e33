/*
 * The prototypes of library.def's families, without the libraries' headers: handles and descriptors
 * are pointers, enumerations int. FAMILY_PARAMS(TYPE) and FAMILY_ARGS; SIZE is int, or int64_t in
 * the functions whose names end in _64. scripts/check-library compares them with NVIDIA's headers.
 */
#ifndef LIBRARY_ABI_H
#define LIBRARY_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Passed by value in the API of cublas.h. */
struct complex_single {
	float re, im;
};
struct complex_double {
	double re, im;
};

#define VALUE_F32 float
#define VALUE_F64 double
#define VALUE_C32 struct complex_single
#define VALUE_C64 struct complex_double

#define GEMM_PARAMS(TYPE)                                                                          \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *a, SIZE lda, const void *b, SIZE ldb, const void *beta, void *c, SIZE ldc)
#define GEMM_ARGS (handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

#define GEMM_V1_PARAMS(TYPE)                                                                       \
	(char transa, char transb, int m, int n, int k, VALUE_##TYPE alpha, const void *a,         \
	 int lda, const void *b, int ldb, VALUE_##TYPE beta, void *c, int ldc)
#define GEMM_V1_ARGS (transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)

#define GEMM_TYPED_PARAMS(TYPE)                                                                    \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *a, int atype, SIZE lda, const void *b, int btype, SIZE ldb, const void *beta, \
	 void *c, int ctype, SIZE ldc)
#define GEMM_TYPED_ARGS                                                                            \
	(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype, ldc)

#define GEMM_EX_PARAMS(TYPE)                                                                       \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *a, int atype, SIZE lda, const void *b, int btype, SIZE ldb, const void *beta, \
	 void *c, int ctype, SIZE ldc, int compute, int algo)
#define GEMM_EX_ARGS                                                                               \
	(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype,     \
	 ldc, compute, algo)

#define GEMM_STRIDED_PARAMS(TYPE)                                                                  \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *a, SIZE lda, long long stride_a, const void *b, SIZE ldb, long long stride_b, \
	 const void *beta, void *c, SIZE ldc, long long stride_c, SIZE count)
#define GEMM_STRIDED_ARGS                                                                          \
	(handle, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc, \
	 stride_c, count)

#define GEMM_STRIDED_EX_PARAMS(TYPE)                                                               \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *a, int atype, SIZE lda, long long stride_a, const void *b, int btype,         \
	 SIZE ldb, long long stride_b, const void *beta, void *c, int ctype, SIZE ldc,             \
	 long long stride_c, SIZE count, int compute, int algo)
#define GEMM_STRIDED_EX_ARGS                                                                       \
	(handle, transa, transb, m, n, k, alpha, a, atype, lda, stride_a, b, btype, ldb, stride_b, \
	 beta, c, ctype, ldc, stride_c, count, compute, algo)

#define GEMM_BATCHED_PARAMS(TYPE)                                                                  \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *const *a, SIZE lda, const void *const *b, SIZE ldb, const void *beta,         \
	 void *const *c, SIZE ldc, SIZE count)
#define GEMM_BATCHED_ARGS                                                                          \
	(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count)

#define GEMM_BATCHED_EX_PARAMS(TYPE)                                                               \
	(void *handle, int transa, int transb, SIZE m, SIZE n, SIZE k, const void *alpha,          \
	 const void *const *a, int atype, SIZE lda, const void *const *b, int btype, SIZE ldb,     \
	 const void *beta, void *const *c, int ctype, SIZE ldc, SIZE count, int compute, int algo)
#define GEMM_BATCHED_EX_ARGS                                                                       \
	(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype,     \
	 ldc, count, compute, algo)

/* The arrays lie on the host, but those of A, B and C: they hold pointers and lie on the device. */
#define GEMM_GROUPED_PARAMS(TYPE)                                                                  \
	(void *handle, const int *transa, const int *transb, const SIZE *m, const SIZE *n,         \
	 const SIZE *k, const void *alpha, const void *const *a, const SIZE *lda,                  \
	 const void *const *b, const SIZE *ldb, const void *beta, void *const *c, const SIZE *ldc, \
	 SIZE groups, const SIZE *group_size)
#define GEMM_GROUPED_ARGS                                                                          \
	(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, groups, group_size)

#define GEMM_GROUPED_EX_PARAMS(TYPE)                                                               \
	(void *handle, const int *transa, const int *transb, const SIZE *m, const SIZE *n,         \
	 const SIZE *k, const void *alpha, const void *const *a, int atype, const SIZE *lda,       \
	 const void *const *b, int btype, const SIZE *ldb, const void *beta, void *const *c,       \
	 int ctype, const SIZE *ldc, SIZE groups, const SIZE *group_size, int compute)
#define GEMM_GROUPED_EX_ARGS                                                                       \
	(handle, transa, transb, m, n, k, alpha, a, atype, lda, b, btype, ldb, beta, c, ctype,     \
	 ldc, groups, group_size, compute)

#define GEMV_PARAMS(TYPE)                                                                          \
	(void *handle, int trans, SIZE m, SIZE n, const void *alpha, const void *a, SIZE lda,      \
	 const void *x, SIZE incx, const void *beta, void *y, SIZE incy)
#define GEMV_ARGS (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy)

#define GEMV_BATCHED_PARAMS(TYPE)                                                                  \
	(void *handle, int trans, SIZE m, SIZE n, const void *alpha, const void *const *a,         \
	 SIZE lda, const void *const *x, SIZE incx, const void *beta, void *const *y, SIZE incy,   \
	 SIZE count)
#define GEMV_BATCHED_ARGS (handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, count)

#define GEMV_STRIDED_PARAMS(TYPE)                                                                  \
	(void *handle, int trans, SIZE m, SIZE n, const void *alpha, const void *a, SIZE lda,      \
	 long long stride_a, const void *x, SIZE incx, long long stride_x, const void *beta,       \
	 void *y, SIZE incy, long long stride_y, SIZE count)
#define GEMV_STRIDED_ARGS                                                                          \
	(handle, trans, m, n, alpha, a, lda, stride_a, x, incx, stride_x, beta, y, incy, stride_y, \
	 count)

#define GER_PARAMS(TYPE)                                                                           \
	(void *handle, SIZE m, SIZE n, const void *alpha, const void *x, SIZE incx, const void *y, \
	 SIZE incy, void *a, SIZE lda)
#define GER_ARGS (handle, m, n, alpha, x, incx, y, incy, a, lda)

#define SYMM_PARAMS(TYPE)                                                                          \
	(void *handle, int side, int uplo, SIZE m, SIZE n, const void *alpha, const void *a,       \
	 SIZE lda, const void *b, SIZE ldb, const void *beta, void *c, SIZE ldc)
#define SYMM_ARGS (handle, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc)

#define SYRK_PARAMS(TYPE)                                                                          \
	(void *handle, int uplo, int trans, SIZE n, SIZE k, const void *alpha, const void *a,      \
	 SIZE lda, const void *beta, void *c, SIZE ldc)
#define SYRK_ARGS (handle, uplo, trans, n, k, alpha, a, lda, beta, c, ldc)
#define HERK_PARAMS(TYPE) SYRK_PARAMS(TYPE)
#define HERK_ARGS SYRK_ARGS

#define SYRK_TYPED_PARAMS(TYPE)                                                                    \
	(void *handle, int uplo, int trans, SIZE n, SIZE k, const void *alpha, const void *a,      \
	 int atype, SIZE lda, const void *beta, void *c, int ctype, SIZE ldc)
#define SYRK_TYPED_ARGS (handle, uplo, trans, n, k, alpha, a, atype, lda, beta, c, ctype, ldc)

#define SYR2K_PARAMS(TYPE)                                                                         \
	(void *handle, int uplo, int trans, SIZE n, SIZE k, const void *alpha, const void *a,      \
	 SIZE lda, const void *b, SIZE ldb, const void *beta, void *c, SIZE ldc)
#define SYR2K_ARGS (handle, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
#define HER2K_PARAMS(TYPE) SYR2K_PARAMS(TYPE)
#define HER2K_ARGS SYR2K_ARGS
#define SYRKX_PARAMS(TYPE) SYR2K_PARAMS(TYPE)
#define SYRKX_ARGS SYR2K_ARGS
#define HERKX_PARAMS(TYPE) SYR2K_PARAMS(TYPE)
#define HERKX_ARGS SYR2K_ARGS

#define TRMM_PARAMS(TYPE)                                                                          \
	(void *handle, int side, int uplo, int trans, int diag, SIZE m, SIZE n, const void *alpha, \
	 const void *a, SIZE lda, const void *b, SIZE ldb, void *c, SIZE ldc)
#define TRMM_ARGS (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, c, ldc)

#define TRSM_PARAMS(TYPE)                                                                          \
	(void *handle, int side, int uplo, int trans, int diag, SIZE m, SIZE n, const void *alpha, \
	 const void *a, SIZE lda, void *b, SIZE ldb)
#define TRSM_ARGS (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb)

#define TRSM_BATCHED_PARAMS(TYPE)                                                                  \
	(void *handle, int side, int uplo, int trans, int diag, SIZE m, SIZE n, const void *alpha, \
	 const void *const *a, SIZE lda, void *const *b, SIZE ldb, SIZE count)
#define TRSM_BATCHED_ARGS (handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, count)

#define LT_MATMUL_PARAMS(TYPE)                                                                     \
	(void *handle, void *desc, const void *alpha, const void *a, void *a_desc, const void *b,  \
	 void *b_desc, const void *beta, const void *c, void *c_desc, void *d, void *d_desc,       \
	 const void *algo, void *workspace, size_t workspace_bytes, void *stream)
#define LT_MATMUL_ARGS                                                                             \
	(handle, desc, alpha, a, a_desc, b, b_desc, beta, c, c_desc, d, d_desc, algo, workspace,   \
	 workspace_bytes, stream)

#define CONV_FORWARD_PARAMS(TYPE)                                                                  \
	(void *handle, const void *alpha, void *x_desc, const void *x, void *w_desc,               \
	 const void *w, void *desc, int algo, void *workspace, size_t workspace_bytes,             \
	 const void *beta, void *y_desc, void *y)
#define CONV_FORWARD_ARGS                                                                          \
	(handle, alpha, x_desc, x, w_desc, w, desc, algo, workspace, workspace_bytes, beta,        \
	 y_desc, y)

#define CONV_FUSED_PARAMS(TYPE)                                                                    \
	(void *handle, const void *alpha, void *x_desc, const void *x, void *w_desc,               \
	 const void *w, void *desc, int algo, void *workspace, size_t workspace_bytes,             \
	 const void *alpha2, void *z_desc, const void *z, void *bias_desc, const void *bias,       \
	 void *activation, void *y_desc, void *y)
#define CONV_FUSED_ARGS                                                                            \
	(handle, alpha, x_desc, x, w_desc, w, desc, algo, workspace, workspace_bytes, alpha2,      \
	 z_desc, z, bias_desc, bias, activation, y_desc, y)

#define CONV_BACKWARD_DATA_PARAMS(TYPE)                                                            \
	(void *handle, const void *alpha, void *w_desc, const void *w, void *y_desc,               \
	 const void *dy, void *desc, int algo, void *workspace, size_t workspace_bytes,            \
	 const void *beta, void *x_desc, void *dx)
#define CONV_BACKWARD_DATA_ARGS                                                                    \
	(handle, alpha, w_desc, w, y_desc, dy, desc, algo, workspace, workspace_bytes, beta,       \
	 x_desc, dx)

#define CONV_BACKWARD_FILTER_PARAMS(TYPE)                                                          \
	(void *handle, const void *alpha, void *x_desc, const void *x, void *y_desc,               \
	 const void *dy, void *desc, int algo, void *workspace, size_t workspace_bytes,            \
	 const void *beta, void *w_desc, void *dw)
#define CONV_BACKWARD_FILTER_ARGS                                                                  \
	(handle, alpha, x_desc, x, y_desc, dy, desc, algo, workspace, workspace_bytes, beta,       \
	 w_desc, dw)

#define RNN_FORWARD_PARAMS(TYPE)                                                                   \
	(void *handle, void *desc, int mode, const int32_t *lengths, void *x_desc, const void *x,  \
	 void *y_desc, void *y, void *h_desc, const void *hx, void *hy, void *c_desc,              \
	 const void *cx, void *cy, size_t weight_bytes, const void *weights,                       \
	 size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve)
#define RNN_FORWARD_ARGS                                                                           \
	(handle, desc, mode, lengths, x_desc, x, y_desc, y, h_desc, hx, hy, c_desc, cx, cy,        \
	 weight_bytes, weights, workspace_bytes, workspace, reserve_bytes, reserve)

#define RNN_BACKWARD_DATA_PARAMS(TYPE)                                                             \
	(void *handle, void *desc, const int32_t *lengths, void *y_desc, const void *y,            \
	 const void *dy, void *x_desc, void *dx, void *h_desc, const void *hx, const void *dhy,    \
	 void *dhx, void *c_desc, const void *cx, const void *dcy, void *dcx, size_t weight_bytes, \
	 const void *weights, size_t workspace_bytes, void *workspace, size_t reserve_bytes,       \
	 void *reserve)
#define RNN_BACKWARD_DATA_ARGS                                                                     \
	(handle, desc, lengths, y_desc, y, dy, x_desc, dx, h_desc, hx, dhy, dhx, c_desc, cx, dcy,  \
	 dcx, weight_bytes, weights, workspace_bytes, workspace, reserve_bytes, reserve)

#define RNN_BACKWARD_WEIGHTS_PARAMS(TYPE)                                                          \
	(void *handle, void *desc, int mode, const int32_t *lengths, void *x_desc, const void *x,  \
	 void *h_desc, const void *hx, void *y_desc, const void *y, size_t weight_bytes,           \
	 void *weights, size_t workspace_bytes, void *workspace, size_t reserve_bytes,             \
	 void *reserve)
#define RNN_BACKWARD_WEIGHTS_ARGS                                                                  \
	(handle, desc, mode, lengths, x_desc, x, h_desc, hx, y_desc, y, weight_bytes, weights,     \
	 workspace_bytes, workspace, reserve_bytes, reserve)

#define ALL_REDUCE_PARAMS(TYPE)                                                                    \
	(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream)
#define ALL_REDUCE_ARGS (in, out, count, type, op, comm, stream)
#define REDUCE_SCATTER_PARAMS(TYPE) ALL_REDUCE_PARAMS(TYPE)
#define REDUCE_SCATTER_ARGS ALL_REDUCE_ARGS

#define ALL_GATHER_PARAMS(TYPE)                                                                    \
	(const void *in, void *out, size_t count, int type, void *comm, void *stream)
#define ALL_GATHER_ARGS (in, out, count, type, comm, stream)
#define ALL_TO_ALL_PARAMS(TYPE) ALL_GATHER_PARAMS(TYPE)
#define ALL_TO_ALL_ARGS ALL_GATHER_ARGS

#define BROADCAST_PARAMS(TYPE)                                                                     \
	(const void *in, void *out, size_t count, int type, int peer, void *comm, void *stream)
#define BROADCAST_ARGS (in, out, count, type, peer, comm, stream)
#define GATHER_PARAMS(TYPE) BROADCAST_PARAMS(TYPE)
#define GATHER_ARGS BROADCAST_ARGS
#define SCATTER_PARAMS(TYPE) BROADCAST_PARAMS(TYPE)
#define SCATTER_ARGS BROADCAST_ARGS

#define REDUCE_PARAMS(TYPE)                                                                        \
	(const void *in, void *out, size_t count, int type, int op, int peer, void *comm,          \
	 void *stream)
#define REDUCE_ARGS (in, out, count, type, op, peer, comm, stream)

#define BCAST_PARAMS(TYPE) (void *in, size_t count, int type, int peer, void *comm, void *stream)
#define BCAST_ARGS (in, count, type, peer, comm, stream)
#define SEND_PARAMS(TYPE)                                                                          \
	(const void *in, size_t count, int type, int peer, void *comm, void *stream)
#define SEND_ARGS BCAST_ARGS
#define RECV_PARAMS(TYPE) BCAST_PARAMS(TYPE)
#define RECV_ARGS BCAST_ARGS

#endif
