/* The queue between a traced thread and the writer: order, wraparound, full, and two threads at
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/ring.h"

#define MILLIONS UINT64_C(4000000)

static struct ring *ring;

static int set_up(void **state)
{
	(void)state;
	ring = aligned_alloc(64, sizeof(*ring));
	assert_non_null(ring);
	memset(ring, 0, sizeof(*ring));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(ring);
	return 0;
}

static void put(uint64_t n)
{
	struct record r = {
		.kind = RECORD_CALL, .api = (uint16_t)n, .begin_ns = n, .u.call.object = ~n};

	ring_put(ring, &r);
}

static void empty_ring_has_nothing_and_room_for_all(void **state)
{
	const struct record *first;

	(void)state;
	assert_int_equal(ring_peek(ring, &first), 0);
	assert_true(ring_has_room(ring, RING_RECORDS));
	assert_false(ring_has_room(ring, RING_RECORDS + 1));
}

static void full_ring_refuses_until_something_is_taken(void **state)
{
	const struct record *first;

	(void)state;
	for (uint64_t i = 0; i < RING_RECORDS; i++) {
		assert_true(ring_has_room(ring, 1));
		put(i);
	}
	assert_false(ring_has_room(ring, 1));
	assert_int_equal(ring_peek(ring, &first), RING_RECORDS);
	assert_int_equal(first->begin_ns, 0);
	ring_take(ring, 1);
	assert_true(ring_has_room(ring, 1));
	assert_false(ring_has_room(ring, 2));
}

static void a_peek_ends_at_the_end_of_the_slots(void **state)
{
	const struct record *first;

	(void)state;
	for (uint64_t i = 0; i < RING_RECORDS - 3; i++)
		put(i);
	ring_take(ring, RING_RECORDS - 3);
	for (uint64_t i = 0; i < 10; i++) {
		assert_true(ring_has_room(ring, 1));
		put(100 + i);
	}
	assert_int_equal(ring_peek(ring, &first), 3);
	assert_int_equal(first[2].begin_ns, 102);
	ring_take(ring, 3);
	assert_int_equal(ring_peek(ring, &first), 7);
	assert_int_equal(first[0].begin_ns, 103);
	assert_int_equal(first[6].begin_ns, 109);
}

static void the_counters_may_wrap_around_32_bits(void **state)
{
	const struct record *first;
	uint32_t start = UINT32_MAX - 5;

	(void)state;
	atomic_store(&ring->head, start);
	atomic_store(&ring->tail, start);
	ring->tail_seen = start;
	for (uint64_t i = 0; i < RING_RECORDS; i++) {
		assert_true(ring_has_room(ring, 1));
		put(i);
	}
	assert_false(ring_has_room(ring, 1));
	for (uint64_t taken = 0; taken < RING_RECORDS;) {
		uint32_t n = ring_peek(ring, &first);

		assert_int_not_equal(n, 0);
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(first[i].begin_ns, taken + i);
		ring_take(ring, n);
		taken += n;
	}
	assert_true(ring_has_room(ring, RING_RECORDS));
}

static void *produce(void *unused)
{
	(void)unused;
	for (uint64_t i = 0; i < MILLIONS; i++) {
		while (!ring_has_room(ring, 1))
			sched_yield();
		put(i);
	}
	return NULL;
}

static void two_threads_pass_millions_in_order_and_whole(void **state)
{
	uint64_t expected = 0, torn = 0, wrong = 0;
	const struct record *first;
	pthread_t producer;

	(void)state;
	assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
	while (expected < MILLIONS) {
		uint32_t n = ring_peek(ring, &first);

		for (uint32_t i = 0; i < n; i++, expected++) {
			wrong += first[i].begin_ns != expected;
			torn += first[i].u.call.object != ~first[i].begin_ns ||
				first[i].api != (uint16_t)first[i].begin_ns;
		}
		ring_take(ring, n);
		if (n == 0)
			sched_yield();
	}
	pthread_join(producer, NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(torn, 0);
	assert_int_equal(ring_peek(ring, &first), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_ring_has_nothing_and_room_for_all),
		TEST(full_ring_refuses_until_something_is_taken),
		TEST(a_peek_ends_at_the_end_of_the_slots),
		TEST(the_counters_may_wrap_around_32_bits),
		TEST(two_threads_pass_millions_in_order_and_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
