/* What a call of cuBLAS or cuBLASLt computes, from its arguments and from what the library itself
 * says of handles and descriptors. */
#ifndef CUBLAS_H
#define CUBLAS_H

#include "shape.h"

/* alpha and beta are read only where the handle says that they lie on the host. */
struct scalars {
	const void *alpha, *beta;      /* NULL = none: alpha unknown, beta 0 */
	uint8_t alpha_type, beta_type; /* BST_ENUM_DATA_TYPE_* */
};

/*
 * The arguments of a GEMM. `caller` is an address in the code that made the call: the getters are
 * asked in its library. `compute` is a cublasComputeType_t; 0 where the call has none, and then the
 * types and the handle's math mode tell.
 */
struct cublas_gemm {
	const void *caller;
	void *handle;
	int trans_a, trans_b;
	int64_t m, n, k, batch;
	struct scalars scalars;
	struct matrices a, b, c;
	int compute;
};
void cublas_gemm(struct shape *shape, const struct cublas_gemm *call);

/* The scalar type that goes with a compute type and the type of A (cublasGemmEx's table in the
 * manual). */
uint8_t cublas_scalar_type(int compute, uint8_t type_a);

/* A grouped call: arrays on the host, sizes 4 or 8 bytes wide. */
struct cublas_groups {
	const void *caller;
	void *handle;
	const int *trans_a, *trans_b;
	const void *m, *n, *k, *group_size;
	size_t size_bytes;
	int64_t groups;
	const void *alpha, *beta;
	uint8_t scalar_type;
	uint8_t type[3];
	int compute;
};
void cublas_grouped(struct shape *shape, const struct cublas_groups *call);

struct cublas_gemv {
	const void *caller;
	void *handle;
	int trans;
	int64_t m, n, batch;
	struct scalars scalars;
	struct matrices a, x, y;
};
void cublas_gemv(struct shape *shape, const struct cublas_gemv *call);

struct cublas_blas3 {
	const void *caller;
	void *handle;
	struct blas3 blas3; /* but for compute, alpha and beta */
	struct scalars scalars;
};
void cublas_blas3(struct shape *shape, const struct cublas_blas3 *call);

struct lt_matmul {
	const void *caller;
	void *desc;
	const void *alpha, *beta, *c;
	void *a_desc, *b_desc, *c_desc, *d_desc;
};
void cublaslt_matmul(struct shape *shape, const struct lt_matmul *call);

#endif
