/*
 * D = transposed(A) x B, all column-major: the one form that every type has (fp8 and int8 have no
 * other). Results are compared with sums in double over the very elements.
 */
#include "kernels/gemm.h"

#include <math.h>

#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/check.h"
#include "kernels/cublaslt.h"

#define LARGE 8192
#define MEDIUM 4096 /* fp64, at a fifteenth of the bf16 rate */
#define WORKSPACE_BYTES ((size_t)64 << 20)
#define WARM_S 0.15 /* clocks settle under the power limit */
#define PRODUCTS 100
#define CANDIDATES 8
#define TRIALS 4
#define LONG_S 0.02 /* of a product so long (fp64 on GeForce) the first candidate is taken */
#define CHECKED 16

struct kind {
	cudaDataType input, output, scale;
	int compute;
	int cc; /* least compute capability, times ten */
	size_t input_bytes, output_bytes;
	unsigned size;
	double tolerance; /* of the root mean square of the checked elements */
};

static const struct kind kinds[GEMM_TYPES] = {
	{CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, LT_COMPUTE_32F, 80, 2, 2, LARGE, 1e-2},
	{CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, LT_COMPUTE_32F, 75, 2, 2, LARGE, 2e-3},
	{CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, LT_COMPUTE_32F_FAST_TF32, 80, 4, 4, LARGE, 2e-3},
	{CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, LT_COMPUTE_32F, 89, 1, 2, LARGE, 5e-2},
	{CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, LT_COMPUTE_32I, 75, 1, 4, LARGE, 0},
	{CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, LT_COMPUTE_64F, 80, 8, 8, MEDIUM, 1e-12},
};

/* Even over -1 to 1: all bits of the significand move, as in real data. */
static __device__ float random_value(size_t i)
{
	uint32_t x = pattern(i) ^ (uint32_t)(i >> 7);

	x = (x ^ x >> 15) * 0x85ebca6bu;
	x = (x ^ x >> 13) * 0xc2b2ae35u;
	return (float)(int32_t)(x ^ x >> 16) * (1.0f / 2147483648.0f);
}

template <typename T> static __device__ T converted(float value)
{
	return (T)value;
}

template <> __device__ int8_t converted<int8_t>(float value)
{
	return (int8_t)(value * 127);
}

template <typename T> static __global__ void random_fill(T *data, size_t count, size_t first)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		data[i] = converted<T>(random_value(first + i));
}

static void fill(void *data, cudaDataType type, size_t count, size_t first)
{
	switch (type) {
	case CUDA_R_16BF:
		random_fill<<<4096, 256>>>((__nv_bfloat16 *)data, count, first);
		break;
	case CUDA_R_16F:
		random_fill<<<4096, 256>>>((__half *)data, count, first);
		break;
	case CUDA_R_32F:
		random_fill<<<4096, 256>>>((float *)data, count, first);
		break;
	case CUDA_R_8F_E4M3:
		random_fill<<<4096, 256>>>((__nv_fp8_e4m3 *)data, count, first);
		break;
	case CUDA_R_8I:
		random_fill<<<4096, 256>>>((int8_t *)data, count, first);
		break;
	default:
		random_fill<<<4096, 256>>>((double *)data, count, first);
	}
	CHECK(cudaGetLastError());
}

/* Element i of host memory. */
static double element(const void *data, cudaDataType type, size_t i)
{
	switch (type) {
	case CUDA_R_16BF:
		return (double)(float)((const __nv_bfloat16 *)data)[i];
	case CUDA_R_16F:
		return (double)(float)((const __half *)data)[i];
	case CUDA_R_32F:
		return (double)((const float *)data)[i];
	case CUDA_R_8F_E4M3:
		return (double)(float)((const __nv_fp8_e4m3 *)data)[i];
	case CUDA_R_8I:
		return (double)((const int8_t *)data)[i];
	case CUDA_R_32I:
		return (double)((const int32_t *)data)[i];
	default:
		return ((const double *)data)[i];
	}
}

struct product {
	const struct kind *kind;
	const struct cublaslt *lt;
	void *handle, *desc, *preference;
	void *input_layout, *output_layout;        /* A and B are both size x size */
	struct lt_heuristic candidate[CANDIDATES]; /* the library's best guess first */
	int candidates;
	const struct lt_heuristic *best;
	char *a, *b, *d, *workspace;
};

static size_t matrix_count(const struct kind *kind)
{
	return (size_t)kind->size * kind->size;
}

static void allocate(struct product *p)
{
	size_t count = matrix_count(p->kind);

	CHECK(cudaMalloc(&p->a, count * p->kind->input_bytes));
	CHECK(cudaMalloc(&p->b, count * p->kind->input_bytes));
	CHECK(cudaMalloc(&p->d, count * p->kind->output_bytes));
	CHECK(cudaMalloc(&p->workspace, WORKSPACE_BYTES));
	fill(p->a, p->kind->input, count, 0);
	fill(p->b, p->kind->input, count, count);
	/* Poison: a NaN in every floating-point type. */
	CHECK(cudaMemset(p->d, 0xFF, count * p->kind->output_bytes));
}

/* False where the library refuses. */
static bool describe(struct product *p)
{
	const struct cublaslt *lt = p->lt;
	const struct kind *kind = p->kind;
	int transpose = LT_OPERATION_TRANSPOSE;
	size_t workspace = WORKSPACE_BYTES;
	int8_t fast = 1;
	bool done;

	done = !lt->create(&p->handle) && !lt->desc_create(&p->desc, kind->compute, kind->scale) &&
	       !lt->desc_set(p->desc, LT_DESC_TRANSA, &transpose, sizeof(transpose)) &&
	       !lt->layout_create(&p->input_layout, kind->input, kind->size, kind->size,
				  kind->size) &&
	       !lt->layout_create(&p->output_layout, kind->output, kind->size, kind->size,
				  kind->size) &&
	       !lt->preference_create(&p->preference) &&
	       !lt->preference_set(p->preference, LT_PREFERENCE_MAX_WORKSPACE_BYTES, &workspace,
				   sizeof(workspace));
	if (done && kind->input == CUDA_R_8F_E4M3)
		done = !lt->desc_set(p->desc, LT_DESC_FAST_ACCUM, &fast, sizeof(fast));
	return done &&
	       !lt->heuristic(p->handle, p->desc, p->input_layout, p->input_layout,
			      p->output_layout, p->output_layout, p->preference, CANDIDATES,
			      p->candidate, &p->candidates) &&
	       p->candidates > 0 && p->candidate[0].state == 0;
}

static void release(struct product *p)
{
	const struct cublaslt *lt = p->lt;

	if (p->preference)
		lt->preference_destroy(p->preference);
	if (p->output_layout)
		lt->layout_destroy(p->output_layout);
	if (p->input_layout)
		lt->layout_destroy(p->input_layout);
	if (p->desc)
		lt->desc_destroy(p->desc);
	if (p->handle)
		lt->destroy(p->handle);
	CHECK(cudaFree(p->a));
	CHECK(cudaFree(p->b));
	CHECK(cudaFree(p->d));
	CHECK(cudaFree(p->workspace));
}

static int multiply(const struct product *p)
{
	static const float one = 1, zero = 0;
	static const double one64 = 1, zero64 = 0;
	static const int32_t one32 = 1, zero32 = 0;
	const void *alpha = &one, *beta = &zero;

	if (p->kind->scale == CUDA_R_64F) {
		alpha = &one64;
		beta = &zero64;
	} else if (p->kind->scale == CUDA_R_32I) {
		alpha = &one32;
		beta = &zero32;
	}
	return p->lt->matmul(p->handle, p->desc, alpha, p->a, p->input_layout, p->b,
			     p->input_layout, beta, p->d, p->output_layout, p->d, p->output_layout,
			     &p->best->algorithm, p->workspace, WORKSPACE_BYTES, 0);
}

/* The sum over k of A(k, row) x B(k, column), from the columns as they are on the device. */
static double expected(const struct product *p, unsigned row, unsigned column)
{
	size_t bytes = p->kind->size * p->kind->input_bytes;
	std::vector<char> a(bytes), b(bytes);
	double sum = 0;

	CHECK(cudaMemcpy(a.data(), p->a + row * bytes, bytes, cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(b.data(), p->b + column * bytes, bytes, cudaMemcpyDeviceToHost));
	for (unsigned k = 0; k < p->kind->size; k++)
		sum += element(a.data(), p->kind->input, k) * element(b.data(), p->kind->input, k);
	return sum;
}

static double result(const struct product *p, unsigned row, unsigned column)
{
	char value[8];
	size_t at = ((size_t)column * p->kind->size + row) * p->kind->output_bytes;

	CHECK(cudaMemcpy(value, p->d + at, p->kind->output_bytes, cudaMemcpyDeviceToHost));
	return element(value, p->kind->output, 0);
}

/* Elements all over the matrix, first and last row and column among them. */
static bool is_right(const struct product *p)
{
	double error = 0, norm = 0;

	for (unsigned i = 0; i < CHECKED; i++) {
		unsigned row = i * (p->kind->size - 1) / (CHECKED - 1);
		unsigned column = i * 7 % CHECKED * (p->kind->size - 1) / (CHECKED - 1);
		double want = expected(p, row, column), have = result(p, row, column);

		error += (have - want) * (have - want);
		norm += want * want;
	}
	/* Not a number is not right. */
	return sqrt(error) <= p->kind->tolerance * sqrt(norm);
}

/* Infinite where the library refuses. */
static double shortest_trial(const struct product *p)
{
	bool refused = false;
	std::vector<double> seconds =
		measure_seconds([&] { refused |= multiply(p) != 0; }, 0, TRIALS);

	return refused ? INFINITY : *std::min_element(seconds.begin(), seconds.end());
}

/*
 * The fastest of the library's candidates: its guess is by a model, and may be a kernel for sm_80,
 * whose mma.sync reaches 0.6 of what wgmma does on 9.0 (pytorch/pytorch#187094 has one for int8).
 * For int8 on an H200 the first (CUDA 13.0) reached 56 % of the peak where fp8 reached 67 %.
 */
static void choose(struct product *p)
{
	const struct lt_heuristic *fastest = &p->candidate[0];
	double least = INFINITY;

	for (int i = 0; i < p->candidates; i++) {
		double seconds;

		if (p->candidate[i].state != 0)
			continue;
		p->best = &p->candidate[i];
		seconds = shortest_trial(p);
		if (seconds < least) {
			least = seconds;
			fastest = p->best;
		}
		if (least > LONG_S && least < INFINITY)
			break;
	}
	p->best = fastest;
}

static struct measured measure_product(struct product *p)
{
	double operations = 2.0 * p->kind->size * matrix_count(p->kind);
	std::vector<double> rates;
	bool refused = false;

	if (!describe(p))
		return measured_not("cuBLASLt has no such product for this device");
	choose(p);
	for (double s : measure_seconds([&] { refused |= multiply(p) != 0; }, WARM_S, PRODUCTS))
		rates.push_back(operations / s);
	if (refused)
		return measured_not("cuBLASLt refused the product");
	if (!is_right(p))
		return measured_not("its result is wrong");
	return measured_of(rates, "op/s");
}

struct measured measure_gemm(const struct gpu *gpu, enum gemm_type type)
{
	static struct cublaslt lt;
	static const char *missing = cublaslt_load(&lt);
	struct product p = {};
	struct measured m;

	p.kind = &kinds[type];
	p.lt = &lt;
	if (missing)
		return measured_not(missing);
	if (10 * gpu->cc_major + gpu->cc_minor < p.kind->cc)
		return measured_not("this device's tensor cores do not have the type");
	if (gpu->memory_bytes < (size_t)3 << 30)
		return measured_not("the device has under 3 GiB of memory");
	allocate(&p);
	m = measure_product(&p);
	release(&p);
	return m;
}
