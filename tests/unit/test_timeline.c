/* Events come in the order of time, whatever the order of rows and chunks, and from little memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "analysis/timeline.h"
#include "shim/trace/wire.h"
#include "tests/unit/trace_builder.h"
#include "tests/unit/trace_image.h"

struct open_trace {
	struct trace trace;
	struct clock clock;
	char *path;
};

static void open_built(struct trace_builder *b, struct open_trace *o)
{
	char *reason = NULL;

	builder_finish(b);
	o->path = builder_write(b);
	assert_int_equal(trace_open(&o->trace, o->path, &reason), 0);
	assert_int_equal(
		clock_init(&o->clock, o->trace.vocabulary.clock, o->trace.vocabulary.clock_count),
		0);
}

static void close_trace(struct trace_builder *b, struct open_trace *o)
{
	clock_fini(&o->clock);
	trace_close(&o->trace);
	unlink(o->path);
	free(o->path);
	builder_fini(b);
}

static void put_run(struct trace_builder *b, uint64_t begin_ns, uint64_t id)
{
	builder_run(b, &(struct builder_run){
			       .begin_ns = begin_ns, .duration_ns = 10, .correlation = id});
}

static void rows_and_chunks_in_any_order(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct trace_builder b;
		struct open_trace o;
		struct timeline t;
		const struct op *op;
		uint64_t last = 0, count = 0, sum = 0;

		builder_init(&b, 1 + (uint32_t)random_below(60));
		for (uint64_t i = 0; i < 3000; i++) {
			if (random_below(4))
				put_run(&b, 100000 + 1000 * i + random_below(200000), i);
			else
				builder_copy(&b,
					     &(struct builder_copy){.begin_ns = 100000 + 1000 * i,
								    .duration_ns = 10,
								    .correlation = i});
		}
		open_built(&b, &o);
		assert_int_equal(timeline_init(&t, &o.trace, &o.clock, TIMELINE_OPS), 0);
		while ((op = timeline_op(&t))) {
			assert_true(op->begin_ns >= last);
			last = op->begin_ns;
			sum += op->correlation;
			count++;
		}
		assert_int_equal(count, 3000);
		assert_int_equal(sum, 3000 * 2999 / 2);
		assert_int_equal(t.counts.kernels + t.counts.copies, 3000);
		assert_int_equal(t.counts.late + t.counts.crowded + t.counts.time_invalid, 0);
		timeline_fini(&t);
		close_trace(&b, &o);
	}
}

static void an_outer_call_comes_before_what_is_inside(void **state)
{
	struct trace_builder b;
	struct open_trace o;
	struct timeline t;

	(void)state;
	builder_init(&b, 10);
	builder_thread(&b, 7);
	builder_call(&b,
		     &(struct builder_call){
			     .thread = 1, .begin_ns = 500, .duration_ns = 10, .correlation = 2});
	builder_call(&b,
		     &(struct builder_call){
			     .thread = 1, .begin_ns = 500, .duration_ns = 90, .correlation = 1});
	open_built(&b, &o);
	assert_int_equal(timeline_init(&t, &o.trace, &o.clock, TIMELINE_CALLS), 0);
	assert_int_equal(timeline_call(&t)->correlation, 1);
	assert_int_equal(timeline_call(&t)->correlation, 2);
	assert_null(timeline_call(&t));
	timeline_fini(&t);
	close_trace(&b, &o);
}

/* One row of time zero drags a chunk's least time to the beginning; it must not be opened then. */
static void an_impossible_time_does_not_open_a_chunk_early(void **state)
{
	struct trace_builder b;
	struct open_trace o;
	struct timeline t;
	uint64_t most = 0, count = 0;

	(void)state;
	builder_init(&b, 100);
	for (uint64_t i = 0; i < 10000; i++)
		put_run(&b, i % 100 == 50 ? 0 - BUILDER_DEVICE_OFFSET : 100000 + 1000 * i, i);
	open_built(&b, &o);
	assert_int_equal(timeline_init(&t, &o.trace, &o.clock, TIMELINE_OPS), 0);
	while (timeline_op(&t)) {
		count++;
		if (t.open_rows > most)
			most = t.open_rows;
	}
	assert_int_equal(count, 9900);
	assert_int_equal(t.counts.time_invalid, 100);
	assert_true(most <= 200);
	timeline_fini(&t);
	close_trace(&b, &o);
}

/* 100 chunks; those of a stretch in the middle are decoded, no others. */
static void a_stretch_is_read_without_the_rest(void **state)
{
	struct trace_builder b;
	struct open_trace o;
	struct timeline t;
	const struct op *op;
	uint64_t count = 0, inside = 0;

	(void)state;
	builder_init(&b, 100);
	for (uint64_t i = 0; i < 10000; i++)
		put_run(&b, 100000 + 1000 * i, i);
	open_built(&b, &o);
	assert_int_equal(
		timeline_init_between(&t, &o.trace, &o.clock, TIMELINE_OPS, 5000000, 5300000), 0);
	while ((op = timeline_op(&t))) {
		count++;
		inside += op->begin_ns >= 5000000 && op->begin_ns <= 5300000;
	}
	assert_int_equal(inside, 301);
	assert_true(count <= 500);
	timeline_fini(&t);
	close_trace(&b, &o);
}

/* The header of a chunk says that it begins later than it does. */
static void rows_that_come_too_late_are_counted(void **state)
{
	struct trace_builder b;
	struct open_trace o;
	struct timeline t;
	size_t at = BST_FILE_HEADER_BYTES;
	uint64_t count = 0, last = 0;
	const struct op *op;

	(void)state;
	builder_init(&b, 100);
	for (uint64_t i = 0; i < 300; i++)
		put_run(&b, 100000 + 1000 * i, i);
	builder_flush(&b);
	for (; at < b.size; at += BST_CHUNK_HEADER_BYTES + get_u32(b.data + at + 8)) {
		uint8_t *payload = b.data + at + BST_CHUNK_HEADER_BYTES;

		if (get_u16(payload) == BST_TABLE_RUN && get_u64(payload + 8) == 0)
			put_u64(payload + 16, BUILDER_DEVICE_OFFSET + 350000);
		image_seal_chunk(b.data + at);
	}
	open_built(&b, &o);
	assert_int_equal(timeline_init(&t, &o.trace, &o.clock, TIMELINE_OPS), 0);
	while ((op = timeline_op(&t))) {
		assert_true(op->begin_ns >= last);
		last = op->begin_ns;
		count++;
	}
	assert_int_equal(count + t.counts.late, 300);
	timeline_fini(&t);
	close_trace(&b, &o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_and_chunks_in_any_order),
		cmocka_unit_test(an_outer_call_comes_before_what_is_inside),
		cmocka_unit_test(an_impossible_time_does_not_open_a_chunk_early),
		cmocka_unit_test(a_stretch_is_read_without_the_rest),
		cmocka_unit_test(rows_that_come_too_late_are_counted),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
