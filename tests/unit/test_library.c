/* The arithmetic of library calls goes to the kernels launched inside them: by thread and time,
 * through graph nodes, as a group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/library_read.h"
#include "analysis/trace.h"
#include "shim/trace/format.h"
#include "tests/unit/trace_builder.h"

#define F(name) BST_ENUM_SHAPE_FLAG_##name
#define KNOWN (F(FLOPS) | F(BYTES))

enum {
	NAMELESS,
	GEMM,
	REDUCE,
	CONV,
	ODD,
	GEMM2,
	SIGNATURES
};

static const uint8_t roles[SIGNATURES] = {LIBRARY_UNKNOWN, LIBRARY_MAIN,    LIBRARY_HELPER,
					  LIBRARY_MAIN,    LIBRARY_UNKNOWN, LIBRARY_MAIN};

/* Shapes 1 to 3: of 1000 FLOPs and 100 bytes each times their id; 4: unknown; 5: bytes only. */
static struct library *begin(void)
{
	struct library *l = library_create(roles, SIGNATURES);
	struct library_shape s = {.flags = KNOWN};

	assert_non_null(l);
	for (uint64_t id = 1; id <= 3; id++) {
		s.flops = 1000 * id;
		s.bytes = 100 * id;
		assert_int_equal(library_add_shape(l, id, &s, "words", 5), 0);
	}
	s = (struct library_shape){0};
	assert_int_equal(library_add_shape(l, 4, &s, NULL, 0), 0);
	s = (struct library_shape){.flags = F(BYTES), .bytes = 7777};
	assert_int_equal(library_add_shape(l, 5, &s, NULL, 0), 0);
	return l;
}

static void call(struct library *l, uint32_t thread, uint64_t from, uint64_t to, uint32_t shape,
		 uint8_t flags)
{
	assert_int_equal(
		library_add_call(l, &(struct library_call){from, to, thread, shape, flags, {0}}),
		0);
}

static void kernel(struct library *l, uint32_t of, uint32_t signature, uint64_t ns)
{
	assert_int_equal(library_add_kernel(l, of, signature, ns), 0);
}

static void roles_follow_the_name(void **state)
{
	(void)state;
	assert_int_equal(library_role_of("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT"),
			 LIBRARY_MAIN);
	assert_int_equal(library_role_of("sm80_xmma_fprop_implicit_gemm_bf16"), LIBRARY_MAIN);
	assert_int_equal(library_role_of("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), LIBRARY_MAIN);
	assert_int_equal(library_role_of("void gemv2T_kernel_val<int, float>"), LIBRARY_MAIN);
	assert_int_equal(library_role_of("void splitKreduce_kernel<32, 16>"), LIBRARY_HELPER);
	assert_int_equal(library_role_of("void nchwToNhwcKernel<float>"), LIBRARY_HELPER);
	assert_int_equal(library_role_of("some_name_that_says_nothing"), LIBRARY_UNKNOWN);
}

static void moments_find_their_call(void **state)
{
	struct library *l = begin();

	(void)state;
	call(l, 2, 500, 600, 1, 0);
	call(l, 1, 100, 200, 1, 0);
	call(l, 1, 300, 400, 2, 0);
	call(l, 7, 300, 400, 3, 0);
	assert_int_equal(library_ready(l), 0);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(library_at(l, 1, 99), 0);
		assert_int_equal(library_shape_of_call(l, library_at(l, 1, 100))->flops, 1000);
		assert_int_equal(library_shape_of_call(l, library_at(l, 1, 200))->flops, 1000);
		assert_int_equal(library_at(l, 1, 250), 0);
		assert_int_equal(library_shape_of_call(l, library_at(l, 1, 350))->flops, 2000);
		assert_int_equal(library_at(l, 1, 401), 0);
		assert_int_equal(library_at(l, 2, 350), 0);
		assert_int_equal(library_shape_of_call(l, library_at(l, 7, 350))->flops, 3000);
		assert_int_equal(library_shape_of_call(l, library_at(l, 2, 550))->flops, 1000);
		assert_int_equal(library_at(l, 3, 350), 0);
	}
	assert_null(library_shape_of_call(l, 0));
	assert_null(library_shape_of_call(l, 99));
	assert_int_equal(library_finish(l), 0);
	library_destroy(l);
}

static void many_moments_in_any_order_find_theirs(void **state)
{
	struct library *l = begin();
	uint32_t seed = 1;

	(void)state;
	for (uint32_t i = 0; i < 5000; i++)
		call(l, 1, 100 * (uint64_t)i + 100, 100 * (uint64_t)i + 150, 1 + i % 3, 0);
	assert_int_equal(library_ready(l), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t at;

		seed = seed * 1664525 + 1013904223;
		at = i % 4 ? i * 25 : seed % 600000;
		assert_int_equal(library_at(l, 1, at),
				 at >= 100 && at % 100 <= 50 && at / 100 <= 5000 ? at / 100 : 0);
	}
	assert_int_equal(library_finish(l), 0);
	library_destroy(l);
}

static void the_inner_call_counts_where_the_outer_is_unknown(void **state)
{
	struct library *l = begin();

	(void)state;
	call(l, 1, 120, 140, 2, BST_ENUM_LIBRARY_FLAG_NESTED);
	call(l, 1, 100, 200, 4, 0);
	call(l, 1, 220, 230, 4, BST_ENUM_LIBRARY_FLAG_NESTED);
	call(l, 1, 210, 240, 3, 0);
	assert_int_equal(library_ready(l), 0);
	assert_int_equal(library_shape_of_call(l, library_at(l, 1, 130))->flops, 2000);
	assert_int_equal(library_shape_of_call(l, library_at(l, 1, 150))->flags, 0);
	assert_int_equal(library_shape_of_call(l, library_at(l, 1, 225))->flops, 3000);
	assert_int_equal(library_finish(l), 0);
	library_destroy(l);
}

static void a_group_gives_its_flops_to_the_kernel_that_multiplies(void **state)
{
	struct library *l = begin();
	struct library_sum sum;

	(void)state;
	call(l, 1, 100, 200, 1, 0);
	call(l, 1, 300, 400, 2, 0);
	assert_int_equal(library_ready(l), 0);
	/* the reduction takes longer, and comes between */
	kernel(l, 1, GEMM, 10);
	kernel(l, 1, REDUCE, 90);
	kernel(l, 2, GEMM, 20);
	kernel(l, 0, GEMM, 1000); /* not in a library call */
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, GEMM, &sum));
	assert_int_equal(sum.launches, 2);
	assert_true(sum.flops == 3000 && sum.bytes == 300 && sum.total_ns == 30);
	assert_int_equal(sum.shapes, 2);
	assert_int_equal(sum.shape, 2);
	assert_int_equal(sum.flops_launches, 2);
	assert_false(library_sum(l, REDUCE, &sum));
	assert_int_equal(sum.helper_launches, 1);
	assert_int_equal(library_counts(l).kernels, 4);
	assert_int_equal(library_counts(l).kernels_carrying, 2);
	assert_int_equal(library_counts(l).kernels_helping, 1);
	library_destroy(l);
}

static void several_multiplying_kernels_share_by_time(void **state)
{
	struct library *l = begin();
	struct library_sum sum;

	(void)state;
	call(l, 1, 100, 200, 1, 0);
	assert_int_equal(library_ready(l), 0);
	kernel(l, 1, GEMM, 30);
	kernel(l, 1, GEMM2, 5);
	kernel(l, 1, GEMM2, 5);
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, GEMM, &sum));
	assert_true(sum.flops == 750 && sum.bytes == 75);
	assert_true(library_sum(l, GEMM2, &sum));
	assert_true(sum.flops == 250);
	assert_int_equal(sum.launches, 2);
	library_destroy(l);
}

static void without_a_telling_name_the_longest_has_it(void **state)
{
	struct library *l = begin();
	struct library_sum sum;

	(void)state;
	call(l, 1, 100, 200, 1, 0);
	call(l, 1, 300, 400, 1, 0);
	assert_int_equal(library_ready(l), 0);
	kernel(l, 1, NAMELESS, 10);
	kernel(l, 1, ODD, 20);
	kernel(l, 1, REDUCE, 500);
	kernel(l, 2, REDUCE, 5);
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, ODD, &sum) && sum.flops == 1000);
	assert_false(library_sum(l, NAMELESS, &sum));
	assert_true(library_sum(l, REDUCE, &sum) && sum.flops == 1000);
	assert_int_equal(sum.launches, 1);
	assert_int_equal(sum.helper_launches, 1);
	library_destroy(l);
}

static void what_is_not_known_is_not_summed(void **state)
{
	struct library *l = begin();
	struct library_sum sum;

	(void)state;
	call(l, 1, 100, 200, 4, 0);
	call(l, 1, 300, 400, 5, 0);
	call(l, 1, 500, 600, 77, 0); /* no such shape */
	call(l, 1, 700, 800, 1, 0);
	assert_int_equal(library_ready(l), 0);
	for (uint32_t i = 1; i <= 4; i++)
		kernel(l, i, GEMM, 10);
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, GEMM, &sum));
	assert_int_equal(sum.launches, 2);
	assert_int_equal(sum.flops_launches, 1);
	assert_int_equal(sum.bytes_launches, 2);
	assert_true(sum.flops == 1000 && sum.bytes == 7877);
	assert_int_equal(library_counts(l).kernels_unknown, 2);
	library_destroy(l);
}

static void captured_and_deferred_calls_launch_nothing(void **state)
{
	struct library *l = begin();

	(void)state;
	call(l, 1, 100, 200, 1, BST_ENUM_LIBRARY_FLAG_CAPTURED);
	call(l, 1, 300, 400, 1, BST_ENUM_LIBRARY_FLAG_DEFERRED);
	assert_int_equal(library_ready(l), 0);
	assert_int_equal(library_at(l, 1, 150), 0);
	assert_int_equal(library_at(l, 1, 350), 0);
	assert_int_equal(library_finish(l), 0);
	assert_int_equal(library_counts(l).captured, 1);
	assert_int_equal(library_counts(l).calls, 0);
	library_destroy(l);
}

static void replays_find_the_call_through_their_nodes(void **state)
{
	struct library *l = begin();
	struct library_sum sum;

	(void)state;
	/* two nodes of one call, one of another, one of none; their clones, and a clone of a clone
	 */
	assert_int_equal(library_add_node(l, &(struct library_node){10, 0, 1000, 1, 1}), 0);
	assert_int_equal(library_add_node(l, &(struct library_node){11, 0, 1000, 1, 1}), 0);
	assert_int_equal(library_add_node(l, &(struct library_node){12, 0, 1000, 2, 2}), 0);
	assert_int_equal(library_add_node(l, &(struct library_node){13, 0, 0, 1, 0}), 0);
	for (uint64_t n = 0; n < 4; n++) {
		assert_int_equal(
			library_add_node(l, &(struct library_node){20 + n, 10 + n, 0, 1, 0}), 0);
		assert_int_equal(
			library_add_node(l, &(struct library_node){30 + n, 20 + n, 0, 1, 0}), 0);
	}
	assert_int_equal(library_ready(l), 0);
	for (uint32_t replay = 1; replay <= 5; replay++)
		for (uint64_t base = 20; base <= 30; base += 10) {
			uint32_t correlation = replay * 2 + (base == 30);

			assert_int_equal(library_add_graph_kernel(l, correlation, base, GEMM, 10),
					 0);
			assert_int_equal(
				library_add_graph_kernel(l, correlation, base + 1, REDUCE, 30), 0);
			assert_int_equal(
				library_add_graph_kernel(l, correlation, base + 2, CONV, 5), 0);
			assert_int_equal(library_add_graph_kernel(l, correlation, base + 3, ODD, 5),
					 0);
			assert_int_equal(library_add_graph_kernel(l, correlation, 999, ODD, 5), 0);
		}
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, GEMM, &sum));
	assert_int_equal(sum.launches, 10);
	assert_true(sum.flops == 10 * 1000);
	assert_true(library_sum(l, CONV, &sum));
	assert_true(sum.flops == 10 * 2000);
	assert_false(library_sum(l, REDUCE, &sum));
	assert_int_equal(sum.helper_launches, 10);
	assert_false(library_sum(l, ODD, &sum));
	library_destroy(l);
}

/* More groups than are kept open at a time; the kernels of one come long after it was closed. */
static void groups_are_bounded_and_counted_once(void **state)
{
	struct library *l = begin();
	const uint32_t calls = 100000;
	struct library_sum sum;

	(void)state;
	for (uint32_t i = 0; i < calls; i++)
		call(l, 1, 100 * (uint64_t)i, 100 * (uint64_t)i + 50, 1 + i % 3, 0);
	assert_int_equal(library_ready(l), 0);
	for (uint32_t i = 1; i <= calls; i++) {
		kernel(l, i, GEMM, 10);
		if (i > 3)
			kernel(l, i - 3, REDUCE, 10); /* of another stream: three calls behind */
	}
	kernel(l, 1, GEMM, 10);
	assert_int_equal(library_finish(l), 0);
	assert_true(library_sum(l, GEMM, &sum));
	assert_int_equal(sum.launches, calls);
	assert_true(sum.flops == 1000.0 * (33334 + 2 * 33333 + 3 * 33333));
	assert_int_equal(library_counts(l).kernels_late, 1);
	assert_int_equal(library_counts(l).kernels_helping, calls - 3);
	library_destroy(l);
}

static void statistics_are_split_by_shape(void **state)
{
	struct library *l = begin();
	const struct library_stat *stat;
	size_t count;

	(void)state;
	for (uint32_t i = 0; i < 3000; i++)
		call(l, 1, 100 * (uint64_t)i, 100 * (uint64_t)i + 50, 1 + i % 3, 0);
	assert_int_equal(library_ready(l), 0);
	for (uint32_t i = 1; i <= 3000; i++)
		kernel(l, i, i % 2 ? CONV : GEMM, i % 3 ? 10 : 30);
	assert_int_equal(library_finish(l), 0);
	stat = library_stats(l, &count);
	assert_int_equal(count, 6);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(stat[i].signature, i < 3 ? GEMM : CONV);
		assert_int_equal(stat[i].launches, 500);
		assert_true(stat[i].flops == 500.0 * 1000 * stat[i].shape);
		assert_true(i % 3 == 0 || stat[i].total_ns <= stat[i - 1].total_ns);
	}
	library_destroy(l);
}

static void launches_and_nodes_know_their_shape(void **state)
{
	struct library *l = begin();

	(void)state;
	library_keep_launches(l);
	for (uint32_t i = 0; i < 300; i++)
		call(l, 1, 100 * (uint64_t)i, 100 * (uint64_t)i + 50, 1 + i % 3, 0);
	assert_int_equal(library_add_node(l, &(struct library_node){7, 0, 100, 1, 2}), 0);
	assert_int_equal(library_add_node(l, &(struct library_node){8, 7, 0, 1, 0}), 0);
	assert_int_equal(library_ready(l), 0);
	/* threads are drained one after the other: ids do not come in order */
	for (uint32_t i = 300; i; i--)
		assert_int_equal(library_add_launch(l, 10 * i, i), 0);
	assert_int_equal(library_add_launch(l, 5, 0), 0);
	assert_int_equal(library_finish(l), 0);
	for (uint32_t i = 1; i <= 300; i++) {
		assert_int_equal(library_shape_of_launch(l, 10 * i), 1 + (i - 1) % 3);
		assert_int_equal(library_shape_of_launch(l, 10 * i + 1), 0);
	}
	for (uint32_t i = 300; i; i -= 7 < i ? 7 : i)
		assert_int_equal(library_shape_of_launch(l, 10 * i), 1 + (i - 1) % 3);
	assert_int_equal(library_shape_of_launch(l, 5), 0);
	assert_int_equal(library_shape_of_node(l, 7), 2);
	assert_int_equal(library_shape_of_node(l, 8), 2); /* a clone's */
	assert_int_equal(library_shape_of_node(l, 9), 0);
	library_destroy(l);
}

static void launches_are_not_kept_unasked(void **state)
{
	struct library *l = begin();

	(void)state;
	call(l, 1, 100, 150, 1, 0);
	assert_int_equal(library_ready(l), 0);
	assert_int_equal(library_add_launch(l, 10, 1), 0);
	assert_int_equal(library_finish(l), 0);
	assert_int_equal(library_shape_of_launch(l, 10), 0);
	library_destroy(l);
}

/* --- from a file ------------------------------------------------------------------------- */

static void add_row(struct trace_builder *b, uint16_t table, const uint64_t *numbers,
		    const char *text)
{
	const struct bst_table_info *info = bst_table_info(table);
	struct bst_cell cells[BST_COLUMN_LIMIT] = {{0}};
	unsigned n = 0;

	for (const struct bst_column_info *c = info->column; c->id; c++, n++) {
		if (c->encoding == BST_BYTES)
			cells[n] = (struct bst_cell){.text = text, .size = (uint32_t)strlen(text)};
		else
			cells[n].number = numbers[n];
	}
	builder_row(b, table, cells);
}

static struct library *read_file(struct trace_builder *b, struct trace *trace, uint8_t **role)
{
	struct library *l;
	char *path, *reason = NULL;

	builder_finish(b);
	path = builder_write(b);
	assert_int_equal(trace_open(trace, path, &reason), 0);
	unlink(path);
	*role = calloc(trace->vocabulary.signature_count, 1);
	for (size_t i = 0; i < trace->vocabulary.signature_count; i++)
		(*role)[i] = (uint8_t)library_role_of(trace->vocabulary.signature[i].name);
	l = library_create(*role, trace->vocabulary.signature_count);
	assert_non_null(l);
	assert_int_equal(library_read(l, trace->data, trace->size, &trace->vocabulary), 0);
	free(path);
	return l;
}

static void a_trace_is_read_in_chunks_of_any_size(void **state)
{
	static const uint32_t sizes[] = {1, 3, 50, 4096};

	(void)state;
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct trace_builder b;
		struct trace trace;
		struct library_sum sum;
		struct library *l;
		uint64_t thread, api, gemm, reduce, other;
		uint8_t *role;

		builder_init(&b, sizes[s]);
		builder_meta(&b, "library.state.cublas", "calls seen");
		thread = builder_thread(&b, 4242);
		api = builder_api(&b, "cuLaunchKernel", BST_ENUM_CLASS_LAUNCH);
		gemm = builder_kernel(&b, "nvjet_hsh_128x256", 132, 384);
		reduce = builder_kernel(&b, "splitKreduce_kernel", 10, 256);
		other = builder_kernel(&b, "elementwise_kernel", 10, 256);
		add_row(&b, BST_TABLE_SHAPE,
			(uint64_t[]){1, 1, 1, 2, 3, 4, 5, 3, 3, 3, 2, KNOWN, 240, 999, 0},
			"epilogue=4");
		for (uint64_t i = 0; i < 200; i++) {
			uint64_t at = 1000000 + i * 10000;
			uint32_t id = (uint32_t)(4294967000u + i * 3); /* the ids wrap on the way */

			builder_call(&b, &(struct builder_call){thread, api, at + 100, 50, id, 0,
								BST_ENUM_CALL_FLAG_DRIVER, 0});
			builder_call(&b, &(struct builder_call){thread, api, at + 200, 50, id + 1,
								0, BST_ENUM_CALL_FLAG_DRIVER, 0});
			builder_call(&b, &(struct builder_call){thread, api, at + 900, 50, id + 2,
								0, BST_ENUM_CALL_FLAG_DRIVER, 0});
			add_row(&b, BST_TABLE_LIBRARY,
				(uint64_t[]){thread, api, at, 500, 1, 0, 0, 0, 0}, "");
			builder_run(&b, &(struct builder_run){gemm, at + 1000, 3000, id, 1, 0, 0, 0,
							      0});
			builder_run(&b, &(struct builder_run){reduce, at + 5000, 100, id + 1, 1, 0,
							      0, 0, 0});
			builder_run(&b, &(struct builder_run){other, at + 6000, 100, id + 2, 1, 0,
							      0, 0, 0});
		}
		l = read_file(&b, &trace, &role);
		assert_true(library_sum(l, vocabulary_signature(&trace.vocabulary, gemm), &sum));
		assert_int_equal(sum.launches, 200);
		assert_true(sum.flops == 200 * 240 && sum.bytes == 200 * 999);
		assert_string_equal(library_shape(l, sum.shape)->detail, "epilogue=4");
		assert_false(library_sum(l, vocabulary_signature(&trace.vocabulary, reduce), &sum));
		assert_int_equal(sum.helper_launches, 200);
		assert_false(library_sum(l, vocabulary_signature(&trace.vocabulary, other), &sum));
		assert_int_equal(sum.helper_launches, 0);
		assert_int_equal(library_counts(l).kernels, 600);
		assert_false(library_not_visible(&trace.vocabulary));
		library_destroy(l);
		free(role);
		trace_close(&trace);
		builder_fini(&b);
	}
}

static void expect_operands(const struct library *l, uint32_t of, uint16_t a, uint16_t b)
{
	uint16_t got_a = 99, got_b = 99;

	library_operands_of_call(l, of, &got_a, &got_b);
	assert_int_equal(got_a, a);
	assert_int_equal(got_b, b);
}

/* Not those of a batch of matrices: convolutions have groups there, whose filter is one. */
static void operands_of_calls_are_read(void **state)
{
	static const uint64_t shapes[4][3] = {{BST_ENUM_OPERATION_GEMM, 1, 0},
					      {BST_ENUM_OPERATION_GEMM, 5, 0},
					      {BST_ENUM_OPERATION_CONV_FORWARD, 5, 0},
					      {BST_ENUM_OPERATION_GEMV, 5, 0}};
	struct trace_builder b;
	struct trace trace;
	struct library *l;
	uint64_t thread;
	uint8_t *role;

	(void)state;
	builder_init(&b, 64);
	builder_meta(&b, "library.state.cublas", "calls seen");
	thread = builder_thread(&b, 4242);
	for (uint64_t i = 0; i < 4; i++)
		add_row(&b, BST_TABLE_SHAPE,
			(uint64_t[]){i + 1, 1, shapes[i][0], 2, 3, 4, shapes[i][1], 3, 3, 3, 2,
				     KNOWN, 240, 999, 0},
			"");
	for (uint64_t i = 0; i < 6; i++)
		add_row(&b, BST_TABLE_LIBRARY,
			(uint64_t[]){thread, 0, 1000 * (i + 1), 500, i < 4 ? i + 1 : i == 4, 0, 0,
				     i == 4 ? UINT16_MAX : 7, i == 4 ? UINT16_MAX + 1 : 8 + i},
			"");
	l = read_file(&b, &trace, &role);
	expect_operands(l, 0, 0, 0);
	expect_operands(l, library_at(l, 1, 1100), 7, 8);
	expect_operands(l, library_at(l, 1, 2100), 0, 0);
	expect_operands(l, library_at(l, 1, 3100), 7, 10);
	expect_operands(l, library_at(l, 1, 4100), 0, 0);
	expect_operands(l, library_at(l, 1, 5100), UINT16_MAX, 0);
	expect_operands(l, library_at(l, 1, 6100), 0, 0); /* of no shape */
	library_destroy(l);
	free(role);
	trace_close(&trace);
	builder_fini(&b);
}

static void a_library_past_the_hooks_is_told(void **state)
{
	struct trace_builder b;
	struct trace trace;
	struct library *l;
	uint8_t *role;
	size_t count;

	(void)state;
	builder_init(&b, 64);
	builder_meta(&b, "library.state.cublas", "loaded, no call seen");
	builder_meta(&b, "library.state.cudnn", "loaded, no call seen");
	l = read_file(&b, &trace, &role);
	assert_true(library_not_visible(&trace.vocabulary));
	library_stats(l, &count);
	assert_int_equal(count, 0);
	library_destroy(l);
	free(role);
	trace_close(&trace);
	builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles_follow_the_name),
		cmocka_unit_test(moments_find_their_call),
		cmocka_unit_test(many_moments_in_any_order_find_theirs),
		cmocka_unit_test(the_inner_call_counts_where_the_outer_is_unknown),
		cmocka_unit_test(a_group_gives_its_flops_to_the_kernel_that_multiplies),
		cmocka_unit_test(several_multiplying_kernels_share_by_time),
		cmocka_unit_test(without_a_telling_name_the_longest_has_it),
		cmocka_unit_test(what_is_not_known_is_not_summed),
		cmocka_unit_test(captured_and_deferred_calls_launch_nothing),
		cmocka_unit_test(replays_find_the_call_through_their_nodes),
		cmocka_unit_test(groups_are_bounded_and_counted_once),
		cmocka_unit_test(statistics_are_split_by_shape),
		cmocka_unit_test(launches_and_nodes_know_their_shape),
		cmocka_unit_test(launches_are_not_kept_unasked),
		cmocka_unit_test(a_trace_is_read_in_chunks_of_any_size),
		cmocka_unit_test(operands_of_calls_are_read),
		cmocka_unit_test(a_library_past_the_hooks_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
