/* CUPTI's buffers: all handed out, back in any order, twice or never, from many threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/actbuf.h"

#define THREADS 8
#define ROUNDS 2000u

static int set_up(void **state)
{
	(void)state;
	actbuf_forget();
	return actbuf_init();
}

static void all_buffers_are_distinct_then_none_is_left(void **state)
{
	uint8_t *buffer[ACTBUF_COUNT];

	(void)state;
	for (unsigned i = 0; i < ACTBUF_COUNT; i++) {
		buffer[i] = actbuf_request();
		assert_non_null(buffer[i]);
		assert_true(actbuf_owns(buffer[i]));
		assert_true(actbuf_owns(buffer[i] + ACTBUF_BYTES - 1));
		assert_int_equal((uintptr_t)buffer[i] % 8, 0);
		for (unsigned k = 0; k < i; k++)
			assert_true(buffer[i] >= buffer[k] + ACTBUF_BYTES ||
				    buffer[k] >= buffer[i] + ACTBUF_BYTES);
	}
	assert_null(actbuf_request());
	actbuf_complete(buffer[77], 0, NULL, 0, ACTBUF_OURS);
	assert_null(actbuf_request());
}

static void a_returned_buffer_serves_again_after_release(void **state)
{
	struct actbuf out;
	uint8_t *buffer = NULL;

	(void)state;
	for (unsigned i = 0; i < ACTBUF_COUNT; i++)
		buffer = actbuf_request();
	actbuf_complete(buffer, 10, NULL, 0, ACTBUF_OURS);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_ptr_equal(out.data, buffer);
	assert_null(actbuf_request());
	actbuf_release(ACTBUF_OURS, out.data);
	assert_ptr_equal(actbuf_request(), buffer);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 0);
}

/* Touched memory stays resident: a program of hours must not go through the whole pool in turn. */
static void no_more_buffers_are_touched_than_were_out_at_once(void **state)
{
	uint8_t *lowest = actbuf_request(), *a, *b;
	struct actbuf out;

	(void)state;
	actbuf_complete(lowest, 0, NULL, 0, 0);
	for (unsigned i = 0; i < 4 * ACTBUF_COUNT; i++) {
		a = actbuf_request();
		b = actbuf_request();
		assert_true(a < lowest + 2 * ACTBUF_BYTES && b < lowest + 2 * ACTBUF_BYTES);
		actbuf_complete(a, 10, NULL, 0, ACTBUF_OURS);
		actbuf_complete(b, 10, NULL, 0, ACTBUF_OURS);
		while (actbuf_take(ACTBUF_OURS, &out))
			actbuf_release(ACTBUF_OURS, out.data);
	}
}

static void two_readers_each_get_it_and_the_last_frees_it(void **state)
{
	uint8_t *buffer = NULL;
	struct actbuf ours, its;

	(void)state;
	for (unsigned i = 0; i < ACTBUF_COUNT; i++)
		buffer = actbuf_request();
	buffer[3] = 7;
	actbuf_complete(buffer, 10, NULL, 0, ACTBUF_OURS | ACTBUF_APPLICATION);
	assert_int_equal(actbuf_take(ACTBUF_APPLICATION, &its), 1);
	assert_int_equal(actbuf_take(ACTBUF_APPLICATION, &its), 0);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &ours), 1);
	assert_ptr_equal(ours.data, buffer);
	actbuf_release(ACTBUF_OURS, ours.data);
	assert_null(actbuf_request());
	assert_int_equal(buffer[3], 7);
	actbuf_release(ACTBUF_APPLICATION, buffer);
	assert_int_equal(buffer[3], 0);
	assert_ptr_equal(actbuf_request(), buffer);
	/* for nobody: free at once */
	buffer[3] = 7;
	actbuf_complete(buffer, 10, NULL, 0, 0);
	assert_ptr_equal(actbuf_request(), buffer);
	assert_int_equal(buffer[3], 0);
}

static void buffers_come_in_the_order_of_completion(void **state)
{
	int marks[3];
	uint8_t *a = actbuf_request(), *b = actbuf_request(), *c = actbuf_request();
	struct actbuf out;

	(void)state;
	actbuf_complete(c, 3, &marks[2], 33, ACTBUF_OURS);
	actbuf_complete(a, 1, &marks[0], 11, ACTBUF_OURS);
	actbuf_complete(b, 2, &marks[1], 22, ACTBUF_OURS);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_ptr_equal(out.data, c);
	assert_int_equal(out.valid_bytes, 3);
	assert_ptr_equal(out.context, &marks[2]);
	assert_int_equal(out.stream, 33);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_ptr_equal(out.data, a);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_ptr_equal(out.data, b);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 0);
}

static void a_buffer_that_comes_back_twice_is_read_once(void **state)
{
	uint8_t *a = actbuf_request();
	struct actbuf out;

	(void)state;
	actbuf_complete(a, 100, NULL, 1, ACTBUF_OURS);
	actbuf_complete(a, 999, NULL, 1, ACTBUF_OURS);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_int_equal(out.valid_bytes, 100);
	actbuf_complete(a, 100, NULL, 1, ACTBUF_OURS); /* while the writer reads it */
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 0);
	actbuf_release(ACTBUF_OURS, a);
	actbuf_complete(a, 100, NULL, 1, ACTBUF_OURS); /* while nobody has it */
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 0);
}

static void impossible_sizes_are_not_believed(void **state)
{
	uint8_t *a = actbuf_request();
	struct actbuf out;

	(void)state;
	actbuf_complete(a, (size_t)ACTBUF_BYTES + 1, NULL, 0, ACTBUF_OURS);
	assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
	assert_int_equal(out.valid_bytes, 0);
}

static void strangers_are_not_owned(void **state)
{
	uint8_t stranger[8] = {0};

	(void)state;
	assert_false(actbuf_owns(stranger));
	assert_false(actbuf_owns(NULL));
	actbuf_forget();
	assert_null(actbuf_request());
	assert_false(actbuf_owns(stranger));
}

static _Atomic unsigned refused, completed;
static _Atomic uint8_t in_use[ACTBUF_COUNT];
static uint8_t *base; /* of the pool */
static _Atomic unsigned shared;

/* Marks a buffer while this thread has it: two owners at once would meet. */
static void *fill_buffers(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint8_t *p = actbuf_request();
		size_t number;

		if (!p) {
			refused++;
			sched_yield();
			continue;
		}
		number = (size_t)(p - base) / ACTBUF_BYTES;
		if (atomic_fetch_add(&in_use[number], 1) != 0)
			shared++;
		p[8] = (uint8_t)i;
		atomic_fetch_sub(&in_use[number], 1);
		if (i % 97 == 0)
			continue; /* never comes back */
		completed++;
		actbuf_complete(p, i % ACTBUF_BYTES, NULL, i, ACTBUF_OURS);
	}
	return NULL;
}

static void many_threads_and_one_writer_share_the_pool(void **state)
{
	unsigned taken = 0, never = 0;
	uint8_t *all[ACTBUF_COUNT];
	pthread_t threads[THREADS];
	struct actbuf out;

	(void)state;
	for (unsigned i = 0; i < ACTBUF_COUNT; i++) {
		all[i] = actbuf_request();
		base = i == 0 || all[i] < base ? all[i] : base;
	}
	for (unsigned i = 0; i < ACTBUF_COUNT; i++) {
		actbuf_complete(all[i], 0, NULL, 0, ACTBUF_OURS);
		assert_int_equal(actbuf_take(ACTBUF_OURS, &out), 1);
		actbuf_release(ACTBUF_OURS, out.data);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, fill_buffers, NULL), 0);
	for (unsigned alive = THREADS; alive;) {
		while (actbuf_take(ACTBUF_OURS, &out)) {
			taken++;
			actbuf_release(ACTBUF_OURS, out.data);
		}
		if (pthread_tryjoin_np(threads[alive - 1], NULL) == 0)
			alive--;
		else
			sched_yield();
	}
	while (actbuf_take(ACTBUF_OURS, &out)) {
		taken++;
		actbuf_release(ACTBUF_OURS, out.data);
	}
	assert_int_equal(taken, completed);
	assert_int_equal(shared, 0);
	for (unsigned i = 0; i < ACTBUF_COUNT; i++)
		never += actbuf_request() == NULL;
	assert_int_equal(never + completed + refused, THREADS * ROUNDS);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_buffers_are_distinct_then_none_is_left),
		TEST(a_returned_buffer_serves_again_after_release),
		TEST(no_more_buffers_are_touched_than_were_out_at_once),
		TEST(two_readers_each_get_it_and_the_last_frees_it),
		TEST(buffers_come_in_the_order_of_completion),
		TEST(a_buffer_that_comes_back_twice_is_read_once),
		TEST(impossible_sizes_are_not_believed),
		TEST(strangers_are_not_owned),
		TEST(many_threads_and_one_writer_share_the_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
