/* Reading cuBLAS and cuBLASLt calls. */
#include "cublas.h"

#include <string.h>

#include "api.h"
#include "data_type.h"
#include "real.h"
#include "trace/format.h"

#define POINTERS_ON_HOST 0

/* cublasComputeType_t */
enum {
	COMPUTE_32F = 68,
	COMPUTE_64F = 70,
};

/* cublasMath_t, the bits that name a mode */
enum {
	MATH_MASK = 15,
	MATH_TENSOR_OP = 1,
	MATH_TF32 = 3,
	MATH_F32_EMULATED = 4,
	MATH_F64_EMULATED = 8,
};

/* An int that a handle has, by one of the getters; -1 if it does not tell. */
static int ask(uint16_t getter, const void *caller, void *handle)
{
	int (*get)(void *, int *) = (int (*)(void *, int *))real_function(getter, caller);
	int value = -1;

	return get && handle && get(handle, &value) == 0 ? value : -1;
}

static bool on_host(const void *caller, void *handle)
{
	return ask(API_cublasGetPointerMode_v2, caller, handle) == POINTERS_ON_HOST;
}

static void read_scalars(const struct scalars *s, bool host, enum scalar *alpha, enum scalar *beta)
{
	*alpha = host ? scalar_at(s->alpha, s->alpha_type) : SCALAR_UNKNOWN;
	*beta = !s->beta ? SCALAR_ZERO : host ? scalar_at(s->beta, s->beta_type) : SCALAR_UNKNOWN;
}

static bool is_single(uint8_t type)
{
	return type == BST_ENUM_DATA_TYPE_F32 || type == BST_ENUM_DATA_TYPE_C32;
}

static bool is_double(uint8_t type)
{
	return type == BST_ENUM_DATA_TYPE_F64 || type == BST_ENUM_DATA_TYPE_C64;
}

/* Single and double precision is what the math mode makes of it. */
static uint8_t compute_by_mode(uint8_t type, int mode)
{
	if (is_double(type))
		return mode == MATH_F64_EMULATED ? BST_ENUM_COMPUTE_F64_EMULATED
						 : BST_ENUM_COMPUTE_F64;
	switch (mode) {
	case MATH_TENSOR_OP:
		return BST_ENUM_COMPUTE_F32_FAST_F16;
	case MATH_TF32:
		return BST_ENUM_COMPUTE_F32_FAST_TF32;
	case MATH_F32_EMULATED:
		return BST_ENUM_COMPUTE_F32_EMULATED;
	default:
		return BST_ENUM_COMPUTE_F32;
	}
}

/* In what a call without a compute type of its own sums: half precision in single. */
static uint8_t compute_of(uint8_t type, const void *caller, void *handle)
{
	int mode;

	if (!is_single(type) && !is_double(type))
		return BST_ENUM_COMPUTE_F32;
	mode = ask(API_cublasGetMathMode, caller, handle);
	return compute_by_mode(type, mode < 0 ? 0 : mode & MATH_MASK);
}

static uint8_t gemm_compute(const struct cublas_gemm *call)
{
	uint8_t type = call->a.type;

	if (!call->compute)
		return call->scalars.alpha_type == BST_ENUM_DATA_TYPE_F16
			       ? (uint8_t)BST_ENUM_COMPUTE_F16
			       : compute_of(type, call->caller, call->handle);
	/* CUBLAS_COMPUTE_32F and 64F leave it to the math mode; their pedantic twins do not */
	if ((call->compute == COMPUTE_32F && is_single(type)) || call->compute == COMPUTE_64F)
		return compute_of(type, call->caller, call->handle);
	return compute_of_cublas(call->compute);
}

uint8_t cublas_scalar_type(int compute, uint8_t type_a)
{
	bool complex = data_type_is_complex(type_a);

	switch (compute_of_cublas(compute)) {
	case BST_ENUM_COMPUTE_F16:
		return BST_ENUM_DATA_TYPE_F16;
	case BST_ENUM_COMPUTE_I32:
		return BST_ENUM_DATA_TYPE_I32;
	case BST_ENUM_COMPUTE_F64:
	case BST_ENUM_COMPUTE_F64_EMULATED:
		return complex ? BST_ENUM_DATA_TYPE_C64 : BST_ENUM_DATA_TYPE_F64;
	case BST_ENUM_COMPUTE_UNKNOWN:
		return BST_ENUM_DATA_TYPE_UNKNOWN;
	default:
		return complex ? BST_ENUM_DATA_TYPE_C32 : BST_ENUM_DATA_TYPE_F32;
	}
}

void cublas_gemm(struct shape *shape, const struct cublas_gemm *call)
{
	struct gemm g = {
		.library = BST_ENUM_LIBRARY_CUBLAS,
		.compute = gemm_compute(call),
		.trans_a = call->trans_a,
		.trans_b = call->trans_b,
		.m = call->m,
		.n = call->n,
		.k = call->k,
		.batch = call->batch,
		.a = call->a,
		.b = call->b,
		.c = call->c,
		.d = call->c,
	};

	read_scalars(&call->scalars, on_host(call->caller, call->handle), &g.alpha, &g.beta);
	shape_of_gemm(shape, &g);
}

static int64_t size_at(const void *array, size_t size_bytes, int64_t at)
{
	if (size_bytes == sizeof(int64_t))
		return ((const int64_t *)array)[at];
	return ((const int32_t *)array)[at];
}

/* The scalar of a group: one of each, side by side. */
static enum scalar group_scalar(const void *array, uint8_t type, int64_t at)
{
	size_t bytes = data_type_bits(type) / 8;

	return array && bytes ? scalar_at((const char *)array + bytes * (size_t)at, type)
			      : SCALAR_UNKNOWN;
}

void cublas_grouped(struct shape *shape, const struct cublas_groups *call)
{
	bool host = on_host(call->caller, call->handle);
	struct gemm g = {
		.library = BST_ENUM_LIBRARY_CUBLAS,
		.a = {.type = call->type[0], .pointers = true},
		.b = {.type = call->type[1], .pointers = true},
		.c = {.type = call->type[2], .pointers = true},
		.d = {.type = call->type[2], .pointers = true},
	};

	shape_clear(shape, BST_ENUM_LIBRARY_CUBLAS, BST_ENUM_OPERATION_GEMM);
	if (!call->trans_a || !call->trans_b || !call->m || !call->n || !call->k ||
	    !call->group_size)
		return;
	g.compute = gemm_compute(&(struct cublas_gemm){.caller = call->caller,
						       .handle = call->handle,
						       .scalars.alpha_type = call->scalar_type,
						       .a = g.a,
						       .compute = call->compute});
	for (int64_t i = 0; i < call->groups; i++) {
		g.trans_a = call->trans_a[i];
		g.trans_b = call->trans_b[i];
		g.m = size_at(call->m, call->size_bytes, i);
		g.n = size_at(call->n, call->size_bytes, i);
		g.k = size_at(call->k, call->size_bytes, i);
		g.batch = size_at(call->group_size, call->size_bytes, i);
		g.alpha = host ? group_scalar(call->alpha, call->scalar_type, i) : SCALAR_UNKNOWN;
		g.beta = host ? group_scalar(call->beta, call->scalar_type, i) : SCALAR_UNKNOWN;
		if (i == 0)
			shape_of_gemm(shape, &g);
		else
			shape_add_gemm(shape, &g);
	}
}

void cublas_gemv(struct shape *shape, const struct cublas_gemv *call)
{
	struct gemv g = {
		.compute = compute_of(call->a.type, call->caller, call->handle),
		.trans = call->trans,
		.m = call->m,
		.n = call->n,
		.batch = call->batch,
		.a = call->a,
		.x = call->x,
		.y = call->y,
	};

	read_scalars(&call->scalars, on_host(call->caller, call->handle), &g.alpha, &g.beta);
	shape_of_gemv(shape, &g);
}

void cublas_blas3(struct shape *shape, const struct cublas_blas3 *call)
{
	struct blas3 b = call->blas3;

	b.compute = compute_of(b.type_a, call->caller, call->handle);
	read_scalars(&call->scalars, on_host(call->caller, call->handle), &b.alpha, &b.beta);
	if (b.operation == BST_ENUM_OPERATION_GER)
		b.beta = SCALAR_OTHER; /* A = alpha x y + A */
	shape_of_blas3(shape, &b);
}

/* cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t */
enum {
	LAYOUT_TYPE = 0,
	LAYOUT_ORDER = 1,
	LAYOUT_ROWS = 2,
	LAYOUT_COLUMNS = 3,
	LAYOUT_LD = 4,
	LAYOUT_BATCH_COUNT = 5,
	LAYOUT_BATCH_OFFSET = 6,
	LAYOUT_BATCH_MODE = 8,
	DESC_COMPUTE_TYPE = 0,
	DESC_SCALE_TYPE = 1,
	DESC_POINTER_MODE = 2,
	DESC_TRANS_A = 3,
	DESC_TRANS_B = 4,
	DESC_EPILOGUE = 7,
};

/* cublasLtPointerMode_t and cublasLtOrder_t, cublasLtBatchMode_t */
enum {
	MODE_HOST = 0,
	MODE_BETA_ZERO = 3,
	MODE_BETA_HOST = 4,
	ORDER_COLUMN = 0,
	ORDER_ROW = 1,
	BATCH_STRIDED = 0,
	BATCH_POINTERS = 1,
};

typedef int (*get_attribute)(const void *, int, void *, size_t, size_t *);

static int get_int(get_attribute get, const void *desc, int attribute, int otherwise)
{
	int32_t value = 0;
	size_t written = 0;

	return get(desc, attribute, &value, sizeof(value), &written) == 0 ? value : otherwise;
}

static int64_t get_wide(get_attribute get, const void *desc, int attribute, int64_t otherwise)
{
	int64_t value = 0;
	size_t written = 0;

	return get(desc, attribute, &value, sizeof(value), &written) == 0 ? value : otherwise;
}

static uint8_t layout_type(get_attribute get, const void *layout)
{
	return data_type_of_cuda(get_int(get, layout, LAYOUT_TYPE, -1));
}

/* How the batch lies in memory: asked only where there is one. False: not in a way that is known.
 */
static bool read_batch(get_attribute get, const void *layout, struct matrices *matrices)
{
	int mode = get_int(get, layout, LAYOUT_BATCH_MODE, BATCH_STRIDED);
	int order = get_int(get, layout, LAYOUT_ORDER, ORDER_COLUMN);

	matrices->pointers = mode == BATCH_POINTERS;
	matrices->by_row = order == ORDER_ROW;
	matrices->stride = get_wide(get, layout, LAYOUT_BATCH_OFFSET, 0);
	/* of tiled orders ld means something else: without it they count as dense */
	if (order == ORDER_COLUMN || order == ORDER_ROW)
		matrices->ld = get_wide(get, layout, LAYOUT_LD, 0);
	return mode == BATCH_STRIDED || mode == BATCH_POINTERS;
}

/* Sizes by the output and A: Cdesc may be of another type, or of a bias, and C may be absent. */
static bool read_layouts(const struct lt_matmul *call, get_attribute get, struct gemm *g)
{
	g->a.type = layout_type(get, call->a_desc);
	g->b.type = layout_type(get, call->b_desc);
	g->d.type = layout_type(get, call->d_desc);
	g->m = get_wide(get, call->d_desc, LAYOUT_ROWS, -1);
	g->n = get_wide(get, call->d_desc, LAYOUT_COLUMNS, -1);
	g->k = get_wide(get, call->a_desc,
			g->trans_a == 1 || g->trans_a == 2 ? LAYOUT_ROWS : LAYOUT_COLUMNS, -1);
	g->batch = get_int(get, call->d_desc, LAYOUT_BATCH_COUNT, 1);
	if (call->c && call->c_desc)
		g->c.type = layout_type(get, call->c_desc);
	if (g->batch <= 1)
		return true;
	if (call->c && call->c_desc && !read_batch(get, call->c_desc, &g->c))
		return false;
	return read_batch(get, call->a_desc, &g->a) && read_batch(get, call->b_desc, &g->b) &&
	       read_batch(get, call->d_desc, &g->d);
}

static void read_lt_scalars(const struct lt_matmul *call, int mode, uint8_t type, struct gemm *g)
{
	if (mode == MODE_HOST)
		g->alpha = scalar_at(call->alpha, type);
	if (mode == MODE_BETA_ZERO || !call->beta || !call->c)
		g->beta = SCALAR_ZERO;
	else if (mode == MODE_HOST || mode == MODE_BETA_HOST)
		g->beta = scalar_at(call->beta, type);
}

void cublaslt_matmul(struct shape *shape, const struct lt_matmul *call)
{
	get_attribute of_layout =
		(get_attribute)real_function(API_cublasLtMatrixLayoutGetAttribute, call->caller);
	get_attribute of_desc =
		(get_attribute)real_function(API_cublasLtMatmulDescGetAttribute, call->caller);
	struct gemm g = {.library = BST_ENUM_LIBRARY_CUBLASLT};
	int compute, epilogue;

	shape_clear(shape, BST_ENUM_LIBRARY_CUBLASLT, BST_ENUM_OPERATION_GEMM);
	if (!of_layout || !of_desc || !call->desc || !call->a_desc || !call->b_desc ||
	    !call->d_desc)
		return;
	compute = get_int(of_desc, call->desc, DESC_COMPUTE_TYPE, 0);
	epilogue = get_int(of_desc, call->desc, DESC_EPILOGUE, 1);
	g.trans_a = get_int(of_desc, call->desc, DESC_TRANS_A, 0);
	g.trans_b = get_int(of_desc, call->desc, DESC_TRANS_B, 0);
	if (!read_layouts(call, of_layout, &g))
		return;
	g.compute = compute_of_cublas(compute);
	read_lt_scalars(call, get_int(of_desc, call->desc, DESC_POINTER_MODE, -1),
			data_type_of_cuda(get_int(of_desc, call->desc, DESC_SCALE_TYPE, -1)), &g);
	shape_of_gemm(shape, &g);
	shape->extent[0] = epilogue > 1 ? (uint32_t)epilogue : 0;
}
