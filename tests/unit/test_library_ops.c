/* The arithmetic of library calls: FLOPs, least bytes, scalars, overlapping batches; shapes
 * interned once by any number of threads; cuDNN graphs followed from tensors to plans. Every hooked
 * entry point is called in e2e/library_calls.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <cmocka.h>

#include "shim/api.h"
#include "shim/cublas.h"
#include "shim/cudnn_graph.h"
#include "shim/data_type.h"
#include "shim/loss.h"
#include "shim/real.h"
#include "shim/shapes.h"
#include "shim/trace/format.h"

#define F(name) BST_ENUM_SHAPE_FLAG_##name
#define T(name) BST_ENUM_DATA_TYPE_##name
#define KNOWN (F(FLOPS) | F(BYTES))

static struct gemm plain(int64_t m, int64_t n, int64_t k, int64_t batch, uint8_t type)
{
	struct matrices matrix = {.type = type};
	struct gemm g = {
		.library = BST_ENUM_LIBRARY_CUBLAS,
		.m = m,
		.n = n,
		.k = k,
		.batch = batch,
		.a = matrix,
		.b = matrix,
		.c = matrix,
		.d = matrix,
		.alpha = SCALAR_OTHER,
		.beta = SCALAR_ZERO,
	};

	g.a.ld = m;
	g.b.ld = k;
	g.c.ld = g.d.ld = m;
	/* as unsigned numbers: the sizes may be beyond sense */
	g.a.stride = (int64_t)((uint64_t)m * (uint64_t)k);
	g.b.stride = (int64_t)((uint64_t)k * (uint64_t)n);
	g.c.stride = g.d.stride = (int64_t)((uint64_t)m * (uint64_t)n);
	return g;
}

static void flops_of_a_gemm_are_2_m_n_k_batch(void **state)
{
	static const uint8_t types[] = {T(F32),     T(F64), T(F16), T(BF16),
					T(F8_E4M3), T(I8),  T(C32), T(C64)};
	struct shape s;

	(void)state;
	for (size_t t = 0; t < sizeof(types); t++)
		for (int64_t m = 1; m < 300; m += 37)
			for (int64_t n = 1; n < 300; n += 53)
				for (int64_t k = 1; k < 100; k += 31)
					for (int64_t batch = 1; batch < 9; batch += 3) {
						struct gemm g = plain(m, n, k, batch, types[t]);
						unsigned each =
							types[t] == T(C32) || types[t] == T(C64)
								? 8
								: 2;

						shape_of_gemm(&s, &g);
						assert_int_equal(
							s.flops,
							each * (uint64_t)(m * n * k * batch));
						assert_int_equal(
							s.bytes,
							(uint64_t)((m * k + k * n + m * n) *
								   batch) *
								data_type_bits(types[t]) / 8);
						assert_int_equal(s.flags, KNOWN);
					}
}

static void the_output_counts_again_where_it_is_read(void **state)
{
	struct gemm g = plain(10, 20, 30, 2, T(F16));
	struct shape s;

	(void)state;
	g.c.type = T(F32);
	g.beta = SCALAR_OTHER;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.bytes, 2 * (2 * (300 + 600 + 200) + 4 * 200));
	assert_int_equal(s.flags, KNOWN | F(READS_C));
	g.beta = SCALAR_UNKNOWN;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.bytes, 2 * 2 * (300 + 600 + 200));
	assert_int_equal(s.flags, KNOWN | F(BETA_UNKNOWN));
}

static void alpha_zero_multiplies_nothing(void **state)
{
	struct gemm g = plain(10, 20, 30, 1, T(F32));
	struct shape s;

	(void)state;
	g.alpha = SCALAR_ZERO;
	g.beta = SCALAR_OTHER;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flops, 0);
	assert_int_equal(s.bytes, 2 * 4 * 200);
}

static void transposes_are_told_and_change_no_count(void **state)
{
	struct gemm g = plain(10, 20, 30, 1, T(F32));
	struct shape s;

	(void)state;
	g.trans_a = 1;
	g.trans_b = 2;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flags, KNOWN | F(TRANS_A) | F(TRANS_B));
	assert_int_equal(s.bytes, 4 * (300 + 600 + 200));
	g = plain(10, 20, 30, 1, T(C32));
	g.trans_a = 2;
	g.trans_b = 3;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flags, KNOWN | F(TRANS_A) | F(CONJ_A) | F(CONJ_B));
}

/* What a batch covers, element by element. */
static uint64_t count_covered(int64_t rows, int64_t columns, int64_t ld, int64_t stride,
			      int64_t batch)
{
	static uint8_t seen[1 << 16];
	uint64_t count = 0;

	memset(seen, 0, sizeof(seen));
	for (int64_t b = 0; b < batch; b++)
		for (int64_t c = 0; c < columns; c++)
			for (int64_t r = 0; r < rows; r++) {
				uint8_t *at = &seen[b * stride + c * ld + r];

				count += !*at;
				*at = 1;
			}
	return count;
}

static void a_batch_is_counted_by_what_it_covers(void **state)
{
	static const int64_t cases[][5] = {
		/* rows, columns, ld, stride, batch */
		{4, 5, 4, 20, 6}, {4, 5, 4, 0, 6},  {4, 5, 8, 0, 6},   {4, 5, 4, 1, 6},
		{4, 5, 4, 4, 6},  {4, 5, 24, 4, 6}, {4, 5, 8, 4, 2},   {7, 3, 70, 7, 10},
		{1, 9, 1, 3, 4},  {9, 1, 9, 2, 4},  {4, 5, 4, 100, 6}, {4, 5, 30, 21, 3},
		{3, 3, 3, 5, 1},  {6, 2, 6, 11, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t *c = cases[i];
		struct matrices columns = {.type = T(U8), .ld = c[2], .stride = c[3]};
		struct matrices rows = {.type = T(U8), .by_row = true, .ld = c[2], .stride = c[3]};
		uint64_t covered = count_covered(c[0], c[1], c[2], c[3], c[4]);
		uint64_t told =
			matrices_bytes(&columns, (uint64_t)c[0], (uint64_t)c[1], (uint64_t)c[4]);

		/* never more than is there; exact where batches are apart, interleaved, dense or
		 * the same */
		if (i == 11 || i == 6)
			assert_true(told <= (uint64_t)(c[0] * c[1] * c[4]) && told >= covered);
		else
			assert_int_equal(told, covered);
		assert_int_equal(told, matrices_bytes(&rows, (uint64_t)c[1], (uint64_t)c[0],
						      (uint64_t)c[4]));
	}
}

static void broadcast_operands_are_flagged(void **state)
{
	struct gemm g = plain(4, 5, 6, 7, T(F32));
	struct shape s;

	(void)state;
	g.a.stride = 0;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flags, KNOWN | F(BROADCAST_A));
	assert_int_equal(s.bytes, 4 * (24 + 7 * (30 + 20)));
	g.batch = 1;
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flags, KNOWN);
}

static void sizes_without_sense_make_nothing_known(void **state)
{
	struct gemm g = plain(-1, 5, 6, 1, T(F32));
	struct shape s;

	(void)state;
	shape_of_gemm(&s, &g);
	assert_false(shape_known(&s));
	g = plain(4, 5, 6, 1, T(UNKNOWN));
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flags, F(FLOPS));
	assert_int_equal(s.flops, 240);
	g = plain(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, T(C64));
	shape_of_gemm(&s, &g);
	assert_int_equal(s.flops, UINT64_MAX);
	assert_int_equal(s.bytes, UINT64_MAX);
}

static void scalars_are_zero_or_not(void **state)
{
	static const float zero = 0, minus = -0.0f, one = 1, nan = NAN,
			   pairs[2][2] = {{0, 0}, {0, 1}};
	static const double wide[2] = {0, 1e-300};
	static const uint16_t half[2] = {0x8000, 0x0001};
	static const int32_t integer[2] = {0, -5};

	(void)state;
	assert_int_equal(scalar_at(&zero, T(F32)), SCALAR_ZERO);
	assert_int_equal(scalar_at(&minus, T(F32)), SCALAR_ZERO);
	assert_int_equal(scalar_at(&one, T(F32)), SCALAR_OTHER);
	assert_int_equal(scalar_at(&nan, T(F32)), SCALAR_OTHER);
	assert_int_equal(scalar_at(pairs[0], T(C32)), SCALAR_ZERO);
	assert_int_equal(scalar_at(pairs[1], T(C32)), SCALAR_OTHER);
	assert_int_equal(scalar_at(&wide[0], T(F64)), SCALAR_ZERO);
	assert_int_equal(scalar_at(&wide[1], T(F64)), SCALAR_OTHER);
	assert_int_equal(scalar_at(wide, T(C64)), SCALAR_OTHER);
	assert_int_equal(scalar_at(&half[0], T(F16)), SCALAR_ZERO);
	assert_int_equal(scalar_at(&half[1], T(BF16)), SCALAR_OTHER);
	assert_int_equal(scalar_at(&integer[0], T(I32)), SCALAR_ZERO);
	assert_int_equal(scalar_at(&integer[1], T(I32)), SCALAR_OTHER);
	assert_int_equal(scalar_at(NULL, T(F32)), SCALAR_UNKNOWN);
	assert_int_equal(scalar_at(&one, T(UNKNOWN)), SCALAR_UNKNOWN);
}

static void scalar_types_follow_the_compute_type(void **state)
{
	(void)state;
	assert_int_equal(cublas_scalar_type(64, T(F16)), T(F16));
	assert_int_equal(cublas_scalar_type(68, T(F16)), T(F32));
	assert_int_equal(cublas_scalar_type(77, T(C32)), T(C32));
	assert_int_equal(cublas_scalar_type(70, T(F64)), T(F64));
	assert_int_equal(cublas_scalar_type(71, T(C64)), T(C64));
	assert_int_equal(cublas_scalar_type(72, T(I8)), T(I32));
	assert_int_equal(cublas_scalar_type(0, T(F32)), T(UNKNOWN));
}

static void four_bit_elements_take_half_a_byte(void **state)
{
	struct gemm g = plain(3, 5, 7, 1, T(F4_E2M1));
	struct shape s;

	(void)state;
	g.d.type = T(BF16);
	shape_of_gemm(&s, &g);
	assert_int_equal(s.bytes, 11 + 18 + 30);
}

static void triangles_count_as_triangles(void **state)
{
	struct blas3 b = {.operation = BST_ENUM_OPERATION_SYRK,
			  .m = 5,
			  .n = 5,
			  .k = 3,
			  .batch = 1,
			  .type_a = T(F32),
			  .type_c = T(F32),
			  .alpha = SCALAR_OTHER,
			  .beta = SCALAR_ZERO};
	struct shape s;

	(void)state;
	shape_of_blas3(&s, &b);
	assert_int_equal(s.flops, 5 * 6 * 3);
	assert_int_equal(s.bytes, 4 * (15 + 15));
	b = (struct blas3){.operation = BST_ENUM_OPERATION_TRSM,
			   .side = 1,
			   .m = 4,
			   .n = 6,
			   .batch = 10,
			   .type_a = T(C64),
			   .type_c = T(C64),
			   .alpha = SCALAR_OTHER,
			   .beta = SCALAR_ZERO};
	shape_of_blas3(&s, &b);
	assert_int_equal(s.flops, 4 * 4 * 6 * 6 * 10);
	assert_int_equal(s.bytes, 16 * 10 * (21 + 24 + 24));
}

static void convolutions_count_outputs_times_window(void **state)
{
	struct tensor x = {T(F16), 4, true, {2, 8, 10, 10}, {800, 100, 10, 1}},
		      w = {T(F16), 4, false, {6, 4, 3, 3}, {0}};
	struct tensor y = {T(F16), 4, true, {2, 6, 8, 8}, {384, 64, 8, 1}};
	struct conv c = {BST_ENUM_OPERATION_CONV_FORWARD,
			 BST_ENUM_COMPUTE_F32,
			 &x,
			 &w,
			 &y,
			 NULL,
			 SCALAR_ZERO,
			 0};
	const uint64_t flops = 2 * 2 * 6 * 64 * 4 * 9, bytes = 2 * (1600 + 216 + 768);
	char detail[128];
	struct shape s;

	(void)state;
	shape_of_conv(&s, &c);
	assert_int_equal(s.flops, flops);
	assert_int_equal(s.bytes, bytes);
	assert_int_equal(s.m, 128);
	assert_int_equal(s.n, 3);
	assert_int_equal(s.k, 36);
	assert_int_equal(s.batch, 2);
	shape_detail(&s, detail, sizeof(detail));
	assert_string_equal(detail, "n=2 c=8 in=10x10 k=6 window=3x3 groups=2");
	c.operation = BST_ENUM_OPERATION_CONV_BACKWARD_DATA;
	c.beta = SCALAR_OTHER;
	shape_of_conv(&s, &c);
	assert_int_equal(s.flops, flops);
	assert_int_equal(s.bytes, bytes + 2 * 1600);
	c.operation = BST_ENUM_OPERATION_CONV_BACKWARD_FILTER;
	x.stride[0] = 0; /* the same image for the whole batch */
	shape_of_conv(&s, &c);
	assert_int_equal(s.bytes, bytes - 2 * 800 + 2 * 216);
	w.size[1] = 0;
	shape_of_conv(&s, &c);
	assert_false(shape_known(&s));
}

static void words_are_cut_not_overrun(void **state)
{
	struct shape s;

	(void)state;
	shape_clear(&s, BST_ENUM_LIBRARY_CUDNN, BST_ENUM_OPERATION_CONV_FORWARD);
	for (unsigned i = 0; i < SHAPE_EXTENTS; i++)
		s.extent[i] = UINT32_MAX;
	s.extent[CONV_SPATIAL] = 3;
	for (size_t size = 1; size < 200; size++) {
		char text[200];

		memset(text, 'x', sizeof(text));
		assert_true(shape_detail(&s, text, size) < size);
		assert_non_null(memchr(text, 0, size));
		assert_int_equal(text[size], 'x');
	}
}

static void grouped_shapes_add_up(void **state)
{
	struct gemm a = plain(2, 3, 4, 5, T(F32)), b = plain(6, 7, 8, 1, T(F32)),
		    bad = plain(1, 1, -1, 1, T(F32));
	struct shape s;

	(void)state;
	shape_of_gemm(&s, &a);
	shape_add_gemm(&s, &b);
	assert_int_equal(s.flops, 2 * (2 * 3 * 4 * 5 + 6 * 7 * 8));
	assert_int_equal(s.batch, 6);
	shape_add_gemm(&s, &bad);
	assert_false(shape_known(&s));
}

static void collectives_have_the_size_of_nccl_tests(void **state)
{
	struct shape s, other;

	(void)state;
	shape_of_collective(
		&s, &(struct collective){BST_ENUM_OPERATION_ALL_GATHER, T(BF16), 100, 8, -1});
	assert_int_equal(s.bytes, 1600);
	shape_of_collective(
		&other, &(struct collective){BST_ENUM_OPERATION_ALL_GATHER, T(BF16), 50, 8, -1});
	shape_add_collective(&s, &other);
	assert_int_equal(s.bytes, 2400);
	assert_int_equal(s.batch, 2);
	assert_int_equal(s.operation, BST_ENUM_OPERATION_ALL_GATHER);
	/* without the ranks nothing is known of the size */
	shape_of_collective(
		&other, &(struct collective){BST_ENUM_OPERATION_ALL_GATHER, T(BF16), 50, 0, -1});
	assert_false(shape_known(&other));
	shape_add_collective(&s, &other);
	assert_false(shape_known(&s));
	shape_of_collective(&other,
			    &(struct collective){BST_ENUM_OPERATION_SEND, T(F32), 50, 0, 3});
	assert_int_equal(other.bytes, 200);
	assert_int_equal(other.flags, F(BYTES));
}

/* --- interning ----------------------------------------------------------------------------- */

static struct shape numbered(uint64_t n)
{
	struct shape s;

	shape_clear(&s, BST_ENUM_LIBRARY_CUBLAS, BST_ENUM_OPERATION_GEMM);
	s.m = n;
	return s;
}

#define SHARED 5000u

static void *intern_all(void *ids)
{
	uint32_t *id = ids;

	for (uint64_t i = 0; i < SHARED; i++) {
		struct shape s = numbered(i * 7 + 1);

		id[i] = shapes_intern(&s);
	}
	return NULL;
}

static void threads_get_the_same_id_for_the_same_shape(void **state)
{
	static uint32_t ids[4][SHARED];
	pthread_t thread[4];

	(void)state;
	assert_int_equal(shapes_init(), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, intern_all, ids[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < SHARED; i++) {
		assert_int_not_equal(ids[0][i], 0);
		assert_int_equal(shapes_get(ids[0][i])->m, i * 7 + 1);
		for (unsigned t = 1; t < 4; t++)
			assert_int_equal(ids[t][i], ids[0][i]);
	}
	assert_int_equal(shapes_count(), SHARED);
}

/* --- graphs -------------------------------------------------------------------------------- */

enum {
	TENSOR = 17,
	RULE = 18,
	MATMUL = 19,
	GRAPH = 15,
	HEURISTIC = 4,
	CONFIG = 3,
	PLAN = 5
};
enum {
	DATA_TYPE = 1,
	INT64 = 3,
	DESCRIPTOR = 15
};

/* Addresses that nothing lies at. */
static void *thing(uintptr_t n)
{
	return (void *)(0x10000 + n * 64);
}

static void tensor_of(uintptr_t n, int64_t uid, int64_t rows, int64_t columns)
{
	int64_t size[3] = {1, rows, columns}, stride[3] = {rows * columns, columns, 1};
	int type = 2;

	cudnn_graph_created(thing(n), TENSOR);
	cudnn_graph_set(thing(n), 901, DATA_TYPE, 1, &type);
	cudnn_graph_set(thing(n), 902, INT64, 3, size);
	cudnn_graph_set(thing(n), 903, INT64, 3, stride);
	cudnn_graph_set(thing(n), 906, INT64, 1, &uid);
}

static void link_to(uintptr_t from, int attribute, uintptr_t to)
{
	void *p = thing(to);

	cudnn_graph_set(thing(from), attribute, DESCRIPTOR, 1, &p);
}

/* 1, 2, 3 tensors, 4 operation, 5 graph, 6 plan */
static void make_matmul_plan(uintptr_t base, int64_t m)
{
	tensor_of(base + 1, 1, m, 20);
	tensor_of(base + 2, 2, 20, 30);
	tensor_of(base + 3, 3, m, 30);
	cudnn_graph_created(thing(base + 4), MATMUL);
	link_to(base + 4, 1520, base + 1);
	link_to(base + 4, 1521, base + 2);
	link_to(base + 4, 1522, base + 3);
	cudnn_graph_created(thing(base + 5), GRAPH);
	link_to(base + 5, 801, base + 4);
	cudnn_graph_created(thing(base + 6), PLAN);
	link_to(base + 6, 401, base + 5);
}

static void a_plan_computes_what_its_graph_does_after_that_is_gone(void **state)
{
	struct shape s;

	(void)state;
	make_matmul_plan(100, 10);
	for (uintptr_t i = 101; i < 106; i++)
		cudnn_graph_destroyed(thing(i));
	cudnn_graph_shape(thing(106), &s);
	assert_int_equal(s.flops, 2 * 10 * 20 * 30);
	assert_int_equal(s.bytes, 2 * (200 + 600 + 300));
	/* the address serves another */
	cudnn_graph_created(thing(106), PLAN);
	cudnn_graph_shape(thing(106), &s);
	assert_false(shape_known(&s));
	cudnn_graph_destroyed(thing(106));
	cudnn_graph_shape(thing(106), &s);
	assert_int_equal(s.operation, BST_ENUM_OPERATION_OTHER);
}

static void a_graph_with_an_unknown_operation_is_unknown(void **state)
{
	void *ops[2] = {thing(204), thing(299)};
	struct shape s;

	(void)state;
	make_matmul_plan(200, 10);
	cudnn_graph_created(thing(207), GRAPH);
	cudnn_graph_set(thing(207), 801, DESCRIPTOR, 2, ops);
	cudnn_graph_shape(thing(207), &s);
	assert_false(shape_known(&s));
}

static void attributes_without_sense_are_ignored(void **state)
{
	int64_t size[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	void *nothing = NULL;
	struct shape s;

	(void)state;
	make_matmul_plan(300, 10);
	cudnn_graph_set(thing(301), 902, INT64, 12, size);
	cudnn_graph_set(thing(301), 902, INT64, 0, size);
	cudnn_graph_set(thing(301), 902, INT64, 3, NULL);
	cudnn_graph_set(NULL, 902, INT64, 3, size);
	cudnn_graph_set(thing(9999), 902, INT64, 3, size);
	cudnn_graph_got(thing(9999), DESCRIPTOR, 1, &nothing);
	link_to(304, 1520, 301);
	cudnn_graph_created(thing(307), GRAPH);
	link_to(307, 801, 304);
	cudnn_graph_shape(thing(307), &s);
	/* A has no sizes any more */
	assert_false(s.flags & F(FLOPS));
}

static void descriptors_beyond_the_table_are_counted(void **state)
{
	uint32_t losses[BST_CAUSE_COUNT];
	struct shape s;

	(void)state;
	loss_reset();
	for (uintptr_t i = 0; i < CUDNN_DESCRIPTORS_LIMIT; i++)
		cudnn_graph_created(thing(100000 + i), TENSOR);
	loss_read(losses);
	assert_true(losses[BST_ENUM_LOSS_DICTIONARY_FULL - 1] > 0);
	cudnn_graph_shape(thing(100000 + CUDNN_DESCRIPTORS_LIMIT - 1), &s);
	for (uintptr_t i = 0; i < CUDNN_DESCRIPTORS_LIMIT; i++)
		cudnn_graph_destroyed(thing(100000 + i));
	loss_reset();
	make_matmul_plan(400, 10);
	cudnn_graph_shape(thing(406), &s);
	assert_int_equal(s.flops, 2 * 10 * 20 * 30);
	loss_read(losses);
	assert_int_equal(losses[BST_ENUM_LOSS_DICTIONARY_FULL - 1], 0);
	loss_reset();
}

/* --- names ----------------------------------------------------------------------------------- */

static void libraries_are_told_apart_by_file_name(void **state)
{
	(void)state;
	assert_true(real_is_library("/x/libcublas.so.13", "libcublas"));
	assert_true(real_is_library("libcublas-1a2b3c.so.12", "libcublas"));
	assert_false(real_is_library("/x/libcublasLt.so.13", "libcublas"));
	assert_true(real_is_library("/x/libcublasLt.so.13", "libcublasLt"));
	assert_false(real_is_library("/libcublas/libfoo.so", "libcublas"));
	assert_true(real_is_library("/x/libcudnn.so.9", "libcudnn"));
	/* a part of cuDNN is cuDNN */
	assert_true(real_is_library("/x/libcudnn_ops.so.9", "libcudnn"));
	assert_string_equal(api_library_stem(api_info(API_cublasLtMatmul).library), "libcublasLt");
	assert_string_equal(api_library_stem(api_info(API_cudaMalloc).library), "libcudart");
	assert_string_equal(api_info(API_cublasSgemm_v2_64).name, "cublasSgemm_v2_64");
	assert_null(api_library_stem(200));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flops_of_a_gemm_are_2_m_n_k_batch),
		cmocka_unit_test(the_output_counts_again_where_it_is_read),
		cmocka_unit_test(alpha_zero_multiplies_nothing),
		cmocka_unit_test(transposes_are_told_and_change_no_count),
		cmocka_unit_test(a_batch_is_counted_by_what_it_covers),
		cmocka_unit_test(broadcast_operands_are_flagged),
		cmocka_unit_test(sizes_without_sense_make_nothing_known),
		cmocka_unit_test(scalars_are_zero_or_not),
		cmocka_unit_test(scalar_types_follow_the_compute_type),
		cmocka_unit_test(four_bit_elements_take_half_a_byte),
		cmocka_unit_test(triangles_count_as_triangles),
		cmocka_unit_test(convolutions_count_outputs_times_window),
		cmocka_unit_test(words_are_cut_not_overrun),
		cmocka_unit_test(grouped_shapes_add_up),
		cmocka_unit_test(collectives_have_the_size_of_nccl_tests),
		cmocka_unit_test(threads_get_the_same_id_for_the_same_shape),
		cmocka_unit_test(a_plan_computes_what_its_graph_does_after_that_is_gone),
		cmocka_unit_test(a_graph_with_an_unknown_operation_is_unknown),
		cmocka_unit_test(attributes_without_sense_are_ignored),
		cmocka_unit_test(descriptors_beyond_the_table_are_counted),
		cmocka_unit_test(libraries_are_told_apart_by_file_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
