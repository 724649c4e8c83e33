/*
 * tensor_bf16: multiplies the same bf16 tiles again and again, sums in fp32 registers.
 *
 * Saturates: the tensor cores. Metric: sm__pipe_tensor_cycles_active. Leaf: compute (without
 * counters: unknown).
 *
 * Compute capability 9.0 reaches its peak with wgmma alone (mma.sync gives about 60 % of it), which
 * exists in code for sm_90a only. Elsewhere mma.sync, the way to the peak of 8.x; 10.0 and later
 * need tcgen05 for theirs, which is not here: there cuBLAS (`boundshim-kernels calibrate`) is the
 * measure.
 *
 * A is in registers in both (a warp holds 16 rows; the fragment layout of m16n8k16 and m64nNk16 is
 * the same: PTX ISA, "Matrix fragments for wgmma.mma_async.m64nNk16"). Elements are -1, 0 or 1, so
 * that all sums are whole numbers below 2^18 and exact.
 */
#include <stdlib.h>

#include "kernels/check.h"
#include "kernels/kernels.h"

static constexpr unsigned BLOCK = 256, WARP = 32, GROUP = 128, WAVES = 4, STEPS = 512;
static constexpr unsigned ROWS = 64, COLUMNS = 128; /* of the product of a warpgroup */
static constexpr unsigned TILE = ROWS * COLUMNS;

static __host__ __device__ int element_a(unsigned row, unsigned k)
{
	return (int)((pattern(row * 64 + k) >> 16) % 3) - 1;
}

static __host__ __device__ int element_b(unsigned k, unsigned column)
{
	return (int)((pattern(column * 64 + k + 8192) >> 16) % 3) - 1;
}

/* bf16 is the upper half of an fp32. */
static __device__ uint32_t bf16_of(int value)
{
	return __float_as_uint((float)value) >> 16;
}

/* Elements k and k + 1 of a row of A, the first in the lower half. */
static __device__ uint32_t pair_a(unsigned row, unsigned k)
{
	return bf16_of(element_a(row, k)) | bf16_of(element_a(row, k + 1)) << 16;
}

static __device__ uint32_t pair_b(unsigned k, unsigned column)
{
	return bf16_of(element_b(k, column)) | bf16_of(element_b(k + 1, column)) << 16;
}

/* What a lane holds of 16 rows and the 16 values of k from `k` on. */
static __device__ void load_a(uint32_t a[4], unsigned first_row, unsigned k)
{
	unsigned lane = threadIdx.x % WARP, row = first_row + lane / 4, pair = k + lane % 4 * 2;

	a[0] = pair_a(row, pair);
	a[1] = pair_a(row + 8, pair);
	a[2] = pair_a(row, pair + 8);
	a[3] = pair_a(row + 8, pair + 8);
}

/* Sum 4j + i of a lane is at row (lane / 4, 8 more for i of 2 and 3), column 8j + lane % 4 * 2 (1
 * more for odd i). */
static __device__ void store(float *tile, const float sum[64])
{
	unsigned lane = threadIdx.x % WARP, row = threadIdx.x % GROUP / WARP * 16 + lane / 4;

#pragma unroll
	for (unsigned j = 0; j < COLUMNS / 8; j++) {
		float *at = tile + row * COLUMNS + 8 * j + lane % 4 * 2;

		at[0] = sum[4 * j];
		at[1] = sum[4 * j + 1];
		at[8 * COLUMNS] = sum[4 * j + 2];
		at[8 * COLUMNS + 1] = sum[4 * j + 3];
	}
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

static constexpr unsigned DEPTH = 64; /* values of k in a step: one row of 128 bytes */
static constexpr unsigned SLICES = DEPTH / 16, ROW_BYTES = DEPTH * 2;
/* Of shared memory: start (in 16 bytes) in bits 0-13, 1024 bytes between groups of 8 rows in bits
 * 32-45, swizzling in rows of 128 bytes in bits 62-63 (PTX ISA, "Matrix descriptor"). */
static constexpr uint64_t DESCRIPTOR = (uint64_t)1 << 62 | (uint64_t)(1024 / 16) << 32;

#define SUMS4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define SUMS16(i) SUMS4(i), SUMS4(i + 4), SUMS4(i + 8), SUMS4(i + 12)

/* sum += A (64 x 16, registers) x B (16 x 128, shared memory), by a whole warpgroup. */
static __device__ void multiply(float sum[64], const uint32_t a[4], uint64_t b)
{
	asm volatile(
		"{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
		"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
		"{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
		"%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
		"%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
		"%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
		"{%64, %65, %66, %67}, %68, p, 1, 1, 0;\n}"
		: SUMS16(0), SUMS16(16), SUMS16(32), SUMS16(48)
		: "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

static __device__ void fill_b(uint8_t *tile)
{
	for (unsigned i = threadIdx.x; i < COLUMNS * DEPTH / 2; i += BLOCK) {
		unsigned column = i / (DEPTH / 2), k = i % (DEPTH / 2) * 2;
		/* The 16 bytes at place c of row r stand at place c ^ r % 8. */
		unsigned place = (k / 8 ^ column % 8) * 16 + k % 8 * 2;

		*(uint32_t *)(tile + column * ROW_BYTES + place) = pair_b(k, column);
	}
	/* Written by stores, to be read by the tensor cores: two proxies. */
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
}

static __device__ void multiply_steps(float sum[64], unsigned steps)
{
	__shared__ __align__(1024) uint8_t tile[COLUMNS * ROW_BYTES];
	uint64_t b = DESCRIPTOR | (uint64_t)(__cvta_generic_to_shared(tile) / 16);
	uint32_t a[SLICES][4];

	fill_b(tile);
#pragma unroll
	for (unsigned k = 0; k < SLICES; k++)
		load_a(a[k], threadIdx.x % GROUP / WARP * 16, k * 16);
	for (unsigned step = 0; step < steps; step += 2) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (unsigned k = 0; k < 2 * SLICES; k++)
			multiply(sum, a[k % SLICES], b + k % SLICES * 32 / 16);
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	}
}

#else

static constexpr unsigned DEPTH = 16, TILES = COLUMNS / 8;

/* sum += A (16 x 16) x B (16 x 8), by a warp. */
static __device__ void multiply(float *sum, const uint32_t a[4], const uint32_t b[2])
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
		     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Four products of depth 16 for each step, as much work as one of depth 64. */
static __device__ void multiply_steps(float sum[64], unsigned steps)
{
	unsigned lane = threadIdx.x % WARP, pair = lane % 4 * 2;
	uint32_t a[4], b[TILES][2];

	load_a(a, threadIdx.x % GROUP / WARP * 16, 0);
#pragma unroll
	for (unsigned j = 0; j < TILES; j++) {
		b[j][0] = pair_b(pair, 8 * j + lane / 4);
		b[j][1] = pair_b(pair + 8, 8 * j + lane / 4);
	}
	for (unsigned step = 0; step < 4 * steps; step++) {
#pragma unroll
		for (unsigned j = 0; j < TILES; j++)
			multiply(sum + 4 * j, a, b[j]);
	}
}

#endif

/* Each warpgroup's sums, and behind the last the depth of the product, which depends on what the
 * code was compiled for. */
__global__ void __launch_bounds__(BLOCK, 2) tensor_bf16(float *target, unsigned steps)
{
	size_t group = (size_t)blockIdx.x * (BLOCK / GROUP) + threadIdx.x / GROUP;
	float sum[64];

#pragma unroll
	for (unsigned i = 0; i < 64; i++)
		sum[i] = 0;
	multiply_steps(sum, steps);
	store(target + group * TILE, sum);
	if (group == 0 && threadIdx.x == 0)
		target[(size_t)gridDim.x * (BLOCK / GROUP) * TILE] = DEPTH;
}

void tensor_bf16_prepare(struct work *work)
{
	size_t groups;

	work_fill_device(work, (const void *)tensor_bf16, BLOCK, WAVES);
	groups = work_thread_count(work) / GROUP;
	work_target(work, (groups * TILE + 1) * sizeof(float));
	work->operations = 2.0 * TILE * 64 * STEPS * (double)groups;
}

void tensor_bf16_launch(const struct work *work)
{
	tensor_bf16<<<work->blocks, work->threads>>>((float *)work->target, STEPS);
}

static float expected_sum(unsigned row, unsigned column, unsigned depth)
{
	int sum = 0;

	for (unsigned k = 0; k < depth; k++)
		sum += element_a(row, k) * element_b(k, column);
	return (float)(sum * (int)(STEPS * (64 / depth)));
}

bool tensor_bf16_check(const struct work *work)
{
	size_t sums = work->target_bytes / sizeof(float) - 1;
	float *product = (float *)work_fetch(work), expected[TILE];
	float depth = product[sums];
	bool right = depth == 16 || depth == 64;

	for (unsigned i = 0; right && i < TILE; i++)
		expected[i] = expected_sum(i / COLUMNS, i % COLUMNS, (unsigned)depth);
	for (size_t i = 0; right && i < sums; i++)
		right = product[i] == expected[i % TILE];
	free(product);
	return right;
}
