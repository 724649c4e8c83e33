/*
 * What a math-library call computes: operation, extents, types, and from them the operations and
 * the least bytes it takes. Pure arithmetic on what the caller read; knows no library.
 *
 * FLOPs are nominal, what the operation takes as written in the BLAS and cuDNN manuals, whatever
 * algorithm runs: a multiply-add is 2, one of complex numbers 8 (also in the gemm3m family, whose
 * hardware does 6). A fused epilogue, a bias, a scaling by alpha and beta and the softmax of
 * attention are not counted. Triangles are counted as triangles:
 *
 *	gemm		2 M N K batch
 *	gemv		2 M N batch		ger		2 M N
 *	symm, hemm	2 M N S, S = M (left) or N (right)
 *	syrk, herk	N (N + 1) K		syrkx, herkx	the same
 *	syr2k, her2k	2 N (N + 1) K
 *	trmm, trsm	M N S batch		(LAPACK Working Note 41, appendix C)
 *	convolution	2 |Y| (C / groups) R S, forward, data and filter alike; Y is the output of
 * the forward pass attention	2 B H Sq Skv (D + Dv) forward, 2 B H Sq Skv (3 D + 2 Dv) backward,
 * as if nothing were masked RNN		2 x the weights x the time steps x the batch: forward,
 * backward data, backward weights each
 *
 * Bytes are the least that must move between the device's memory and its chip when nothing is in a
 * cache: each operand once, the output once, and once more where it is read (beta is not 0). A batch
 * whose stride is 0 or makes its matrices overlap is counted by what it covers. alpha = 0 means that
 * A and B are not read and nothing is multiplied.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHAPE_EXTENTS 16

/* Plain data without padding: shapes are compared and hashed as bytes. Begin with shape_clear. */
struct shape {
	uint8_t library;   /* BST_ENUM_LIBRARY_* */
	uint8_t operation; /* BST_ENUM_OPERATION_* */
	uint8_t type[3];   /* BST_ENUM_DATA_TYPE_*: of A, B and the output */
	uint8_t compute;   /* BST_ENUM_COMPUTE_* */
	uint16_t flags; /* BST_ENUM_SHAPE_FLAG_*: FLOPS and BYTES say which of the two is known */
	uint64_t m, n, k, batch;
	uint64_t flops;
	uint64_t bytes;
	uint32_t extent[SHAPE_EXTENTS]; /* for shape_detail only; meaning by operation, enum
					   conv_extent and so on */
};

void shape_clear(struct shape *shape, uint8_t library, uint8_t operation);

/* Products and sums that stop at the largest number. */
uint64_t shape_times(uint64_t a, uint64_t b);
uint64_t shape_plus(uint64_t a, uint64_t b);
/* Bytes of so many elements; 0 if the type is unknown. */
uint64_t shape_bytes(uint64_t elements, uint8_t type);

/* What is known of a scalar factor. */
enum scalar {
	SCALAR_UNKNOWN, /* it lies on the device, or is not there */
	SCALAR_ZERO,
	SCALAR_OTHER,
};

/* The value at `p` (host memory, of type BST_ENUM_DATA_TYPE_*): zero or not. NULL and unknown types
 * are unknown. */
enum scalar scalar_at(const void *p, uint8_t type);

struct matrices {
	uint8_t type;
	bool pointers; /* one pointer for each of the batch: taken to be apart */
	bool by_row;   /* stored row by row */
	int64_t ld;
	int64_t stride; /* from one of the batch to the next, in elements */
};

/* Bytes that `batch` matrices of `rows` x `columns` (as stored, columns ld apart) cover. */
uint64_t matrices_bytes(const struct matrices *matrices, uint64_t rows, uint64_t columns,
			uint64_t batch);

/* D = alpha op(A) op(B) + beta C. */
struct gemm {
	uint8_t library, compute;
	int trans_a, trans_b; /* cublasOperation_t: N, T, C, CONJG */
	int64_t m, n, k, batch;
	struct matrices a, b, c, d; /* c is read where beta says so */
	enum scalar alpha, beta;
};

/* A negative size makes a shape of which nothing is known: the real function refuses the call. */
void shape_of_gemm(struct shape *shape, const struct gemm *gemm);

/* One more GEMM of a grouped call: adds FLOPs and bytes; the sizes stay those of the first, batch
 * counts all. */
void shape_add_gemm(struct shape *shape, const struct gemm *gemm);

/* y = alpha op(A) x + beta y */
struct gemv {
	uint8_t compute;
	int trans;
	int64_t m, n, batch;
	struct matrices a, x, y; /* of vectors only type, stride and pointers count */
	enum scalar alpha, beta;
};
void shape_of_gemv(struct shape *shape, const struct gemv *gemv);

/* The BLAS operations on triangles and symmetric matrices. */
struct blas3 {
	uint8_t operation; /* SYMM, SYRK, SYR2K, SYRKX, TRMM, TRSM, GER */
	uint8_t compute;
	int side; /* cublasSideMode_t: 0 left, 1 right */
	int trans;
	int64_t m, n, k,
		batch; /* k where it has one, else 0; of SYRK and its kin, the output is n x n */
	uint8_t type_a, type_c;
	bool pointers;
	enum scalar alpha, beta;
};
void shape_of_blas3(struct shape *shape, const struct blas3 *blas3);

#define TENSOR_DIMS 8

/* A tensor as cuDNN has it. */
struct tensor {
	uint8_t type;
	uint8_t dims;
	bool strided; /* `stride` is known */
	int64_t size[TENSOR_DIMS];
	int64_t stride[TENSOR_DIMS];
};

uint64_t tensor_elements(const struct tensor *tensor); /* 0 if a size is not positive */
uint64_t tensor_bytes(const struct tensor *tensor);    /* dimensions of stride 0 count once */

enum conv_extent {
	CONV_SPATIAL, /* dimensions: 1 to 3; the arrays below hold so many */
	CONV_BATCH,
	CONV_CHANNELS,
	CONV_FILTERS,
	CONV_GROUPS,
	CONV_IN, /* 3 */
	CONV_WINDOW = CONV_IN + 3,
	CONV_STRIDE = CONV_WINDOW + 3,
};

struct conv {
	uint8_t operation; /* CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_FILTER */
	uint8_t compute;
	const struct tensor *x, *w, *y; /* or their gradients; W is K x C/groups x R x S */
	const int64_t *stride;          /* of x->dims - 2, or NULL */
	enum scalar beta;
	uint64_t more_bytes; /* z and bias of a fused call */
};
/* m, n, k are those of the implicit GEMM of one group: N P Q, K / groups, C / groups R S; batch =
 * groups. */
void shape_of_conv(struct shape *shape, const struct conv *conv);

enum attention_extent {
	ATTENTION_BATCH,
	ATTENTION_HEADS,
	ATTENTION_QUERIES,
	ATTENTION_KEYS,
	ATTENTION_HEAD_DIM,
	ATTENTION_VALUE_DIM,
};

enum rnn_extent {
	RNN_LAYERS,
	RNN_DIRECTIONS,
	RNN_STEPS,
	RNN_BATCH,
	RNN_INPUT,
	RNN_HIDDEN,
	RNN_GATES,
	RNN_PROJECTED,
};

/* A call of NCCL: m = elements by count, n = ranks (0 unknown), k = root or peer, batch = calls of
 * the group. */
struct collective {
	uint8_t operation, type;
	uint64_t count;
	uint64_t ranks;
	int64_t peer; /* -1 = none */
};
/*
 * bytes is the size as nccl-tests defines it: count x element, times ranks where the count is of
 * one rank's part (all_gather, reduce_scatter, all_to_all, gather, scatter). Unknown where those
 * ranks are.
 */
void shape_of_collective(struct shape *shape, const struct collective *collective);
/* One more call of an NCCL group. */
void shape_add_collective(struct shape *shape, const struct shape *more);

/* Is what it computes known? Then calls inside the call need not be looked at. */
bool shape_known(const struct shape *shape);

/* What the columns of table `shape` do not say, in words: "n=32 c=64 in=56x56 k=64 window=3x3
 * stride=1x1". Empty if nothing. */
size_t shape_detail(const struct shape *shape, char *text, size_t size);

#endif
