/* Whose fault a gap is: known timelines, through the whole analysis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/idle.h"
#include "tests/unit/trace_builder.h"

#define US UINT64_C(1000)

/* One thread, one stream, the APIs that the scenes need. Times in microseconds. */
struct scene {
	struct trace_builder b;
	uint64_t thread, other_thread;
	uint64_t launch, graph_launch, sync, alloc, copy, copy_async, event_record, event_wait,
		host_function;
	uint64_t kernel;
	struct report report;
};

static void begin(struct scene *s)
{
	builder_init(&s->b, 1000);
	s->thread = builder_thread(&s->b, 77);
	s->other_thread = builder_thread(&s->b, 78);
	s->launch = builder_api(&s->b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	s->graph_launch = builder_api(&s->b, "cudaGraphLaunch", BST_ENUM_CLASS_GRAPH_LAUNCH);
	s->sync = builder_api(&s->b, "cudaStreamSynchronize", BST_ENUM_CLASS_SYNC);
	s->alloc = builder_api(&s->b, "cudaMalloc", BST_ENUM_CLASS_ALLOC);
	s->copy = builder_api(&s->b, "cudaMemcpy", BST_ENUM_CLASS_COPY);
	s->copy_async = builder_api(&s->b, "cudaMemcpyAsync", BST_ENUM_CLASS_COPY);
	s->event_record = builder_api(&s->b, "cudaEventRecord", BST_ENUM_CLASS_EVENT_RECORD);
	s->event_wait = builder_api(&s->b, "cudaStreamWaitEvent", BST_ENUM_CLASS_EVENT_WAIT);
	s->host_function = builder_api(&s->b, "cudaLaunchHostFunc", BST_ENUM_CLASS_HOST_FUNCTION);
	s->kernel = builder_kernel(&s->b, "k", 100000, 256);
}

static void call_at(struct scene *s, uint64_t api, uint64_t from, uint64_t to, uint64_t correlation)
{
	builder_call(&s->b, &(struct builder_call){.thread = s->thread,
						   .api = api,
						   .begin_ns = from * US,
						   .duration_ns = (to - from) * US,
						   .correlation = correlation});
}

static void run_at(struct scene *s, uint64_t from, uint64_t to, uint64_t correlation)
{
	builder_run(&s->b, &(struct builder_run){.kernel = s->kernel,
						 .begin_ns = from * US,
						 .duration_ns = (to - from) * US,
						 .correlation = correlation,
						 .stream = 7});
}

static const struct window *end(struct scene *s)
{
	const struct window *w;
	uint64_t sum = 0;

	assert_int_equal(builder_analyze(&s->b, &s->report), 0);
	assert_int_equal(s->report.process_count, 1);
	assert_true(s->report.processes[0].complete);
	w = &s->report.processes[0].devices[0].whole;
	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += w->leaf_ns[i];
	assert_int_equal(sum, w->window_ns);
	builder_fini(&s->b);
	return w;
}

static void done(struct scene *s)
{
	report_fini(&s->report);
}

static uint64_t leaf_us(const struct window *w, enum leaf leaf)
{
	return w->leaf_ns[leaf] / US;
}

static void time_before_the_launch_call_is_host(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 312, 412, 2);
	w = end(&s);
	/* [100, 412): launch 4 + 6 and 5 + 7, host 210..300, kernels 200. */
	assert_int_equal(w->window_ns, 312 * US);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), 22);
	assert_int_equal(leaf_us(w, LEAF_HOST), 90);
	assert_int_equal(w->busy_ns, 200 * US);
	assert_int_equal(s.report.processes[0].coverage.kernels_explained, 2);
	assert_int_equal(s.report.processes[0].coverage.launches_hooked, 2);
	done(&s);
}

static void queue_depth_is_never_overhead(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	for (uint64_t i = 0; i < 50; i++) {
		call_at(&s, s.launch, 100 + 5 * i, 104 + 5 * i, i + 1);
		run_at(&s, 110 + 101 * i, 210 + 101 * i, i + 1);
	}
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_HOST), 0);
	assert_int_equal(w->launch_queue_gap_ns, 49 * US);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), 49 + 10);
	done(&s);
}

static void a_wait_costs_the_lead_that_it_destroyed(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.sync, 150, 220, 0); /* waits 60 us while the device works */
	call_at(&s, s.launch, 400, 404, 2);
	run_at(&s, 410, 510, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 10 + 60);
	assert_int_equal(leaf_us(w, LEAF_HOST), 400 - 280);
	done(&s);
}

static void lead_lost_ends_at_the_next_launch(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 1110, 1);
	call_at(&s, s.sync, 105, 1112, 0);
	call_at(&s, s.launch, 1120, 1124, 2);
	run_at(&s, 1130, 1230, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 10);
	assert_int_equal(leaf_us(w, LEAF_HOST), 0);
	done(&s);
}

static void waits_of_other_threads_do_not_count(void **state)
{
	struct scene s;
	const struct window *w;
	uint64_t launcher;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	launcher = s.thread;
	s.thread = s.other_thread;
	call_at(&s, s.sync, 120, 380, 0);
	s.thread = launcher;
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 310, 410, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 0);
	assert_int_equal(leaf_us(w, LEAF_HOST), 90);
	done(&s);
}

static void allocation_in_a_gap_is_alloc(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.alloc, 200, 260, 0);
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 310, 410, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_ALLOC), 50);
	assert_int_equal(leaf_us(w, LEAF_HOST), 40);
	done(&s);
}

static void module_load_in_a_launch_is_alloc(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.launch,
						  .begin_ns = 300 * US,
						  .duration_ns = 500 * US,
						  .correlation = 2,
						  .flags = BST_ENUM_CALL_FLAG_MODULE_LOADED});
	run_at(&s, 810, 910, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_ALLOC), 500);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), 10 + 10);
	done(&s);
}

static void copies_are_busy_time(void **state)
{
	struct scene s;
	const struct window *w;
	const struct device_report *d;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.copy_async, 105, 108, 2);
	builder_copy(&s.b, &(struct builder_copy){.kind = BST_ENUM_COPY_KIND_DEVICE_TO_HOST,
						  .begin_ns = 160 * US,
						  .duration_ns = 100 * US,
						  .correlation = 2,
						  .stream = 8,
						  .bytes = 1000});
	w = end(&s);
	d = &s.report.processes[0].devices[0];
	assert_int_equal(leaf_us(w, LEAF_TRANSFER), 50);
	assert_int_equal(w->busy_ns, 150 * US);
	assert_int_equal(w->kernel_ns, 100 * US);
	assert_int_equal(d->copies[0].exposed_ns, 50 * US);
	assert_int_equal(d->copies[0].total_ns, 100 * US);
	assert_string_equal(d->copies[0].direction, "device to host");
	done(&s);
}

static void a_blocking_copy_is_a_wait(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.copy, 120, 230, 2);
	builder_copy(&s.b, &(struct builder_copy){.kind = BST_ENUM_COPY_KIND_DEVICE_TO_HOST,
						  .begin_ns = 210 * US,
						  .duration_ns = 5 * US,
						  .correlation = 2,
						  .stream = 7});
	call_at(&s, s.launch, 240, 244, 3);
	run_at(&s, 250, 350, 3);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_TRANSFER), 5);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 15 + 10);
	assert_int_equal(leaf_us(w, LEAF_HOST), 0);
	done(&s);
}

static void an_async_copy_of_pageable_memory_that_waited_is_a_wait(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.copy_async, 120, 230, 2);
	builder_copy(&s.b, &(struct builder_copy){.kind = BST_ENUM_COPY_KIND_DEVICE_TO_HOST,
						  .begin_ns = 210 * US,
						  .duration_ns = 5 * US,
						  .correlation = 2,
						  .stream = 7,
						  .source_kind = BST_ENUM_MEMORY_KIND_DEVICE,
						  .target_kind = BST_ENUM_MEMORY_KIND_PAGEABLE});
	call_at(&s, s.launch, 240, 244, 3);
	run_at(&s, 250, 350, 3);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 25);
	done(&s);
}

static void copies_are_told_apart_by_where_from_and_where_to(void **state)
{
	static const unsigned kinds[] = {
		BST_ENUM_COPY_KIND_HOST_TO_DEVICE, BST_ENUM_COPY_KIND_HOST_TO_DEVICE,
		BST_ENUM_COPY_KIND_HOST_TO_DEVICE, BST_ENUM_COPY_KIND_DEVICE_TO_HOST};
	struct scene s;
	const struct device_report *d;

	(void)state;
	begin(&s);
	for (unsigned i = 0; i < 8; i++) {
		call_at(&s, s.copy_async, 100 + 40 * i, 104 + 40 * i, i + 1);
		builder_copy(&s.b,
			     &(struct builder_copy){
				     .kind = kinds[i % 4],
				     .begin_ns = (110 + 40 * i) * US,
				     .duration_ns = 10 * US,
				     .correlation = i + 1,
				     .stream = 8,
				     .bytes = 100,
				     .source_kind = i % 4 == 1 ? BST_ENUM_MEMORY_KIND_PAGEABLE
							       : BST_ENUM_MEMORY_KIND_PINNED,
				     .target_kind = i % 4 == 2 ? BST_ENUM_MEMORY_KIND_MANAGED
							       : BST_ENUM_MEMORY_KIND_DEVICE});
	}
	end(&s);
	d = &s.report.processes[0].devices[0];
	assert_int_equal(d->copy_count, 4);
	for (size_t i = 0; i < d->copy_count; i++) {
		assert_int_equal(d->copies[i].count, 2);
		assert_int_equal(d->copies[i].bytes, 200);
	}
	done(&s);
}

/* The whole run ends with the last that happened, on the device or not. */
static void what_follows_the_last_kernel_is_idle_too(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.alloc, 300, 350, 0);
	w = end(&s);
	assert_int_equal(w->window_ns, 250 * US);
	assert_int_equal(leaf_us(w, LEAF_HOST), 90);
	assert_int_equal(leaf_us(w, LEAF_ALLOC), 50);
	done(&s);
}

/* Nodes that CUPTI makes begin later: time of the device, not of the CPU. */
static void own_cost_between_nodes_is_the_devices(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	builder_meta(&s.b, "cost.cupti_node_ns", "500");
	call_at(&s, s.graph_launch, 100, 110, 9);
	for (uint64_t i = 0; i < 5; i++)
		builder_run(&s.b, &(struct builder_run){.kernel = s.kernel,
							.begin_ns = (120 + 11 * i) * US,
							.duration_ns = 10 * US,
							.correlation = 9,
							.stream = 7,
							.graph = 4,
							.node = i + 1});
	w = end(&s);
	assert_int_equal(w->leaf_ns[LEAF_TRACING], 4 * 500);
	assert_int_equal(w->tracing_device_ns, 4 * 500);
	assert_int_equal(w->launch_queue_gap_ns, 4 * 500);
	done(&s);
}

static void a_host_function_holds_what_was_issued(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	call_at(&s, s.host_function, 105, 106, 0);
	call_at(&s, s.launch, 107, 111, 2);
	run_at(&s, 110, 210, 1);
	run_at(&s, 400, 500, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_DEPENDENCY), 190);
	done(&s);
}

static void an_event_of_another_device_holds(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	builder_number(&s.b, 1, "sm_count", 132);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	/* Device 1, stream handle 5, then an event that stream 0 waits for. */
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.launch,
						  .begin_ns = 120 * US,
						  .duration_ns = 4 * US,
						  .correlation = 2,
						  .stream = 5});
	builder_run(&s.b, &(struct builder_run){.kernel = s.kernel,
						.begin_ns = 130 * US,
						.duration_ns = 370 * US,
						.correlation = 2,
						.stream = 9,
						.device = 1});
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.event_record,
						  .begin_ns = 130 * US,
						  .duration_ns = US,
						  .stream = 5,
						  .object = 3});
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.event_wait,
						  .begin_ns = 132 * US,
						  .duration_ns = US,
						  .object = 3});
	call_at(&s, s.launch, 140, 144, 3);
	run_at(&s, 505, 600, 3);
	w = end(&s);
	assert_int_equal(s.report.processes[0].device_count, 2);
	/* Let go at 500; what is left is the device's own. */
	assert_int_equal(leaf_us(w, LEAF_DEPENDENCY), 500 - 210);
	done(&s);
}

static void an_event_that_was_over_holds_nothing(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.event_record,
						  .begin_ns = 106 * US,
						  .duration_ns = US,
						  .object = 3});
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.event_wait,
						  .begin_ns = 108 * US,
						  .duration_ns = US,
						  .stream = 5,
						  .object = 3});
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.launch,
						  .begin_ns = 110 * US,
						  .duration_ns = 4 * US,
						  .correlation = 2,
						  .stream = 5});
	run_at(&s, 213, 300, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_DEPENDENCY), 0);
	assert_int_equal(w->launch_queue_gap_ns, 3 * US);
	done(&s);
}

static void nodes_of_a_graph_share_their_launch(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.graph_launch, 100, 110, 9);
	for (uint64_t i = 0; i < 20; i++)
		builder_run(&s.b, &(struct builder_run){.kernel = s.kernel,
							.begin_ns = (120 + 11 * i) * US,
							.duration_ns = 10 * US,
							.correlation = 9,
							.stream = 7,
							.graph = 4,
							.node = i + 1});
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), 20 + 19);
	assert_int_equal(w->launch_queue_gap_ns, 19 * US);
	assert_int_equal(s.report.processes[0].coverage.kernels_explained, 20);
	assert_int_equal(s.report.processes[0].coverage.graph_launches, 1);
	done(&s);
}

static void without_the_call_a_gap_is_unknown(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	run_at(&s, 110, 210, 1);
	run_at(&s, 310, 410, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_UNKNOWN), 100 + 200); /* the kernels say nothing either */
	assert_int_equal(leaf_us(w, LEAF_HOST), 0);
	assert_int_equal(s.report.processes[0].coverage.kernels_explained, 0);
	done(&s);
}

static void losses_make_a_gap_unknown(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	builder_loss(&s.b, BST_ENUM_LOSS_CUPTI_DROPPED, 40, 0, 220 * US, 280 * US);
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 310, 410, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_HOST), 0);
	assert_int_equal(leaf_us(w, LEAF_UNKNOWN), 100 + 200);
	done(&s);
}

static void a_nested_call_adds_no_time(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.alloc, 220, 280, 0);
	builder_call(&s.b, &(struct builder_call){.thread = s.thread,
						  .api = s.sync,
						  .begin_ns = 230 * US,
						  .duration_ns = 40 * US,
						  .flags = BST_ENUM_CALL_FLAG_NESTED});
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 310, 410, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_ALLOC), 60);
	assert_int_equal(leaf_us(w, LEAF_SYNC), 0);
	assert_int_equal(leaf_us(w, LEAF_HOST), 30);
	done(&s);
}

static void own_cost_is_taken_out_of_the_gaps_it_fell_into(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	builder_meta(&s.b, "cost.cupti_launch_ns", "1000");
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 310, 410, 2);
	call_at(&s, s.launch, 320, 324, 3); /* runs ahead: costs the device nothing */
	run_at(&s, 410, 510, 3);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_TRACING), 2);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), 10 + 10 - 2);
	done(&s);
}

/* First what the call itself lasted, then the CPU's time before it: the launch would have begun earlier. */
static void own_cost_beyond_the_call_is_time_of_the_host(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	builder_meta(&s.b, "cost.cupti_launch_ns", "3000");
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	call_at(&s, s.launch, 300, 301, 2);
	run_at(&s, 306, 406, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_TRACING), 6);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), (10 - 3) + (6 - 1));
	assert_int_equal(leaf_us(w, LEAF_HOST), 90 - 2);
	done(&s);
}

/* Each call since the device was last free of it made the launch come later. */
static void own_cost_of_calls_before_counts_too(void **state)
{
	struct scene s;
	const struct window *w;

	(void)state;
	begin(&s);
	builder_cost(&s.b, BST_ENUM_COST_KIND_HOOK, 5, 5000); /* 1 us a call */
	call_at(&s, s.launch, 100, 104, 1);
	run_at(&s, 110, 210, 1);
	for (uint64_t at = 220; at < 250; at += 10)
		call_at(&s, s.event_record, at, at + 1, 0);
	call_at(&s, s.launch, 300, 305, 2);
	run_at(&s, 312, 412, 2);
	w = end(&s);
	assert_int_equal(leaf_us(w, LEAF_TRACING), 2 + 3);
	assert_int_equal(leaf_us(w, LEAF_LAUNCH), (10 - 1) + (12 - 1));
	done(&s);
}

/* A call that returned just before the start delayed it; one that was over long before did not. */
static void own_cost_of_a_call_in_good_time_delays_nothing(void **state)
{
	static const struct {
		uint64_t returned, tracing;
	} rows[] = {{209, 2}, {207, 2}, {206, 1}, {155, 1}};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s;
		const struct window *w;

		begin(&s);
		builder_meta(&s.b, "cost.cupti_launch_ns", "1000");
		call_at(&s, s.launch, 100, 104, 1);
		run_at(&s, 110, 210, 1);
		call_at(&s, s.launch, rows[i].returned - 3, rows[i].returned, 2);
		run_at(&s, 213, 313, 2);
		w = end(&s);
		assert_int_equal(leaf_us(w, LEAF_TRACING), rows[i].tracing);
		done(&s);
	}
}

/* What a trace says of CUPTI's cost is believed where it can be true, and only if CUPTI ran. */
static void costs_that_cannot_be_are_not_believed(void **state)
{
	static const struct {
		const char *text;
		double ns;
	} rows[] = {{"700", 700}, {"0", 0},     {"999999", 999999}, {"1000000", 850},
		    {"-5", 850},  {"nan", 850}, {"much", 850},      {"", 850}};
	struct meta_row meta[2] = {{"cupti.state", "on"}, {"cost.cupti_launch_ns", NULL}};
	struct vocabulary v = {.meta = meta, .meta_count = 2};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		meta[1].value = rows[i].text;
		assert_true(tracing_cost_of(&v, 0).launch_ns == rows[i].ns);
		assert_true(tracing_cost_of(&v, 0).node_ns == 360);
	}
	v.cost[BST_ENUM_COST_KIND_HOOK].total_ns = 900;
	v.cost[BST_ENUM_COST_KIND_CALLBACK].total_ns = 100;
	assert_true(tracing_cost_of(&v, 10).call_ns == 100);
	meta[0].value = "off";
	assert_true(tracing_cost_of(&v, 10).launch_ns == 0 && tracing_cost_of(&v, 10).node_ns == 0);
	v.meta_count = 0;
	assert_true(tracing_cost_of(&v, 10).launch_ns == 0 &&
		    tracing_cost_of(&v, 10).call_ns == 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_before_the_launch_call_is_host),
		cmocka_unit_test(queue_depth_is_never_overhead),
		cmocka_unit_test(a_wait_costs_the_lead_that_it_destroyed),
		cmocka_unit_test(lead_lost_ends_at_the_next_launch),
		cmocka_unit_test(waits_of_other_threads_do_not_count),
		cmocka_unit_test(allocation_in_a_gap_is_alloc),
		cmocka_unit_test(module_load_in_a_launch_is_alloc),
		cmocka_unit_test(copies_are_busy_time),
		cmocka_unit_test(a_blocking_copy_is_a_wait),
		cmocka_unit_test(an_async_copy_of_pageable_memory_that_waited_is_a_wait),
		cmocka_unit_test(copies_are_told_apart_by_where_from_and_where_to),
		cmocka_unit_test(what_follows_the_last_kernel_is_idle_too),
		cmocka_unit_test(own_cost_between_nodes_is_the_devices),
		cmocka_unit_test(a_host_function_holds_what_was_issued),
		cmocka_unit_test(an_event_of_another_device_holds),
		cmocka_unit_test(an_event_that_was_over_holds_nothing),
		cmocka_unit_test(nodes_of_a_graph_share_their_launch),
		cmocka_unit_test(without_the_call_a_gap_is_unknown),
		cmocka_unit_test(losses_make_a_gap_unknown),
		cmocka_unit_test(a_nested_call_adds_no_time),
		cmocka_unit_test(own_cost_is_taken_out_of_the_gaps_it_fell_into),
		cmocka_unit_test(own_cost_beyond_the_call_is_time_of_the_host),
		cmocka_unit_test(own_cost_of_calls_before_counts_too),
		cmocka_unit_test(own_cost_of_a_call_in_good_time_delays_nothing),
		cmocka_unit_test(costs_that_cannot_be_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
