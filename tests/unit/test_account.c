/* What must hold for any stream of operations and calls, and for some whose figures are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_builder.h"
#include "tests/unit/trace_image.h"

#define US UINT64_C(1000)
#define EVENTS 400

/* A random trace, kept apart from its encoding so that it can be written in any order and with
 * changes. */
struct event {
	bool is_call;
	struct builder_call call;
	struct builder_run run;
	struct builder_copy copy;
	bool is_copy;
};

struct scene {
	struct event event[EVENTS * 2];
	size_t count;
};

static void add_op(struct scene *s, uint64_t *at, unsigned i)
{
	struct event *e = &s->event[s->count++];
	uint64_t duration = random_below(20) ? random_below(60 * US) : 0;

	memset(e, 0, sizeof(*e));
	*at += 1 + (random_below(3) ? random_below(10 * US) : random_below(80 * US));
	if (random_below(6)) {
		e->run = (struct builder_run){.kernel = 1 + random_below(5),
					      .begin_ns = *at,
					      .duration_ns = duration,
					      .correlation = i + 1,
					      .stream = 7 + random_below(3),
					      .device = random_below(2),
					      .graph = random_below(5) ? 0 : 3,
					      .node = random_below(9),
					      .flags = random_below(30) ? 0 : 1};
		return;
	}
	e->is_copy = true;
	e->copy = (struct builder_copy){.kind = 1 + random_below(7),
					.begin_ns = *at,
					.duration_ns = duration,
					.correlation = i + 1,
					.stream = 7 + random_below(3),
					.device = random_below(2),
					.bytes = random_below(1 << 20),
					.source_kind = random_below(5),
					.target_kind = random_below(5)};
}

static void add_call(struct scene *s, uint64_t *at, unsigned i)
{
	struct event *e = &s->event[s->count++];

	memset(e, 0, sizeof(*e));
	*at += 1 + random_below(12 * US);
	e->is_call = true;
	e->call = (struct builder_call){.thread = 1 + random_below(3),
					.api = 1 + random_below(19),
					.begin_ns = *at,
					.duration_ns = random_below(20 * US),
					.correlation = random_below(4) ? i + 1 : 0,
					.stream = random_below(4),
					.object = random_below(4),
					.flags = random_below(4) ? 0 : random_below(64)};
}

static void make(struct scene *s)
{
	uint64_t op_at = 5000 * US, call_at = 4900 * US;

	s->count = 0;
	for (unsigned i = 0; i < EVENTS; i++) {
		add_call(s, &call_at, i);
		add_op(s, &op_at, i);
	}
}

static void begin(struct trace_builder *b)
{
	builder_init(b, 50);
	builder_number(b, 1, "sm_count", 132);
	builder_number(b, 1, "threads_per_sm", 2048);
	for (unsigned i = 1; i <= 3; i++)
		builder_thread(b, 70 + i);
	for (unsigned i = 0; i < 19; i++)
		builder_api(b, i % 2 ? "cudaSomethingAsync" : "cudaSomething", i);
	builder_kernel(b, "void at::native::vectorized_elementwise_kernel<4>()", 4000, 256);
	builder_kernel(b, "tiny", 1, 32);
	builder_kernel(b, "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", 132, 384);
	builder_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 24, 512);
	builder_kernel(b, "half", 130, 1024);
}

static void put(struct trace_builder *b, const struct event *e)
{
	if (e->is_call)
		builder_call(b, &e->call);
	else if (e->is_copy)
		builder_copy(b, &e->copy);
	else
		builder_run(b, &e->run);
}

static void analyze(const struct scene *s, struct report *report)
{
	struct trace_builder b;

	begin(&b);
	for (size_t i = 0; i < s->count; i++)
		put(&b, &s->event[i]);
	assert_int_equal(builder_analyze(&b, report), 0);
	assert_int_equal(report->process_count, 1);
	builder_fini(&b);
}

static uint64_t sum(const struct window *w)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		total += w->leaf_ns[i];
	return total;
}

static uint64_t idle(const struct window *w)
{
	return w->window_ns - w->busy_ns;
}

/* Kernels' and copies' shares together are what the device was busy. */
static void check_shares(const struct device_report *d)
{
	uint64_t busy = 0;

	for (size_t i = 0; i < d->kernel_count; i++) {
		busy += d->kernels[i].busy_ns;
		assert_true(d->kernels[i].busy_ns <= d->steady.window_ns);
	}
	assert_int_equal(busy, d->steady.kernel_ns);
	for (size_t i = 0; i < d->copy_count; i++)
		busy += d->copies[i].exposed_ns;
	assert_int_equal(busy, d->steady.busy_ns);
}

static void leaves_sum_to_the_window(void **state)
{
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct report report;

		make(s);
		analyze(s, &report);
		for (size_t i = 0; i < report.processes[0].device_count; i++) {
			const struct device_report *d = &report.processes[0].devices[i];

			assert_true(d->whole.known && d->steady.known);
			assert_int_equal(sum(&d->whole), d->whole.window_ns);
			assert_int_equal(sum(&d->steady), d->steady.window_ns);
			assert_true(d->steady.window_ns <= d->whole.window_ns);
			assert_true(d->whole.busy_ns <= d->whole.window_ns);
			assert_true(d->whole.kernel_ns <= d->whole.busy_ns);
			assert_true(d->whole.launch_queue_gap_ns <= d->whole.leaf_ns[LEAF_LAUNCH]);
			check_shares(d);
		}
		report_fini(&report);
	}
	free(s);
}

static void assert_same(const struct window *a, const struct window *b)
{
	assert_int_equal(a->window_ns, b->window_ns);
	assert_int_equal(a->busy_ns, b->busy_ns);
	assert_int_equal(a->kernel_ns, b->kernel_ns);
	for (unsigned i = 0; i < LEAF_COUNT; i++)
		assert_int_equal(a->leaf_ns[i], b->leaf_ns[i]);
}

/* Records come in any order: by buffer, by thread, late. Only calls of one thread keep theirs, and no two events begin in the same ns
 * (between such the order of the file decides). */
static void the_order_of_records_does_not_matter(void **state)
{
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		struct report sorted, shuffled;

		make(s);
		analyze(s, &sorted);
		for (size_t i = s->count - 1; i > 0; i--) {
			size_t j = random_below(i + 1);
			struct event swap = s->event[i];

			s->event[i] = s->event[j];
			s->event[j] = swap;
		}
		analyze(s, &shuffled);
		for (size_t i = 0; i < sorted.processes[0].device_count; i++) {
			assert_same(&sorted.processes[0].devices[i].whole,
				    &shuffled.processes[0].devices[i].whole);
			assert_same(&sorted.processes[0].devices[i].steady,
				    &shuffled.processes[0].devices[i].steady);
		}
		report_fini(&sorted);
		report_fini(&shuffled);
	}
	free(s);
}

static void a_later_start_never_lowers_idle_time(void **state)
{
	struct scene *s = malloc(sizeof(*s));

	(void)state;
	for (unsigned round = 0; round < 30; round++) {
		struct report before, after;
		size_t cut;

		make(s);
		analyze(s, &before);
		/*
		 * All events from one on happen 200 us later, and so does the end of the window: what is not moved has ended before.
		 */
		cut = random_below(s->count * 3 / 4);
		for (size_t i = 0; i < s->count; i++) {
			struct event *e = &s->event[i];
			uint64_t shift = i >= cut ? 200 * US : 0;

			e->call.begin_ns += shift;
			e->run.begin_ns += shift;
			e->copy.begin_ns += shift;
		}
		analyze(s, &after);
		for (size_t i = 0; i < before.processes[0].device_count; i++)
			assert_true(idle(&after.processes[0].devices[i].whole) >=
				    idle(&before.processes[0].devices[i].whole));
		report_fini(&before);
		report_fini(&after);
	}
	free(s);
}

static void run_at(struct trace_builder *b, uint64_t kernel, uint64_t stream, uint64_t from,
		   uint64_t to)
{
	builder_run(b, &(struct builder_run){.kernel = kernel,
					     .begin_ns = from * US,
					     .duration_ns = (to - from) * US,
					     .stream = stream});
}

static const struct kernel_report *find(const struct report *report, const char *name)
{
	const struct device_report *d = &report->processes[0].devices[0];

	for (size_t i = 0; i < d->kernel_count; i++)
		if (strstr(d->kernels[i].name, name))
			return &d->kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static void concurrent_kernels_split_their_time(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct window *w;

	(void)state;
	begin(&b);
	run_at(&b, 2, 1, 100, 200);
	run_at(&b, 5, 2, 150, 250);
	assert_int_equal(builder_analyze(&b, &report), 0);
	w = &report.processes[0].devices[0].whole;
	assert_int_equal(w->busy_ns, 150 * US);
	assert_int_equal(find(&report, "tiny")->busy_ns, 75 * US);
	assert_int_equal(find(&report, "half")->busy_ns, 75 * US);
	assert_int_equal(find(&report, "tiny")->total_ns, 100 * US);
	builder_fini(&b);
	report_fini(&report);
}

static void durations_have_a_deviation(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct measure *deviation;

	(void)state;
	begin(&b);
	run_at(&b, 2, 1, 100, 110);
	run_at(&b, 2, 1, 200, 220);
	run_at(&b, 2, 1, 300, 330);
	run_at(&b, 5, 1, 400, 410);
	assert_int_equal(builder_analyze(&b, &report), 0);
	deviation = &find(&report, "tiny")->deviation_ns;
	assert_true(deviation->known);
	assert_true(fabs(deviation->value - 10 * US) < 1);
	assert_false(find(&report, "half")->deviation_ns.known);
	builder_fini(&b);
	report_fini(&report);
}

static void overlap_on_one_stream_counts_as_the_earlier_kernel(void **state)
{
	struct trace_builder b;
	struct report report;

	(void)state;
	begin(&b);
	run_at(&b, 2, 1, 100, 200);
	run_at(&b, 5, 1, 190, 250);
	assert_int_equal(builder_analyze(&b, &report), 0);
	assert_int_equal(find(&report, "tiny")->busy_ns, 100 * US);
	assert_int_equal(find(&report, "half")->busy_ns, 50 * US);
	assert_int_equal(find(&report, "half")->total_ns, 60 * US);
	builder_fini(&b);
	report_fini(&report);
}

static void collectives_count_only_where_no_kernel_runs(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct window *w;

	(void)state;
	begin(&b);
	run_at(&b, 4, 1, 100, 300);
	run_at(&b, 2, 2, 150, 250);
	assert_int_equal(builder_analyze(&b, &report), 0);
	w = &report.processes[0].devices[0].whole;
	assert_int_equal(w->leaf_ns[LEAF_COMMUNICATION], 100 * US);
	assert_int_equal(w->leaf_ns[LEAF_UNDERFILLED], 100 * US);
	assert_int_equal(find(&report, "nccl")->busy_ns, 100 * US);
	builder_fini(&b);
	report_fini(&report);
}

static void pauses_set_phases_apart(void **state)
{
	struct trace_builder b;
	struct report report;
	const struct device_report *d;

	(void)state;
	begin(&b);
	run_at(&b, 2, 1, 1000, 1100);
	run_at(&b, 1, 1, 1200, 1300);
	run_at(&b, 5, 1, 900000, 900100);
	assert_int_equal(builder_analyze(&b, &report), 0);
	d = &report.processes[0].devices[0];
	assert_false(d->steps.known);
	assert_int_equal(d->steady.window_ns, 300 * US + 100 * US);
	assert_int_equal(d->whole.window_ns, 899100 * US);
	builder_fini(&b);
	report_fini(&report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_sum_to_the_window),
		cmocka_unit_test(the_order_of_records_does_not_matter),
		cmocka_unit_test(a_later_start_never_lowers_idle_time),
		cmocka_unit_test(concurrent_kernels_split_their_time),
		cmocka_unit_test(durations_have_a_deviation),
		cmocka_unit_test(overlap_on_one_stream_counts_as_the_earlier_kernel),
		cmocka_unit_test(collectives_count_only_where_no_kernel_runs),
		cmocka_unit_test(pauses_set_phases_apart),
	};

	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
