/* Kernels of two runs: same, reshaped, appeared, gone; each in one row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/kernel_match.h"

static struct kernel_report kernel(const char *name, uint32_t grid, uint32_t block)
{
	return (struct kernel_report){
		.name = (char *)name, .grid = {grid, 1, 1}, .block = {block, 1, 1}, .launches = 1};
}

struct sides {
	struct kernel_report a[8], b[8];
	struct device_report device_a, device_b;
};

static void sides_init(struct sides *s, size_t in_a, size_t in_b)
{
	s->device_a = (struct device_report){.kernels = s->a, .kernel_count = in_a};
	s->device_b = (struct device_report){.kernels = s->b, .kernel_count = in_b};
}

/* "same 64 64; went 32 -": kinds and grids in the order of the rows. */
static void describe(const struct sides *s, char text[512])
{
	static const char *const kinds[] = {"same", "reshaped", "appeared", "went"};
	size_t count, size = 0;
	struct kernel_match *rows = kernel_match(&s->device_a, &s->device_b, &count);

	assert_non_null(rows);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		size += (size_t)snprintf(
			text + size, 512 - size, "%s%s %s %u %u", size ? "; " : "",
			kinds[rows[i].kind], rows[i].a ? rows[i].a->name : rows[i].b->name,
			rows[i].a ? rows[i].a->grid[0] : 0, rows[i].b ? rows[i].b->grid[0] : 0);
	free(rows);
}

static void test_each_kind(void **state)
{
	struct sides s;
	char text[512];

	(void)state;
	sides_init(&s, 3, 3);
	s.a[0] = kernel("gone", 1, 32);
	s.a[1] = kernel("same", 64, 128);
	s.a[2] = kernel("shape", 64, 128);
	s.b[0] = kernel("same", 64, 128);
	s.b[1] = kernel("new", 9, 32);
	s.b[2] = kernel("shape", 128, 128);
	describe(&s, text);
	assert_string_equal(text, "same same 64 64; reshaped shape 64 128; went gone 1 0; "
				  "appeared new 0 9");
}

static void test_exact_shapes_are_taken_before_names(void **state)
{
	struct sides s;
	char text[512];

	(void)state;
	sides_init(&s, 2, 3);
	s.a[0] = kernel("k", 64, 128);
	s.a[1] = kernel("k", 32, 128);
	s.b[0] = kernel("k", 16, 128);
	s.b[1] = kernel("k", 64, 128);
	s.b[2] = kernel("k", 128, 128);
	describe(&s, text);
	assert_string_equal(text, "same k 64 64; reshaped k 32 16; appeared k 0 128");
}

static void test_small_grids_go_to_small_ones(void **state)
{
	struct sides s;
	char text[512];

	(void)state;
	sides_init(&s, 2, 2);
	s.a[0] = kernel("k", 9, 128);
	s.a[1] = kernel("k", 100, 128);
	s.b[0] = kernel("k", 200, 128);
	s.b[1] = kernel("k", 18, 128);
	describe(&s, text);
	assert_string_equal(text, "reshaped k 9 18; reshaped k 100 200");
}

static void test_a_block_is_a_shape_and_resources_are_not(void **state)
{
	struct sides s;
	char text[512];

	(void)state;
	sides_init(&s, 2, 2);
	s.a[0] = kernel("block", 64, 128);
	s.b[0] = kernel("block", 64, 256);
	s.a[1] = kernel("registers", 64, 128);
	s.b[1] = kernel("registers", 64, 128);
	s.b[1].registers = 40;
	describe(&s, text);
	assert_string_equal(text, "same registers 64 64; reshaped block 64 64");
}

static void test_nothing_and_no_name(void **state)
{
	struct sides s;
	char text[512];

	(void)state;
	sides_init(&s, 0, 0);
	describe(&s, text);
	assert_string_equal(text, "");
	sides_init(&s, 0, 1);
	s.b[0] = kernel("k", 1, 1);
	describe(&s, text);
	assert_string_equal(text, "appeared k 0 1");
}

#define MANY 20000

/* Every kernel is in exactly one row, and the search does not take the square of their number. */
static void test_many_kernels(void **state)
{
	struct device_report a = {.kernels = calloc(MANY, sizeof(struct kernel_report)),
				  .kernel_count = MANY};
	struct device_report b = {.kernels = calloc(MANY, sizeof(struct kernel_report)),
				  .kernel_count = MANY};
	struct kernel_match *rows;
	size_t count, same = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		a.kernels[i] = kernel("k", i + 1, 32);
		b.kernels[i] = kernel("k", MANY + 100 - i, 32);
	}
	rows = kernel_match(&a, &b, &count);
	assert_non_null(rows);
	for (size_t i = 0; i < count; i++)
		same += rows[i].kind == KERNEL_MATCH_SAME;
	assert_int_equal(count, MANY);
	assert_int_equal(same, MANY - 100);
	free(rows);
	free(a.kernels);
	free(b.kernels);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_kind),
		cmocka_unit_test(test_exact_shapes_are_taken_before_names),
		cmocka_unit_test(test_small_grids_go_to_small_ones),
		cmocka_unit_test(test_a_block_is_a_shape_and_resources_are_not),
		cmocka_unit_test(test_nothing_and_no_name),
		cmocka_unit_test(test_many_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
