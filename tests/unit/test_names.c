/* Interned text: same text same id, ids in a row, cut when long, refused and counted when full,
 * from many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/loss.h"
#include "shim/names.h"

#define THREADS 4
#define DISTINCT 5000u

static uint32_t base; /* names that earlier tests left: the table lives as long as the process */

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(names_init(), 0);
	loss_reset();
	base = names_count();
	return 0;
}

static uint32_t lost(void)
{
	uint32_t losses[BST_CAUSE_COUNT];

	loss_read(losses);
	return losses[BST_ENUM_LOSS_DICTIONARY_FULL - 1];
}

static void same_text_same_id_and_back(void **state)
{
	uint32_t a = names_intern("saxpy", 5), b = names_intern("sgemm", 5);
	size_t size;

	(void)state;
	assert_int_equal(a, base + 1);
	assert_int_equal(b, base + 2);
	assert_int_equal(names_intern("saxpy", 5), a);
	assert_int_equal(names_intern("saxp", 4), base + 3);
	assert_int_equal(names_count(), base + 3);
	assert_memory_equal(names_text(a, &size), "saxpy", 5);
	assert_int_equal(size, 5);
}

static void any_bytes_and_no_bytes_are_text(void **state)
{
	uint32_t bytes = names_intern("\xff\x00\x01", 3), none = names_intern("", 0);
	size_t size;

	(void)state;
	assert_int_not_equal(bytes, 0);
	assert_int_not_equal(none, 0);
	assert_memory_equal(names_text(bytes, &size), "\xff\x00\x01", 3);
	assert_int_equal(size, 3);
	names_text(none, &size);
	assert_int_equal(size, 0);
	assert_int_equal(names_intern("", 0), none);
}

static void long_text_is_cut_and_found_again(void **state)
{
	size_t size = NAME_BYTES_LIMIT + 100;
	char *text = malloc(size);
	uint32_t id;

	(void)state;
	memset(text, 'k', size);
	id = names_intern(text, size);
	assert_int_equal(names_intern(text, NAME_BYTES_LIMIT), id);
	assert_int_equal(names_intern(text, size), id);
	names_text(id, &size);
	assert_int_equal(size, NAME_BYTES_LIMIT);
	free(text);
}

static void *intern_all(void *data)
{
	uint32_t *ids = data;

	for (uint32_t i = 0; i < DISTINCT; i++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "kernel_%u", i);

		ids[i] = names_intern(text, (size_t)n);
	}
	return NULL;
}

static void threads_agree_on_ids(void **state)
{
	static uint32_t ids[THREADS][DISTINCT];
	pthread_t thread[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, intern_all, ids[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(names_count(), base + DISTINCT);
	for (uint32_t k = 0; k < DISTINCT; k++) {
		char text[32];
		size_t size;
		int n = snprintf(text, sizeof(text), "kernel_%u", k);

		for (unsigned i = 1; i < THREADS; i++)
			assert_int_equal(ids[i][k], ids[0][k]);
		assert_memory_equal(names_text(ids[0][k], &size), text, (size_t)n);
		assert_int_equal(size, n);
	}
}

/* The last one: it fills the table for good. */
static void a_full_table_gives_0_counts_and_keeps_the_known(void **state)
{
	uint32_t known = names_intern("known", 5), id = 1;
	char text[32];
	int n;

	(void)state;
	for (uint32_t i = 0; names_count() < NAMES_LIMIT; i++) {
		n = snprintf(text, sizeof(text), "full_%u", i);
		id = names_intern(text, (size_t)n);
		if (id == 0)
			fail_msg("refused at %u names", names_count());
	}
	assert_int_equal(lost(), 0);
	assert_int_equal(names_intern("one too many", 12), 0);
	assert_int_equal(names_intern("one too many", 12), 0);
	assert_int_equal(lost(), 2);
	assert_int_equal(names_intern("known", 5), known);
	assert_int_equal(lost(), 2);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(same_text_same_id_and_back),
		TEST(any_bytes_and_no_bytes_are_text),
		TEST(long_text_is_cut_and_found_again),
		TEST(threads_agree_on_ids),
		TEST(a_full_table_gives_0_counts_and_keeps_the_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
