/* From hooks and callbacks to records: what a call leaves in the ring, calls inside calls,
 * silences, ranges, a full ring, a thread too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/api.h"
#include "shim/clock.h"
#include "shim/loss.h"
#include "shim/recorder.h"
#include "shim/session.h"
#include "shim/trace/format.h"

#define LAUNCH API_cudaLaunchKernel
#define DRIVER_LAUNCH (API_DRIVER_BASE + 307)

static struct thread *t;

static int set_up(void **state)
{
	(void)state;
	thread_forget_all();
	loss_reset();
	atomic_store(&session_state_now, SESSION_ON);
	atomic_store(&session_pending_now, 0);
	t = thread_self();
	assert_non_null(t);
	return 0;
}

/* The next record, taken out; NULL if there is none. */
static const struct record *take_any(void)
{
	static struct record kept;
	const struct record *first;

	if (ring_peek(&t->ring, &first) == 0)
		return NULL;
	kept = *first;
	ring_take(&t->ring, 1);
	return &kept;
}

/* The same but for silences, which a busy machine makes anywhere. */
static const struct record *take(void)
{
	const struct record *r = take_any();

	while (r && r->kind == RECORD_WAKE)
		r = take_any();
	return r;
}

static void one_call(uint16_t api, int error)
{
	struct call_result result = {.error = error, .stream = 0x51, .bytes = 99, .object = 0x0b};
	struct call call;

	assert_true(recorder_begin(&call, api));
	recorder_end(&call, &result);
}

static void a_call_becomes_a_record(void **state)
{
	uint64_t before = host_now();
	const struct record *r;

	(void)state;
	one_call(LAUNCH, 0);
	r = take();
	assert_int_equal(r->kind, RECORD_CALL);
	assert_int_equal(r->api, LAUNCH);
	assert_int_equal(r->flags, 0);
	assert_int_equal(r->correlation, 0);
	assert_true(r->begin_ns >= before && r->begin_ns + r->u.call.duration_ns <= host_now());
	assert_int_equal(r->u.call.stream, 0x51);
	assert_int_equal(r->u.call.bytes, 99);
	assert_int_equal(r->u.call.object, 0x0b);
	assert_int_equal(r->u.call.result, 0);
	assert_null(take());
}

static void a_failed_call_keeps_its_code(void **state)
{
	const struct record *r;

	(void)state;
	one_call(LAUNCH, 700);
	r = take();
	assert_int_equal(r->u.call.result, 700);
	assert_int_equal(r->flags, BST_ENUM_CALL_FLAG_FAILED);
}

/* A hook is a function: its call lies in a frame of its own. */
static bool __attribute__((noinline)) is_recorded(uint16_t api)
{
	struct call call;

	return recorder_begin(&call, api);
}

static void a_hooked_call_inside_another_is_part_of_it(void **state)
{
	struct call_result result = {0};
	struct call outer;

	(void)state;
	assert_true(recorder_begin(&outer, API_cudaMemcpy));
	assert_false(is_recorded(LAUNCH));
	recorder_end(&outer, &result);
	assert_int_equal(take()->api, API_cudaMemcpy);
	assert_null(take());
	one_call(LAUNCH, 0);
	assert_int_equal(take()->api, LAUNCH);
}

static void the_driver_call_inside_gives_the_correlation(void **state)
{
	struct call_result result = {0};
	struct call call;
	const struct record *r;

	(void)state;
	assert_true(recorder_begin(&call, LAUNCH));
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, false, 41), 0);
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, true, 42), 0);
	recorder_end(&call, &result);
	r = take();
	assert_int_equal(r->correlation, 42);
	assert_int_equal(r->flags, 0);
	assert_null(take());
}

static void further_operations_of_a_call_have_nested_records(void **state)
{
	struct call_result result = {0};
	struct call call;
	const struct record *r;
	uint64_t begin;

	(void)state;
	assert_true(recorder_begin(&call, API_cudaMemcpy));
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, true, 42), 0);
	begin = recorder_driver_begin(DRIVER_LAUNCH, true, 43);
	assert_int_not_equal(begin, 0);
	recorder_driver_end(DRIVER_LAUNCH, begin, 43, 0);
	recorder_end(&call, &result);
	r = take();
	assert_int_equal(r->correlation, 43);
	assert_int_equal(r->flags, BST_ENUM_CALL_FLAG_DRIVER | BST_ENUM_CALL_FLAG_NESTED);
	assert_int_equal(take()->correlation, 42);
	assert_null(take());
}

static void a_driver_call_that_no_hook_saw_has_a_record(void **state)
{
	uint64_t begin = recorder_driver_begin(DRIVER_LAUNCH, true, 7);
	const struct record *r;

	(void)state;
	assert_int_not_equal(begin, 0);
	recorder_driver_end(DRIVER_LAUNCH, begin, 7, 1);
	r = take();
	assert_int_equal(r->api, DRIVER_LAUNCH);
	assert_int_equal(r->correlation, 7);
	assert_int_equal(r->begin_ns, begin);
	assert_int_equal(r->u.call.result, 1);
	assert_int_equal(r->flags, BST_ENUM_CALL_FLAG_DRIVER | BST_ENUM_CALL_FLAG_FAILED);
	assert_null(take());
}

static void flags_of_callbacks_go_to_the_call_in_progress_only(void **state)
{
	struct call_result result = {0};
	struct call call;

	(void)state;
	recorder_flag(BST_ENUM_CALL_FLAG_MODULE_LOADED);
	assert_true(recorder_begin(&call, LAUNCH));
	recorder_flag(BST_ENUM_CALL_FLAG_CAPTURED);
	recorder_end(&call, &result);
	assert_int_equal(take()->flags, BST_ENUM_CALL_FLAG_CAPTURED);
	one_call(LAUNCH, 0);
	assert_int_equal(take()->flags, 0);
}

static void a_silence_is_explained_once(void **state)
{
	const struct record *r;

	(void)state;
	one_call(LAUNCH, 0);
	while (take_any())
		;
	t->last_end_ns -= 5000000;
	one_call(LAUNCH, 0);
	assert_int_equal(take_any()->kind, RECORD_CALL);
	r = take_any();
	assert_int_equal(r->kind, RECORD_WAKE);
	assert_true(r->u.wake.silence_ns >= 5000000 &&
		    r->u.wake.silence_ns < UINT64_C(60000000000));
	assert_true(r->u.wake.cpu_ns > 0);
	assert_null(take_any());
}

static uint32_t lost_to(enum bst_enum cause)
{
	uint32_t losses[BST_CAUSE_COUNT];

	loss_read(losses);
	return losses[cause - 1];
}

static uint32_t lost(void)
{
	return lost_to(BST_ENUM_LOSS_RING_FULL);
}

static void what_a_full_ring_loses_is_counted_and_placed(void **state)
{
	uint64_t last_kept = 0, first_after;
	const struct record *r;
	unsigned kept = 0;
	uint32_t missed;

	(void)state;
	for (unsigned i = 0; i < RING_RECORDS + 100; i++)
		one_call(LAUNCH, 0);
	missed = lost();
	assert_true(missed >= 100); /* more where a busy machine made silences */
	while ((r = take_any())) {
		last_kept = r->begin_ns;
		kept++;
	}
	assert_int_equal(kept, RING_RECORDS);
	one_call(LAUNCH, 0);
	r = take();
	assert_int_equal(r->kind, RECORD_LOST);
	assert_int_equal(r->u.lost.count, missed);
	assert_true(r->begin_ns >= last_kept);
	first_after = r->u.lost.end_ns;
	r = take();
	assert_int_equal(r->kind, RECORD_CALL);
	assert_int_equal(r->begin_ns, first_after);
	assert_int_equal(lost(), missed);
}

static void the_note_of_a_loss_needs_a_place_too(void **state)
{
	uint32_t missed;

	(void)state;
	for (unsigned i = 0; i < RING_RECORDS + 3; i++)
		one_call(LAUNCH, 0);
	missed = lost();
	assert_non_null(take());
	one_call(LAUNCH, 0); /* one place is not enough for the note and the call */
	assert_true(lost() > missed);
	while (take())
		;
	missed = lost();
	one_call(LAUNCH, 0);
	assert_int_equal(lost(), missed);
	assert_int_equal(take()->kind, RECORD_LOST);
}

static void errno_is_the_programs(void **state)
{
	(void)state;
	for (unsigned i = 0; i < RING_RECORDS + 100; i++) {
		t->last_end_ns -= i % 50 ? 0 : 5000000;
		errno = 1234;
		one_call(LAUNCH, 0);
		assert_int_equal(errno, 1234);
	}
	errno = 1234;
	recorder_range(&(struct range_event){.kind = BST_ENUM_RANGE_KIND_PUSH});
	recorder_node(&(struct node_event){.kind = BST_ENUM_NODE_KIND_CREATED});
	assert_int_equal(errno, 1234);
}

static uint32_t range_of_a_node(void)
{
	recorder_node(
		&(struct node_event){.kind = BST_ENUM_NODE_KIND_CREATED, .node = 5, .graph = 6});
	return take()->u.node.range;
}

static void range(uint8_t kind, uint32_t name)
{
	recorder_range(&(struct range_event){.kind = kind, .name = name});
	assert_int_equal(take()->kind, RECORD_RANGE);
}

static void nodes_carry_the_range_in_force(void **state)
{
	(void)state;
	assert_int_equal(range_of_a_node(), 0);
	range(BST_ENUM_RANGE_KIND_PUSH, 11);
	range(BST_ENUM_RANGE_KIND_PUSH, 22);
	assert_int_equal(range_of_a_node(), 22);
	range(BST_ENUM_RANGE_KIND_MARK, 33);
	range(BST_ENUM_RANGE_KIND_START, 44);
	assert_int_equal(range_of_a_node(), 22);
	range(BST_ENUM_RANGE_KIND_POP, 0);
	assert_int_equal(range_of_a_node(), 11);
	range(BST_ENUM_RANGE_KIND_POP, 0);
	range(BST_ENUM_RANGE_KIND_POP, 0);
	assert_int_equal(range_of_a_node(), 0);
	for (uint32_t i = 1; i <= RANGE_DEPTH + 10; i++)
		range(BST_ENUM_RANGE_KIND_PUSH, i);
	assert_int_equal(range_of_a_node(), RANGE_DEPTH);
	for (uint32_t i = 0; i < RANGE_DEPTH + 9; i++)
		range(BST_ENUM_RANGE_KIND_POP, 0);
	assert_int_equal(range_of_a_node(), 1);
}

static void a_node_names_the_call_that_made_it(void **state)
{
	struct call_result result = {0};
	struct call call;
	const struct record *r;
	uint64_t begin;

	(void)state;
	assert_true(recorder_begin(&call, LAUNCH));
	begin = call.begin_ns;
	recorder_node(
		&(struct node_event){.kind = BST_ENUM_NODE_KIND_CREATED, .node = 5, .graph = 6});
	recorder_end(&call, &result);
	r = take();
	assert_int_equal(r->kind, RECORD_NODE);
	assert_int_equal(r->api, LAUNCH);
	assert_int_equal(r->begin_ns, begin);
}

static jmp_buf back;

static void __attribute__((noinline)) jump_out_of_a_call(void)
{
	struct call call;

	if (recorder_begin(&call, LAUNCH))
		longjmp(back, 1);
}

static void __attribute__((noinline)) leave_a_call_by_longjmp(void)
{
	volatile char deep[4096];

	deep[17] = 0;
	jump_out_of_a_call();
	assert_int_equal(deep[17], 0);
}

static void a_call_left_by_longjmp_is_forgotten(void **state)
{
	uint64_t begin;

	(void)state;
	if (setjmp(back) == 0)
		leave_a_call_by_longjmp();
	begin = recorder_driver_begin(DRIVER_LAUNCH, true, 9);
	assert_int_not_equal(begin, 0);
	recorder_driver_end(DRIVER_LAUNCH, begin, 9, 0);
	assert_int_equal(take()->correlation, 9);
	if (setjmp(back) == 0)
		leave_a_call_by_longjmp();
	one_call(LAUNCH, 0);
	assert_int_equal(take()->kind, RECORD_CALL);
}

static void nothing_is_recorded_when_tracing_is_off(void **state)
{
	struct call call;

	(void)state;
	atomic_store(&session_state_now, SESSION_OFF);
	assert_false(recorder_begin(&call, LAUNCH));
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, true, 1), 0);
	recorder_range(&(struct range_event){.kind = BST_ENUM_RANGE_KIND_MARK});
	recorder_node(&(struct node_event){.kind = BST_ENUM_NODE_KIND_CREATED});
	assert_null(take());
}

static void *attach(void *unused)
{
	(void)unused;
	return thread_self();
}

/* In a thread without a slot: what is lost after each of five steps. */
static void *lose_each_record_once(void *data)
{
	struct shape shape = {0};
	struct library_call library, inner;
	struct call_result result = {0};
	struct call call;
	uint32_t *counts = data;

	if (thread_self())
		return NULL;
	assert_true(recorder_begin(&call, LAUNCH));
	assert_false(is_recorded(LAUNCH));
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, false, 1), 0);
	assert_int_equal(recorder_driver_begin(DRIVER_LAUNCH, true, 2), 0);
	recorder_end(&call, &result);
	*counts++ = lost_to(BST_ENUM_LOSS_THREAD_LIMIT);
	assert_true(recorder_begin(&call, API_cudaMemcpy));
	recorder_driver_begin(DRIVER_LAUNCH, true, 3);
	recorder_driver_begin(DRIVER_LAUNCH, true, 4);
	recorder_end(&call, &result);
	*counts++ = lost_to(BST_ENUM_LOSS_THREAD_LIMIT);
	recorder_driver_begin(DRIVER_LAUNCH, true, 5);
	*counts++ = lost_to(BST_ENUM_LOSS_THREAD_LIMIT);
	recorder_range(&(struct range_event){.kind = BST_ENUM_RANGE_KIND_PUSH});
	recorder_node(&(struct node_event){.kind = BST_ENUM_NODE_KIND_CREATED});
	*counts++ = lost_to(BST_ENUM_LOSS_THREAD_LIMIT);
	assert_true(recorder_library_begin(&library, API_cublasGemmEx));
	shape.flags = BST_ENUM_SHAPE_FLAG_FLOPS;
	recorder_library_enter(&library, &shape, 0);
	assert_false(recorder_library_begin(&inner, API_cublasGemmEx));
	recorder_library_end(&library, 0);
	*counts++ = lost_to(BST_ENUM_LOSS_THREAD_LIMIT);
	return data;
}

static void what_a_thread_too_many_does_is_lost_once(void **state)
{
	static const uint32_t wanted[] = {1, 3, 4, 6, 7};
	uint32_t counts[5] = {0};
	pthread_t thread;
	void *done;

	(void)state;
	for (unsigned i = 1; i < THREAD_LIMIT; i++) {
		assert_int_equal(pthread_create(&thread, NULL, attach, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(pthread_create(&thread, NULL, lose_each_record_once, counts), 0);
	pthread_join(thread, &done);
	assert_ptr_equal(done, counts);
	assert_memory_equal(counts, wanted, sizeof(wanted));
	assert_null(take());
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_becomes_a_record),
		TEST(a_failed_call_keeps_its_code),
		TEST(a_hooked_call_inside_another_is_part_of_it),
		TEST(the_driver_call_inside_gives_the_correlation),
		TEST(further_operations_of_a_call_have_nested_records),
		TEST(a_driver_call_that_no_hook_saw_has_a_record),
		TEST(flags_of_callbacks_go_to_the_call_in_progress_only),
		TEST(a_silence_is_explained_once),
		TEST(what_a_full_ring_loses_is_counted_and_placed),
		TEST(the_note_of_a_loss_needs_a_place_too),
		TEST(errno_is_the_programs),
		TEST(nodes_carry_the_range_in_force),
		TEST(a_node_names_the_call_that_made_it),
		TEST(a_call_left_by_longjmp_is_forgotten),
		TEST(what_a_thread_too_many_does_is_lost_once),
		TEST(nothing_is_recorded_when_tracing_is_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
