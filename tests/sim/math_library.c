/* math_library: stand-in libcublas, libcublasLt, libcudnn and libnccl. Every entry point that the
 * shim hooks notes the words it was called with, launches a kernel or two through the driver, as
 * the real ones do, and returns success. Getters work. Built once for each library with its number.
 *
 * All arguments but the scalars of cublas.h's API are of class INTEGER, so that a function that
 * takes words sees each of them in its place whatever the true prototype. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math_call.h"
#include "sim.h"

#define CUBLAS 1
#define CUBLASLT 2
#define CUDNN 3
#define NCCL 4

#define WORDS 34

/* What the last call got: the program that called compares. */
static struct sim_math_call last;

SIM_ENTRY struct sim_math_call *SIM_MATH_LAST(void);
SIM_ENTRY struct sim_math_call *SIM_MATH_LAST(void)
{
	return &last;
}

static CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			  unsigned, CUstream, void **, void **);
static CUresult (*load)(CUmodule *, const void *);
static CUresult (*get)(CUfunction *, CUmodule, const char *);

static void *driver(const char *name)
{
	static void *handle;
	void *p;

	if (!handle)
		handle = dlopen("libcuda.so.1", RTLD_NOW);
	p = handle ? dlsym(handle, name) : NULL;
	if (!p) {
		fprintf(stderr, "math: no %s\n", name);
		abort();
	}
	return p;
}

static void run(const char *kernel, void *stream)
{
	static CUmodule module;
	CUfunction f;

	if (!launch) {
		load = driver("cuModuleLoadData");
		get = driver("cuModuleGetFunction");
		launch = driver("cuLaunchKernel");
	}
	if ((!module && load(&module, "image")) || get(&f, module, kernel) ||
	    launch(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL)) {
		fprintf(stderr, "math: cannot launch %s\n", kernel);
		abort();
	}
}

static void note(const char *name, const uint64_t *words)
{
	last.name = name;
	memcpy(last.word, words, sizeof(last.word));
	last.count++;
}

#define PARAMETERS                                                                                 \
	uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,        \
		uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m,            \
		uint64_t n, uint64_t o, uint64_t p, uint64_t q, uint64_t r, uint64_t s,            \
		uint64_t t, uint64_t u, uint64_t v, uint64_t w, uint64_t x, uint64_t y,            \
		uint64_t z, uint64_t a2, uint64_t b2, uint64_t c2, uint64_t d2, uint64_t e2,       \
		uint64_t f2, uint64_t g2, uint64_t h2
#define ARGUMENTS                                                                                  \
	a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a2, b2, c2,  \
		d2, e2, f2, g2, h2

static int called(const char *name, const uint64_t *words);

#define ENTRY(name)                                                                                \
	SIM_ENTRY int name(PARAMETERS);                                                            \
	SIM_ENTRY int name(PARAMETERS)                                                             \
	{                                                                                          \
		return called(#name, (uint64_t[]){ARGUMENTS});                                     \
	}

#define GETTER(name, LIBRARY)
#define OWN(name, LIBRARY)

#if SIM_MATH == CUBLAS
#define IF_CUBLAS(...) __VA_ARGS__
#define IF_CUBLASLT(...)
#define IF_CUDNN(...)
#define IF_NCCL(...)
#elif SIM_MATH == CUBLASLT
#define IF_CUBLAS(...)
#define IF_CUBLASLT(...) __VA_ARGS__
#define IF_CUDNN(...)
#define IF_NCCL(...)
#elif SIM_MATH == CUDNN
#define IF_CUBLAS(...)
#define IF_CUBLASLT(...)
#define IF_CUDNN(...) __VA_ARGS__
#define IF_NCCL(...)
#else
#define IF_CUBLAS(...)
#define IF_CUBLASLT(...)
#define IF_CUDNN(...)
#define IF_NCCL(...) __VA_ARGS__
#endif
#define CALL(name, LIBRARY, FAMILY, TYPE) IF_##LIBRARY(ENTRY(name))
#define CALL_64(name, LIBRARY, FAMILY, TYPE) IF_##LIBRARY(ENTRY(name) ENTRY(name##_64))
#include "../../shim/library.def"

#if SIM_MATH == CUBLAS

struct handle {
	uint64_t magic;
	void *stream;
	int pointer_mode, math_mode;
};

#define MAGIC 0x63b1a5u

SIM_ENTRY int cublasCreate_v2(struct handle **handle)
{
	*handle = calloc(1, sizeof(**handle));
	(*handle)->magic = MAGIC;
	return 0;
}

SIM_ENTRY int cublasSetStream_v2(struct handle *h, void *stream)
{
	h->stream = stream;
	return 0;
}

SIM_ENTRY int cublasSetPointerMode_v2(struct handle *h, int mode)
{
	h->pointer_mode = mode;
	return 0;
}

SIM_ENTRY int cublasGetPointerMode_v2(struct handle *h, int *mode)
{
	*mode = h->pointer_mode;
	return h->magic == MAGIC ? 0 : 1;
}

SIM_ENTRY int cublasSetMathMode(struct handle *h, int mode)
{
	h->math_mode = mode;
	return 0;
}

SIM_ENTRY int cublasGetMathMode(struct handle *h, int *mode)
{
	*mode = h->math_mode;
	return h->magic == MAGIC ? 0 : 1;
}

/* As the real one, cublasGemmEx does its work by a call of cublasLt. */
int cublasLtMatmul(void *, void *, const void *, const void *, void *, const void *, void *,
		   const void *, const void *, void *, void *, void *, const void *, void *, size_t,
		   void *);

static bool is_v1(const char *name)
{
	size_t length = strlen(name);

	return length == strlen("cublasXgemm") && !strcmp(name + 7, "gemm") && name[6] != 'H';
}

static int called(const char *name, const uint64_t *words)
{
	struct handle *h = (struct handle *)(uintptr_t)words[0];

	note(name, words);
	if (is_v1(name)) {
		run("ampere_sgemm_v1", NULL);
		return 12345; /* whoever looks at what a void function returns */
	}
	if (!h)
		return 1; /* CUBLAS_STATUS_NOT_INITIALIZED */
	if (h->magic != MAGIC) {
		fprintf(stderr, "math: %s: not a handle\n", name);
		abort();
	}
	if (!strcmp(name, "cublasGemmEx"))
		return cublasLtMatmul(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
				      NULL, NULL, NULL, NULL, 0, h->stream);
	run("ampere_sgemm_128x64_tn", h->stream);
	if (!strcmp(name, "cublasSgemm_v2"))
		run("splitKreduce_kernel", h->stream);
	return 0;
}

#elif SIM_MATH == CUBLASLT

/* A descriptor: one word for each attribute number. */
struct lt_desc {
	int64_t value[64];
};

SIM_ENTRY int cublasLtMatrixLayoutCreate(struct lt_desc **d, int type, uint64_t rows,
					 uint64_t columns, int64_t ld)
{
	*d = calloc(1, sizeof(**d));
	(*d)->value[0] = type;
	(*d)->value[2] = (int64_t)rows;
	(*d)->value[3] = (int64_t)columns;
	(*d)->value[4] = ld;
	(*d)->value[5] = 1;
	return 0;
}

static int set(struct lt_desc *d, int attribute, const void *p, size_t size)
{
	d->value[attribute] = 0;
	memcpy(&d->value[attribute], p, size);
	return 0;
}

static int get_value(const struct lt_desc *d, int attribute, void *p, size_t size, size_t *written)
{
	memcpy(p, &d->value[attribute], size);
	*written = size;
	return 0;
}

SIM_ENTRY int cublasLtMatrixLayoutSetAttribute(struct lt_desc *d, int attribute, const void *p,
					       size_t size)
{
	return set(d, attribute, p, size);
}

SIM_ENTRY int cublasLtMatrixLayoutGetAttribute(const struct lt_desc *d, int attribute, void *p,
					       size_t size, size_t *written)
{
	bool wide = (attribute >= 2 && attribute <= 4) || attribute == 6;

	return size < (wide ? 8 : 4) ? 7 : get_value(d, attribute, p, size, written);
}

SIM_ENTRY int cublasLtMatmulDescCreate(struct lt_desc **d, int compute, int scale)
{
	*d = calloc(1, sizeof(**d));
	(*d)->value[0] = compute;
	(*d)->value[1] = scale;
	(*d)->value[7] = 1;
	return 0;
}

SIM_ENTRY int cublasLtMatmulDescSetAttribute(struct lt_desc *d, int attribute, const void *p,
					     size_t size)
{
	return set(d, attribute, p, size);
}

SIM_ENTRY int cublasLtMatmulDescGetAttribute(const struct lt_desc *d, int attribute, void *p,
					     size_t size, size_t *written)
{
	return get_value(d, attribute, p, size, written);
}

static int called(const char *name, const uint64_t *words)
{
	note(name, words);
	run("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", (void *)(uintptr_t)words[15]);
	return 0;
}

#elif SIM_MATH == CUDNN

struct cudnn_desc {
	int type, format, dims, groups, mode, math;
	int size[8], stride[8], dilation[8], pad[8];
	int number[16];
	int *length;
};

#define CREATE(what)                                                                               \
	SIM_ENTRY int cudnnCreate##what(struct cudnn_desc **d)                                     \
	{                                                                                          \
		*d = calloc(1, sizeof(**d));                                                       \
		return 0;                                                                          \
	}
CREATE(TensorDescriptor)
CREATE(FilterDescriptor)
CREATE(ConvolutionDescriptor)
CREATE(RNNDescriptor)
CREATE(RNNDataDescriptor)

static void *stream_of_all;

SIM_ENTRY int cudnnCreate(void **handle)
{
	*handle = &stream_of_all;
	return 0;
}

SIM_ENTRY int cudnnSetStream(void *handle, void *stream)
{
	*(void **)handle = stream;
	return 0;
}

SIM_ENTRY int cudnnSetTensorNdDescriptor(struct cudnn_desc *d, int type, int dims, const int *size,
					 const int *stride)
{
	d->type = type;
	d->dims = dims;
	memcpy(d->size, size, (size_t)dims * sizeof(int));
	memcpy(d->stride, stride, (size_t)dims * sizeof(int));
	return 0;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

SIM_ENTRY int cudnnGetTensorNdDescriptor(const struct cudnn_desc *d, int wanted, int *type,
					 int *dims, int *size, int *stride)
{
	*type = d->type;
	*dims = d->dims;
	memcpy(size, d->size, (size_t)least(wanted, d->dims) * sizeof(int));
	memcpy(stride, d->stride, (size_t)least(wanted, d->dims) * sizeof(int));
	return 0;
}

SIM_ENTRY int cudnnSetFilterNdDescriptor(struct cudnn_desc *d, int type, int format, int dims,
					 const int *size)
{
	d->type = type;
	d->format = format;
	d->dims = dims;
	memcpy(d->size, size, (size_t)dims * sizeof(int));
	return 0;
}

SIM_ENTRY int cudnnGetFilterNdDescriptor(const struct cudnn_desc *d, int wanted, int *type,
					 int *format, int *dims, int *size)
{
	*type = d->type;
	*format = d->format;
	*dims = d->dims;
	memcpy(size, d->size, (size_t)least(wanted, d->dims) * sizeof(int));
	return 0;
}

SIM_ENTRY int cudnnSetConvolutionNdDescriptor(struct cudnn_desc *d, int dims, const int *pad,
					      const int *stride, const int *dilation, int mode,
					      int type)
{
	d->dims = dims;
	d->mode = mode;
	d->type = type;
	memcpy(d->pad, pad, (size_t)dims * sizeof(int));
	memcpy(d->stride, stride, (size_t)dims * sizeof(int));
	memcpy(d->dilation, dilation, (size_t)dims * sizeof(int));
	return 0;
}

SIM_ENTRY int cudnnGetConvolutionNdDescriptor(const struct cudnn_desc *d, int wanted, int *dims,
					      int *pad, int *stride, int *dilation, int *mode,
					      int *type)
{
	size_t bytes = (size_t)least(wanted, d->dims) * sizeof(int);

	*dims = d->dims;
	*mode = d->mode;
	*type = d->type;
	memcpy(pad, d->pad, bytes);
	memcpy(stride, d->stride, bytes);
	memcpy(dilation, d->dilation, bytes);
	return 0;
}

SIM_ENTRY int cudnnSetConvolutionMathType(struct cudnn_desc *d, int math)
{
	d->math = math;
	return 0;
}

SIM_ENTRY int cudnnGetConvolutionMathType(const struct cudnn_desc *d, int *math)
{
	*math = d->math;
	return 0;
}

SIM_ENTRY int cudnnSetRNNDescriptor_v8(struct cudnn_desc *d, int algo, int cell, int bias,
				       int directions, int input_mode, int type, int precision,
				       int math, int input, int hidden, int projected, int layers,
				       void *dropout, unsigned flags)
{
	int number[12] = {algo,      cell, bias,  directions, input_mode, type,
			  precision, math, input, hidden,     projected,  layers};

	memcpy(d->number, number, sizeof(number));
	return 0;
}

SIM_ENTRY int cudnnGetRNNDescriptor_v8(const struct cudnn_desc *d, int *algo, int *cell, int *bias,
				       int *directions, int *input_mode, int *type, int *precision,
				       int *math, int *input, int *hidden, int *projected,
				       int *layers, void **dropout, unsigned *flags)
{
	int *out[12] = {algo,      cell, bias,  directions, input_mode, type,
			precision, math, input, hidden,     projected,  layers};

	for (int i = 0; i < 12; i++)
		*out[i] = d->number[i];
	*dropout = NULL;
	*flags = 0;
	return 0;
}

SIM_ENTRY int cudnnSetRNNDataDescriptor(struct cudnn_desc *d, int type, int layout, int steps,
					int batch, int vector, const int *lengths, void *fill)
{
	int number[5] = {type, layout, steps, batch, vector};

	memcpy(d->number, number, sizeof(number));
	d->length = malloc((size_t)batch * sizeof(int));
	memcpy(d->length, lengths, (size_t)batch * sizeof(int));
	return 0;
}

SIM_ENTRY int cudnnGetRNNDataDescriptor(const struct cudnn_desc *d, int *type, int *layout,
					int *steps, int *batch, int *vector, int wanted,
					int *lengths, void *fill)
{
	int *out[5] = {type, layout, steps, batch, vector};

	for (int i = 0; i < 5; i++)
		*out[i] = d->number[i];
	memcpy(lengths, d->length, (size_t)least(wanted, d->number[3]) * sizeof(int));
	return 0;
}

/* The graph API: descriptors of any kind; heuristics fill the configurations that they are given.
 */
SIM_ENTRY int cudnnBackendCreateDescriptor(int kind, void **d)
{
	int *made = calloc(1, 64);

	*made = kind;
	*d = made;
	return 0;
}

SIM_ENTRY int cudnnBackendDestroyDescriptor(void *d)
{
	free(d);
	return 0;
}

SIM_ENTRY int cudnnBackendSetAttribute(void *d, int name, int type, int64_t count,
				       const void *elements)
{
	return d && elements && count > 0 ? 0 : 3000;
}

SIM_ENTRY int cudnnBackendGetAttribute(void *d, int name, int type, int64_t wanted, int64_t *count,
				       void *elements)
{
	if (count)
		*count = 1;
	return d ? 0 : 3000;
}

SIM_ENTRY int cudnnBackendFinalize(void *d)
{
	return d ? 0 : 3000;
}

SIM_ENTRY int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
	last.count++;
	run("sm90_xmma_fprop_implicit_gemm", stream_of_all);
	return handle && plan && pack ? 0 : 3000;
}

SIM_ENTRY int cudnnBackendPopulateCudaGraph(void *handle, void *plan, void *pack, void *graph)
{
	return handle && plan && pack && graph ? 0 : 3000;
}

SIM_ENTRY int cudnnBackendUpdateCudaGraph(void *handle, void *plan, void *pack, void *graph)
{
	return handle && plan && pack && graph ? 0 : 3000;
}

static int called(const char *name, const uint64_t *words)
{
	note(name, words);
	run("sm80_xmma_fprop_implicit_gemm", stream_of_all);
	return 0;
}

#else

/* A communicator is its number of ranks. Calls of a group run at its end. */
static __thread int depth;
static __thread void *waiting;
static __thread bool any;

SIM_ENTRY int ncclCommInitAll(void **comm, int ranks, const int *devices)
{
	int *made = malloc(sizeof(*made));

	*made = ranks;
	*comm = made;
	return 0;
}

SIM_ENTRY int ncclCommCount(const void *comm, int *ranks)
{
	*ranks = *(const int *)comm;
	return 0;
}

SIM_ENTRY int ncclGroupStart(void)
{
	depth++;
	return 0;
}

SIM_ENTRY int ncclGroupEnd(void)
{
	if (--depth == 0 && any) {
		any = false;
		run("ncclDevKernel_AllReduce_Sum_f32_RING_LL", waiting);
	}
	return 0;
}

/* The stream is the last argument; which one that is depends on the function. */
static void *stream_of(const char *name, const uint64_t *words)
{
	unsigned at = !strcmp(name, "ncclReduce") ? 7
		      : !strcmp(name, "ncclAllGather") || !strcmp(name, "ncclAlltoAll") ||
				      !strcmp(name, "ncclBcast") || !strcmp(name, "ncclSend") ||
				      !strcmp(name, "ncclRecv")
			      ? 5
			      : 6;

	return (void *)(uintptr_t)words[at];
}

static int called(const char *name, const uint64_t *words)
{
	void *stream = stream_of(name, words);

	note(name, words);
	if (depth) {
		any = true;
		waiting = stream;
		return 0;
	}
	run("ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream);
	return 0;
}

#endif
