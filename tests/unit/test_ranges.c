/* The device's time by NVTX range: scenes whose figures are known, and what must hold for any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/ranges.h"
#include "tests/unit/trace_builder.h"
#include "tests/unit/trace_image.h"

#define US UINT64_C(1000)
#define START (5000 * US)
#define ROUNDS 400

enum kind {
	PUSH = BST_ENUM_RANGE_KIND_PUSH,
	POP = BST_ENUM_RANGE_KIND_POP,
	BEGIN = BST_ENUM_RANGE_KIND_START,
	END = BST_ENUM_RANGE_KIND_END,
};

struct scene {
	struct trace_builder b;
	uint64_t name[8];
	uint64_t now[3]; /* of each thread, us after START */
	uint64_t launches;
};

/* Two threads, a kernel that nothing is known of, names "a" to "h". */
static void begin(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	builder_init(&s->b, 50);
	builder_thread(&s->b, 71);
	builder_thread(&s->b, 72);
	builder_api(&s->b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	builder_kernel(&s->b, "kernel", 1000, 256);
	for (unsigned i = 0; i < 8; i++)
		s->name[i] = builder_string(&s->b, (char[]){(char)('a' + i), '\0'});
}

static void say_of(struct scene *s, unsigned thread, enum kind kind, uint64_t domain, uint64_t name,
		   uint64_t id)
{
	builder_range(&s->b, &(struct builder_range){.thread = thread,
						     .time_ns = START + s->now[thread] * US,
						     .kind = kind,
						     .domain = domain,
						     .name = name,
						     .id = id});
}

static void push(struct scene *s, unsigned thread, char name)
{
	say_of(s, thread, PUSH, 0, s->name[name - 'a'], 0);
}

static void pop(struct scene *s, unsigned thread)
{
	say_of(s, thread, POP, 0, 0, 0);
}

static void start(struct scene *s, unsigned thread, char name, uint64_t id)
{
	say_of(s, thread, BEGIN, 0, s->name[name - 'a'], id);
}

static void end(struct scene *s, unsigned thread, uint64_t id)
{
	say_of(s, thread, END, 0, 0, id);
}

/* A call of 2 us, 10 us after whatever was before; its kernel starts 3 us later and takes 5 us: with the gap before it, the device's
 * time between two kernels' ends is 15 us (2 + 3 + 5, and 5 us of the host's). */
static void launch(struct scene *s, unsigned thread)
{
	uint64_t call = START + s->now[thread] * US;

	s->launches++;
	builder_call(&s->b, &(struct builder_call){.thread = thread,
						   .api = 1,
						   .begin_ns = call + US,
						   .duration_ns = 2 * US,
						   .correlation = s->launches});
	builder_run(&s->b, &(struct builder_run){.kernel = 1,
						 .begin_ns = call + 6 * US,
						 .duration_ns = 5 * US,
						 .correlation = s->launches,
						 .stream = 7});
	for (unsigned i = 0; i < 3; i++)
		s->now[i] += 15;
}

static void analyze(struct scene *s, struct report *report)
{
	assert_int_equal(builder_analyze(&s->b, report), 0);
	builder_fini(&s->b);
}

static const struct ranges_report *ranges_of(const struct report *report)
{
	return &report->processes[0].devices[0].ranges;
}

static uint64_t sum(const uint64_t leaf_ns[LEAF_COUNT])
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		total += leaf_ns[i];
	return total;
}

/* "a", "a:b"? The range whose names from the root on are `path`, one letter each. */
static const struct range_report *find(const struct report *report, const char *path)
{
	const struct ranges_report *ranges = ranges_of(report);
	size_t depth = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		const struct range_report *range = &ranges->range[i];

		if (range->depth < depth)
			break;
		if (range->depth != depth || range->name[0] != path[depth])
			continue;
		if (!path[++depth])
			return range;
	}
	fail_msg("no range %s", path);
	return NULL;
}

static void assert_range(const struct report *report, const char *path, uint64_t count,
			 uint64_t self_us, uint64_t total_us)
{
	const struct range_window *whole = &find(report, path)->whole;

	assert_int_equal(whole->count, count);
	assert_int_equal(sum(whole->self_ns), self_us * US);
	assert_int_equal(sum(whole->total_ns), total_us * US);
}

static void assert_sums(const struct window *window, const struct ranges_report *ranges,
			bool steady)
{
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++) {
		const struct range_report *outside = &ranges->outside;
		uint64_t self = (steady ? &outside->steady : &outside->whole)->self_ns[leaf];
		uint64_t total = self;

		for (size_t i = 0; i < ranges->count; i++) {
			const struct range_report *range = &ranges->range[i];
			const struct range_window *w = steady ? &range->steady : &range->whole;

			self += w->self_ns[leaf];
			total += range->depth ? 0 : w->total_ns[leaf];
		}
		assert_int_equal(self, window->leaf_ns[leaf]);
		assert_int_equal(total, window->leaf_ns[leaf]);
	}
}

static void assert_all_sums(const struct report *report)
{
	for (size_t i = 0; i < report->processes[0].device_count; i++) {
		const struct device_report *device = &report->processes[0].devices[i];

		assert_sums(&device->whole, &device->ranges, false);
		assert_sums(&device->steady, &device->ranges, true);
	}
}

static void kernels_and_the_gaps_before_them_go_to_the_innermost_range(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	launch(&s, 1);
	for (unsigned i = 0; i < 3; i++) {
		push(&s, 1, 'a');
		launch(&s, 1);
		push(&s, 1, 'b');
		launch(&s, 1);
		launch(&s, 1);
		pop(&s, 1);
		pop(&s, 1);
	}
	launch(&s, 1);
	analyze(&s, &report);
	assert_range(&report, "a", 3, 3 * 15, 9 * 15);
	assert_range(&report, "ab", 3, 6 * 15, 6 * 15);
	/* From the first call on: its gap of 5 us, its kernel, and the last gap and kernel. */
	assert_int_equal(sum(ranges_of(&report)->outside.whole.self_ns), 25 * US);
	assert_int_equal(find(&report, "ab")->whole.self_ns[LEAF_HOST], 6 * 5 * US);
	assert_int_equal(find(&report, "ab")->whole.self_ns[LEAF_LAUNCH], 6 * 5 * US);
	assert_all_sums(&report);
	report_fini(&report);
}

static void equal_names_in_other_places_are_other_ranges(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	push(&s, 1, 'b');
	launch(&s, 1);
	pop(&s, 1);
	push(&s, 1, 'a');
	push(&s, 1, 'b');
	launch(&s, 1);
	launch(&s, 1);
	analyze(&s, &report);
	assert_range(&report, "b", 1, 10, 10);
	assert_range(&report, "ab", 1, 30, 30);
	assert_range(&report, "a", 1, 0, 30);
	assert_string_equal(ranges_of(&report)->range[0].name, "a");
	report_fini(&report);
}

static void started_ranges_may_overlap_and_end_on_another_thread(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	start(&s, 1, 'a', 11);
	launch(&s, 1);
	start(&s, 1, 'b', 12);
	launch(&s, 1);
	end(&s, 2, 11); /* `b` moves up */
	s.now[1]++;
	launch(&s, 1);
	end(&s, 1, 12);
	launch(&s, 1);
	end(&s, 1, 99);
	analyze(&s, &report);
	assert_range(&report, "a", 1, 10, 25);
	assert_range(&report, "ab", 1, 15, 15);
	assert_range(&report, "b", 1, 16, 16);
	assert_int_equal(sum(ranges_of(&report)->outside.whole.self_ns), 15 * US);
	assert_all_sums(&report);
	report_fini(&report);
}

static void a_pop_closes_the_last_push_of_its_domain(void **state)
{
	struct report report;
	struct scene s;
	uint64_t domain;

	(void)state;
	begin(&s);
	domain = builder_handle(&s.b, s.name[7] | UINT64_C(1) << 40);
	push(&s, 1, 'a');
	say_of(&s, 1, PUSH, domain, s.name[1], 0);
	launch(&s, 1);
	say_of(&s, 1, POP, domain + 5, 0, 0); /* of a domain that the trace does not tell */
	pop(&s, 1);
	launch(&s, 1);
	say_of(&s, 1, POP, domain, 0, 0);
	pop(&s, 1); /* one too many */
	launch(&s, 1);
	analyze(&s, &report);
	assert_range(&report, "ab", 1, 10, 10);
	assert_range(&report, "b", 1, 15, 15);
	assert_string_equal(find(&report, "b")->domain, "h");
	assert_null(find(&report, "a")->domain);
	assert_int_equal(sum(ranges_of(&report)->outside.whole.self_ns), 15 * US);
	report_fini(&report);
}

/* Autograd's thread has no ranges of its own: that of the thread which called backward is not its. */
static void a_thread_without_ranges_is_told_apart(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	push(&s, 1, 'a');
	launch(&s, 1);
	launch(&s, 2);
	launch(&s, 2);
	pop(&s, 1);
	launch(&s, 1);
	analyze(&s, &report);
	assert_range(&report, "a", 1, 10, 10);
	assert_int_equal(sum(ranges_of(&report)->outside.whole.self_ns), 45 * US);
	assert_int_equal(sum(ranges_of(&report)->stranger.whole.self_ns), 30 * US);
	assert_all_sums(&report);
	report_fini(&report);
}

static void ranges_that_launch_nothing_are_opened_and_count_nothing(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	push(&s, 1, 'c');
	pop(&s, 1);
	push(&s, 1, 'c');
	pop(&s, 1);
	launch(&s, 1);
	analyze(&s, &report);
	assert_range(&report, "c", 0, 0, 0);
	assert_int_equal(find(&report, "c")->opened, 2);
	report_fini(&report);
}

static void names_without_end_count_as_the_range_around_them(void **state)
{
	struct report report;
	struct scene s;
	char name[16];

	(void)state;
	begin(&s);
	push(&s, 1, 'a');
	for (unsigned i = 0; i < RANGE_NODES; i++) {
		snprintf(name, sizeof(name), "item %u", i);
		say_of(&s, 1, PUSH, 0, builder_string(&s.b, name), 0);
		launch(&s, 1);
		pop(&s, 1);
	}
	analyze(&s, &report);
	/* Two nodes are for what is outside, one is `a`. */
	assert_int_equal(ranges_of(&report)->count, RANGE_NODES - 2);
	assert_int_equal(ranges_of(&report)->crowded, 3);
	assert_int_equal(sum(find(&report, "a")->whole.self_ns), 3 * 15 * US);
	assert_all_sums(&report);
	report_fini(&report);
}

static void ranges_that_never_end_are_bounded(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < RANGES_OPEN + 10; i++, s.now[1]++)
		start(&s, 1, 'a', i + 1);
	for (unsigned i = 0; i < 10; i++, s.now[1]++)
		push(&s, 1, 'b');
	launch(&s, 1);
	for (unsigned i = 0; i < 10; i++, s.now[1]++)
		pop(&s, 1);
	launch(&s, 1);
	analyze(&s, &report);
	assert_int_equal(ranges_of(&report)->count, RANGES_OPEN);
	assert_int_equal(ranges_of(&report)->crowded, 20);
	assert_all_sums(&report);
	report_fini(&report);
}

static void a_trace_without_ranges_has_no_tree(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	begin(&s);
	launch(&s, 1);
	analyze(&s, &report);
	assert_false(ranges_of(&report)->known);
	report_fini(&report);
}

/* --- any program --- */

static void issue_random(struct scene *s, unsigned thread, uint64_t *host, uint64_t *stream)
{
	uint64_t duration = random_below(60 * US), lane = random_below(3);
	uint64_t begin = *host + random_below(20 * US);

	s->launches++;
	builder_call(&s->b, &(struct builder_call){.thread = thread,
						   .api = 1,
						   .begin_ns = *host,
						   .duration_ns = random_below(9 * US),
						   .correlation = s->launches});
	if (begin < stream[lane])
		begin = stream[lane] - (random_below(4) ? 0 : random_below(US));
	if (!random_below(8))
		s->launches++; /* of an operation whose call is not known */
	builder_run(&s->b, &(struct builder_run){.kernel = random_below(3),
						 .begin_ns = begin,
						 .duration_ns = duration,
						 .correlation = s->launches,
						 .stream = 7 + lane,
						 .device = random_below(2)});
	stream[lane] = begin + duration;
}

static void say_random(struct scene *s, unsigned thread, uint64_t domain)
{
	uint64_t name = random_below(5) ? s->name[random_below(8)] : 0;

	switch (random_below(8)) {
	case 0:
		say_of(s, thread, BEGIN, random_below(2) * domain, name, 1 + random_below(40));
		return;
	case 1:
		say_of(s, thread, END, 0, 0, random_below(40));
		return;
	case 2:
	case 3:
	case 4:
		say_of(s, thread, POP, random_below(4) ? 0 : domain, 0, 0);
		return;
	default:
		say_of(s, thread, PUSH, random_below(4) ? 0 : domain, name, 0);
	}
}

static void make_random(struct scene *s)
{
	uint64_t stream[3] = {0}, host = START, domain;

	begin(s);
	domain = builder_handle(&s->b, s->name[6] | UINT64_C(1) << 40);
	for (unsigned i = 0; i < 60; i++) {
		unsigned thread = 1 + (unsigned)random_below(2);

		host += 1 + random_below(30 * US);
		s->now[thread] = (host - START) / US;
		if (random_below(2))
			issue_random(s, thread, &host, stream);
		else
			say_random(s, thread, domain);
	}
}

static void times_of_ranges_sum_to_the_windows(void **state)
{
	struct report report;
	struct scene s;

	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		make_random(&s);
		analyze(&s, &report);
		assert_all_sums(&report);
		report_fini(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_and_the_gaps_before_them_go_to_the_innermost_range),
		cmocka_unit_test(equal_names_in_other_places_are_other_ranges),
		cmocka_unit_test(started_ranges_may_overlap_and_end_on_another_thread),
		cmocka_unit_test(a_pop_closes_the_last_push_of_its_domain),
		cmocka_unit_test(a_thread_without_ranges_is_told_apart),
		cmocka_unit_test(ranges_that_launch_nothing_are_opened_and_count_nothing),
		cmocka_unit_test(names_without_end_count_as_the_range_around_them),
		cmocka_unit_test(ranges_that_never_end_are_bounded),
		cmocka_unit_test(a_trace_without_ranges_has_no_tree),
		cmocka_unit_test(times_of_ranges_sum_to_the_windows),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
