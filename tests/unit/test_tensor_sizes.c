/* Sizes told by other kernels and library calls, and what library calls tell of peaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/arithmetic.h"
#include "analysis/tensor_sizes.h"
#include "shim/trace/format.h"

#define KNOWN (BST_ENUM_SHAPE_FLAG_FLOPS | BST_ENUM_SHAPE_FLAG_BYTES)

enum {
	NORM,
	GAMMA,
	SOFTMAX,
	BATCH_NORM,
	GEMM,
	CONVOLUTION,
	SIGNATURES,
};

struct scene {
	struct signature signature[SIGNATURES];
	struct kernel_survey seen[SIGNATURES];
	struct vocabulary vocabulary;
	struct device_survey survey;
	struct library *library;
};

static const uint8_t roles[SIGNATURES] = {
	[GEMM] = LIBRARY_MAIN,
	[CONVOLUTION] = LIBRARY_MAIN,
};

static uint64_t moment(uint64_t id, unsigned i)
{
	return id * 1000000 + i * 100;
}

static void calls(struct library *l, uint64_t id, const struct library_shape *shape, unsigned count)
{
	assert_int_equal(library_add_shape(l, id, shape, NULL, 0), 0);
	for (unsigned i = 0; i < count; i++) {
		const struct library_call call = {.begin_ns = moment(id, i),
						  .end_ns = moment(id, i) + 50,
						  .thread = 1,
						  .shape = (uint32_t)id};

		assert_int_equal(library_add_call(l, &call), 0);
	}
}

static void kernels(struct library *l, uint64_t id, uint32_t signature, unsigned count, uint64_t ns)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t at = library_at(l, 1, moment(id, i) + 10);

		assert_true(at > 0);
		assert_int_equal(library_add_kernel(l, at, signature, ns), 0);
	}
}

static void set(struct scene *s, unsigned at, const char *name, uint32_t grid_x, uint32_t grid_y,
		uint32_t block_x, uint32_t block_y, uint64_t launches)
{
	s->signature[at] = (struct signature){.name = name,
					      .grid = {grid_x, grid_y, 1},
					      .block = {block_x, block_y, 1},
					      .known = true};
	s->seen[at] = (struct kernel_survey){launches, launches * 1000};
}

/* 100 steps: a matrix product of 4096 rows of 30522, convolutions to 256 filters of 56 x 56 and of 28 x
 * 28. */
static void begin(struct scene *s)
{
	static const struct library_shape shapes[] = {
		{.operation = BST_ENUM_OPERATION_GEMM,
		 .flags = KNOWN,
		 .m = 30522,
		 .n = 4096,
		 .k = 768},
		{.operation = BST_ENUM_OPERATION_GEMM,
		 .flags = KNOWN,
		 .m = 768,
		 .n = 4096,
		 .k = 30522},
		{.operation = BST_ENUM_OPERATION_CONV_FORWARD,
		 .flags = KNOWN,
		 .m = 401408,
		 .n = 256,
		 .k = 64},
		{.operation = BST_ENUM_OPERATION_CONV_FORWARD,
		 .flags = KNOWN,
		 .m = 100352,
		 .n = 256,
		 .k = 512},
		{.operation = BST_ENUM_OPERATION_CONV_FORWARD,
		 .flags = KNOWN,
		 .m = 25088,
		 .n = 256,
		 .k = 512},
	};
	static const unsigned counts[] = {100, 100, 300, 101, 77};

	memset(s, 0, sizeof(*s));
	set(s, NORM, "vectorized_layer_norm_kernel", 4096, 1, 32, 4, 1000);
	set(s, GAMMA, "GammaBetaBackwardCUDAKernelTemplate", 24, 1, 32, 32, 1000);
	set(s, SOFTMAX, "cunn_SoftMaxForward", 4096, 1, 1024, 1, 100);
	set(s, BATCH_NORM, "batch_norm_transform_input_channels_last_kernel", 8, 128, 32, 16, 400);
	set(s, GEMM, "gemm", 1, 1, 1, 1, 200);
	set(s, CONVOLUTION, "conv", 1, 1, 1, 1, 478);
	s->vocabulary.signature = s->signature;
	s->vocabulary.signature_count = SIGNATURES;
	s->survey.kernel = s->seen;
	s->library = library_create(roles, SIGNATURES);
	assert_non_null(s->library);
	for (unsigned i = 0; i < 5; i++)
		calls(s->library, i + 1, &shapes[i], counts[i]);
	assert_int_equal(library_ready(s->library), 0);
	for (unsigned i = 0; i < 5; i++)
		kernels(s->library, i + 1, i < 2 ? GEMM : CONVOLUTION, counts[i], 1000);
	assert_int_equal(library_finish(s->library), 0);
}

static struct tensor_sizes sizes_of(const struct scene *s, uint32_t signature)
{
	struct tensor_sources sources = tensor_sources_of(&s->vocabulary, &s->survey, s->library);

	return tensor_sizes_of(&sources, signature);
}

static void rows_and_channels_are_those_of_the_producers(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	assert_float_equal(sizes_of(&s, NORM).row, 768, 0);
	assert_float_equal(sizes_of(&s, SOFTMAX).row, 30522, 0);
	/* 300 of 401408 and 101 of 100352; 25088 rows would have fewer blocks */
	assert_float_equal(sizes_of(&s, BATCH_NORM).channel,
			   (300 * 401408.0 + 101 * 100352.0) / 401, 1e-6);
	assert_float_equal(sizes_of(&s, GEMM).row + sizes_of(&s, GEMM).channel, 0, 0);
	library_destroy(s.library);
}

static void what_does_not_match_tells_nothing(void **state)
{
	struct scene s;

	(void)state;
	begin(&s);
	s.seen[SOFTMAX].launches = 200;
	s.seen[BATCH_NORM].launches = 300;
	assert_float_equal(sizes_of(&s, SOFTMAX).row, 0, 0);
	assert_float_equal(sizes_of(&s, BATCH_NORM).channel, 0, 0);
	/* two norms of different rows */
	set(&s, GEMM, "GammaBetaBackwardCUDAKernelTemplate", 32, 1, 32, 32, 10);
	assert_float_equal(sizes_of(&s, NORM).row, 0, 0);
	library_destroy(s.library);
	s.library = NULL;
	assert_float_equal(sizes_of(&s, SOFTMAX).row, 0, 0);
}

static const struct device_attributes h200 = {9, 0, 132, 1980000, 3201000, 6016, 62914560};

static struct kernel_arithmetic arithmetic_for(const struct library_shape *shapes, unsigned count,
					       const uint64_t *ns)
{
	struct ceilings peaks = ceilings_derive(&h200);
	struct library *l = library_create(roles, SIGNATURES);
	struct kernel_arithmetic found;

	assert_non_null(l);
	for (unsigned i = 0; i < count; i++)
		calls(l, i + 1, &shapes[i], 1);
	assert_int_equal(library_ready(l), 0);
	for (unsigned i = 0; i < count; i++)
		kernels(l, i + 1, GEMM, 1, ns[i]);
	assert_int_equal(library_finish(l), 0);
	assert_true(arithmetic_of(l, GEMM, count, &peaks, &found));
	library_destroy(l);
	return found;
}

/* H200: 132 x 4096 x 1.98e9 = 1070 TFLOP/s, 989 by the data sheet. */
static void attention_counts_half_and_waits_for_its_exponentials(void **state)
{
	const uint64_t ns = 1000000;
	struct library_shape shape = {.operation = BST_ENUM_OPERATION_ATTENTION_BACKWARD,
				      .type = {BST_ENUM_DATA_TYPE_BF16},
				      .flags = KNOWN,
				      .k = 64,
				      .flops = 791000000000,
				      .bytes = 1000000000};
	struct kernel_arithmetic a = arithmetic_for(&shape, 1, &ns);

	(void)state;
	/* 791 of 989 TFLOP/s, or half of that under a causal mask */
	assert_float_equal(a.flops_pct.high, 80, 0.2);
	assert_float_equal(a.flops_pct.low, 40, 0.1);
	assert_float_equal(a.flops_pct.value, 60, 0.2);
	/* 256 FLOPs at 4096 a clock, one exponential at 16 */
	shape.operation = BST_ENUM_OPERATION_ATTENTION_FORWARD;
	a = arithmetic_for(&shape, 1, &ns);
	assert_float_equal(a.flops_pct.high, 50, 0.1);
	shape.k = 128;
	assert_float_equal(arithmetic_for(&shape, 1, &ns).flops_pct.high, 66.7, 0.1);
	assert_float_equal(a.flops.value, 791e9, 1);
}

static void a_mean_of_unlike_shapes_decides_nothing(void **state)
{
	/* one at 75 % of the tensor cores, one at 75 % of DRAM */
	static const struct library_shape shapes[] = {
		{.operation = BST_ENUM_OPERATION_GEMM,
		 .type = {BST_ENUM_DATA_TYPE_BF16},
		 .flags = KNOWN,
		 .flops = 742000000000,
		 .bytes = 100000000},
		{.operation = BST_ENUM_OPERATION_GEMM,
		 .type = {BST_ENUM_DATA_TYPE_BF16},
		 .flags = KNOWN,
		 .flops = 100000000000,
		 .bytes = 3600000000},
	};
	static const uint64_t equal[] = {1000000, 1000000}, mostly_first[] = {1000000, 1000};
	struct kernel_arithmetic a = arithmetic_for(shapes, 2, equal);
	struct decide_input in = {0};

	(void)state;
	assert_float_equal(a.alike, 0, 1e-9);
	arithmetic_decide_input(&a, &in);
	assert_false(in.unit_pct[UNIT_COMPUTE].known);
	a = arithmetic_for(shapes, 1, mostly_first);
	assert_float_equal(a.alike, 1, 1e-9);
	arithmetic_decide_input(&a, &in);
	assert_int_equal(in.evidence, EVIDENCE_LIBRARY);
	assert_float_equal(in.unit_pct[UNIT_COMPUTE].value, 75, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_and_channels_are_those_of_the_producers),
		cmocka_unit_test(what_does_not_match_tells_nothing),
		cmocka_unit_test(attention_counts_half_and_waits_for_its_exponentials),
		cmocka_unit_test(a_mean_of_unlike_shapes_decides_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
