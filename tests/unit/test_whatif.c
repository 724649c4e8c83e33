/* Traces of loops with known times, through the whole analysis: played unchanged they take what they
 * took, and each change gives the step that its rules say. Times in microseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_builder.h"

#define US UINT64_C(1000)
#define STEPS 40u

struct scene {
	struct trace_builder b;
	uint64_t thread, other;
	uint64_t launch, graph_launch, sync, alloc, copy_async, copy, event_record, event_wait;
	uint64_t kernel, first; /* of a step */
	uint64_t correlation;
	struct report report;
};

static void begin(struct scene *s, const char *kernel)
{
	memset(s, 0, sizeof(*s));
	builder_init(&s->b, 1000);
	s->thread = builder_thread(&s->b, 77);
	s->other = builder_thread(&s->b, 78);
	s->launch = builder_api(&s->b, "cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH);
	s->graph_launch = builder_api(&s->b, "cudaGraphLaunch", BST_ENUM_CLASS_GRAPH_LAUNCH);
	s->sync = builder_api(&s->b, "cudaStreamSynchronize", BST_ENUM_CLASS_SYNC);
	s->alloc = builder_api(&s->b, "cudaMalloc", BST_ENUM_CLASS_ALLOC);
	s->copy_async = builder_api(&s->b, "cudaMemcpyAsync", BST_ENUM_CLASS_COPY);
	s->copy = builder_api(&s->b, "cudaMemcpy", BST_ENUM_CLASS_COPY);
	s->event_record = builder_api(&s->b, "cudaEventRecord", BST_ENUM_CLASS_EVENT_RECORD);
	s->event_wait = builder_api(&s->b, "cudaStreamWaitEvent", BST_ENUM_CLASS_EVENT_WAIT);
	s->kernel = builder_kernel(&s->b, kernel, 100000, 256);
	s->first = builder_kernel(&s->b, "first", 100000, 256);
}

/* A call of the thread; the next operation is its. */
static void call_at(struct scene *s, uint64_t thread, uint64_t api, double from, double to)
{
	builder_call(&s->b, &(struct builder_call){.thread = thread,
						   .api = api,
						   .begin_ns = (uint64_t)(from * 1000),
						   .duration_ns = (uint64_t)((to - from) * 1000),
						   .correlation = ++s->correlation});
}

static void run_at(struct scene *s, uint64_t kernel, double from, double duration)
{
	builder_run(&s->b, &(struct builder_run){.kernel = kernel,
						 .begin_ns = (uint64_t)(from * 1000),
						 .duration_ns = (uint64_t)(duration * 1000),
						 .correlation = s->correlation,
						 .stream = 7});
}

static void node_at(struct scene *s, uint64_t node, double from, double duration)
{
	builder_run(&s->b, &(struct builder_run){.kernel = s->kernel,
						 .begin_ns = (uint64_t)(from * 1000),
						 .duration_ns = (uint64_t)(duration * 1000),
						 .correlation = s->correlation,
						 .graph = 3,
						 .node = node,
						 .stream = 7});
}

static void upload_at(struct scene *s, double from, double duration, uint64_t bytes)
{
	builder_copy(&s->b, &(struct builder_copy){.kind = BST_ENUM_COPY_KIND_HOST_TO_DEVICE,
						   .begin_ns = (uint64_t)(from * 1000),
						   .duration_ns = (uint64_t)(duration * 1000),
						   .correlation = s->correlation,
						   .stream = 7,
						   .bytes = bytes,
						   .source_kind = BST_ENUM_MEMORY_KIND_PAGEABLE,
						   .target_kind = BST_ENUM_MEMORY_KIND_DEVICE});
}

static const struct whatif *end(struct scene *s)
{
	const struct whatif *w;

	assert_int_equal(builder_analyze(&s->b, &s->report), 0);
	w = &s->report.processes[0].devices[0].whatif;
	if (!w->known)
		print_message("not simulated: %s\n", w->reason ? w->reason : "no steps");
	assert_true(w->known);
	assert_true(w->error < 0.001);
	assert_true(fabs(w->base_ns - w->recorded_ns) < 1);
	return w;
}

static void finish(struct scene *s)
{
	report_fini(&s->report);
	builder_fini(&s->b);
}

static void step_is(const struct whatif *w, enum change_kind kind, double low, double likely,
		    double high)
{
	const struct change_report *change = &w->change[kind];

	assert_true(change->known);
	if (fabs(change->step.low - low * 1000) > 1 ||
	    fabs(change->step.value - likely * 1000) > 1 ||
	    fabs(change->step.high - high * 1000) > 1)
		print_message("step %.0f (%.0f to %.0f) ns, expected %.1f (%.1f to %.1f) us\n",
			      change->step.value, change->step.low, change->step.high, likely, low,
			      high);
	assert_true(fabs(change->step.value - likely * 1000) <= 1);
	assert_true(fabs(change->step.low - low * 1000) <= 1);
	assert_true(fabs(change->step.high - high * 1000) <= 1);
}

/* A step of 100: four launches of 5, 20 apart, of kernels of 2 that start 3 later. */
static void launches_become_a_graph(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 4; k++) {
			double at = 1000 + 100.0 * i + 20 * k;

			call_at(&s, s.thread, s.launch, at, at + 5);
			run_at(&s, k ? s.kernel : s.first, at + 8, 2);
		}
	w = end(&s);
	assert_true(fabs(w->recorded_ns - 100e3) < 1);
	/*
	 * Four steps of four kernels share a graph: likely its 16 kernels take 2 each, with 0.3 between
	 * them, and the next graph begins 5 later; at best with nothing between, and 1 later. At worst
	 * each step is a graph, and the loop's longest pause, 35, stays beside 15 for the launch.
	 */
	step_is(w, CHANGE_GRAPHS, 8.25, 10.375, 50);
	assert_int_equal(w->change[CHANGE_GRAPHS].touched, 4);
	/* Kernels of many waves take twice as long for twice the batch, which the host hides; at worst
	 * it takes a tenth more between its calls. */
	step_is(w, CHANGE_BATCH, 50, 50, 54);
	finish(&s);
}

static void graphs_in_use_are_left_alone(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 100.0 * i;

		call_at(&s, s.thread, s.graph_launch, at, at + 8);
		for (unsigned k = 0; k < 4; k++)
			node_at(&s, 11 + k, at + 13 + 5 * k, 4);
	}
	w = end(&s);
	assert_false(w->change[CHANGE_GRAPHS].known);
	finish(&s);
}

/* A step of 100: a kernel of 50 and a wait for it, then 40 of the host's. */
static void a_wait_taken_out_lets_the_host_run_ahead(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 100.0 * i;

		call_at(&s, s.thread, s.launch, at, at + 5);
		run_at(&s, s.kernel, at + 8, 50);
		call_at(&s, s.thread, s.sync, at + 6, at + 60);
	}
	w = end(&s);
	/* The host needs 46 to 48, the device 50 and a gap of 1. */
	step_is(w, CHANGE_SYNC, 51, 51, 51);
	assert_int_equal(w->change[CHANGE_SYNC].touched, 1);
	assert_string_equal(w->change[CHANGE_SYNC].calls[0], "cudaStreamSynchronize");
	assert_null(w->change[CHANGE_SYNC].calls[1]);
	finish(&s);
}

/* A step of 300: an upload of 5.3 MB that holds its caller for 200, a kernel of 50. */
static void pageable_copies_become_pinned(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 300.0 * i;

		call_at(&s, s.thread, s.copy_async, at, at + 200);
		upload_at(&s, at + 20, 170, 5300000);
		call_at(&s, s.thread, s.launch, at + 205, at + 210);
		run_at(&s, s.kernel, at + 213, 50);
	}
	w = end(&s);
	assert_true(w->change[CHANGE_PINNED].known);
	/* 100 for the copy, 50 for the kernel, a gap of 1 before each. */
	assert_true(fabs(w->change[CHANGE_PINNED].step.value - 152e3) < 1);
	/* At best beside the kernel: the host's 102 hold. */
	assert_true(fabs(w->change[CHANGE_PINNED].step.low - 102e3) < 1);
	finish(&s);
}

/* A step of 100, half of it in an allocation. */
static void allocations_are_taken_out(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 100.0 * i;

		call_at(&s, s.thread, s.alloc, at + 10, at + 60);
		call_at(&s, s.thread, s.launch, at + 70, at + 75);
		run_at(&s, s.kernel, at + 78, 2);
	}
	w = end(&s);
	assert_true(fabs(w->change[CHANGE_ALLOC].step.value - 50.5e3) < 1);
	assert_true(fabs(w->change[CHANGE_ALLOC].step.low - 50e3) < 1);
	finish(&s);
}

/* A step of 400, of which the host prepares data for 300. */
static void data_is_loaded_ahead(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 400.0 * i;

		call_at(&s, s.thread, s.copy_async, at + 300, at + 310);
		upload_at(&s, at + 302, 5, 1000);
		for (unsigned k = 0; k < 3; k++) {
			call_at(&s, s.thread, s.launch, at + 320 + 20 * k, at + 330 + 20 * k);
			run_at(&s, k ? s.kernel : s.first, at + 332 + 20 * k, 5);
		}
	}
	w = end(&s);
	/* A launch takes 20 with the host's time before it. 2, 10 or more than all of that are left of
	 * the 330 before the upload, and 70 as before. */
	step_is(w, CHANGE_PREFETCH, 110, 270, 400);
	/* A graph leaves the data to be loaded, 330, and the upload from pageable memory, 10. */
	step_is(w, CHANGE_GRAPHS, 342.5, 358, 365);
	/* Twice the data takes twice as long to load and 5 more to upload: little is won. */
	step_is(w, CHANGE_BATCH, 202.5, 367.5, 369);
	finish(&s);
}

/* The device is busy all the time: kernels of 50, a gap of 1, launched long before. */
static void busy_loop(struct scene *s, const char *const *names, unsigned kernels, double duration)
{
	uint64_t kernel[8];

	begin(s, "k");
	for (unsigned k = 0; k < kernels; k++)
		kernel[k] = builder_kernel(&s->b, names[k], 100000, 256);
	for (unsigned i = 0; i < STEPS * kernels; i++) {
		call_at(s, s->thread, s->launch, 1000 + 6 * i, 1005 + 6 * i);
		run_at(s, kernel[i % kernels], 2000 + (duration + 1) * i, duration);
	}
}

static void a_chain_of_pointwise_kernels_is_fused(void **state)
{
	static const char *const names[] = {"elementwise_kernel_a", "elementwise_kernel_b", "k"};
	const struct whatif *w;
	struct scene s;

	(void)state;
	busy_loop(&s, names, 3, 50);
	w = end(&s);
	assert_true(fabs(w->recorded_ns - 153e3) < 1);
	/* Two of equal size become one, at best a faster one; the third is no simple kernel. */
	step_is(w, CHANGE_FUSE, 92, 102, 117);
	assert_int_equal(w->change[CHANGE_FUSE].touched, 1);
	finish(&s);
}

/* As many launches as the queue takes lie between a call and its kernel, and each call waits for
 * room: it would not take that long if the device were faster. */
static void a_full_queue_does_not_limit_a_faster_device(void **state)
{
	const struct whatif *w;
	struct scene s;
	uint64_t kernel[2];

	(void)state;
	begin(&s, "k");
	kernel[0] = builder_kernel(&s.b, "elementwise_kernel_a", 100000, 256);
	kernel[1] = builder_kernel(&s.b, "elementwise_kernel_b", 100000, 256);
	for (unsigned i = 0; i < STEPS * 3; i++) {
		call_at(&s, s.thread, s.launch, 1000 + 51 * i, 1050 + 51 * i);
		run_at(&s, i % 3 ? kernel[i % 3 - 1] : s.first, 52000 + 51 * i, 50);
	}
	w = end(&s);
	step_is(w, CHANGE_FUSE, 92, 102, 117);
	finish(&s);
}

static void an_optimizer_of_four_passes_becomes_one(void **state)
{
	static const char *const names[] = {"k", "multi_tensor_apply_a", "multi_tensor_apply_b",
					    "multi_tensor_apply_c", "multi_tensor_apply_d"};
	const struct whatif *w;
	struct scene s;

	(void)state;
	busy_loop(&s, names, 5, 20);
	w = end(&s);
	/* 21 for the other kernel; of 80 likely 5/8, a gap before the first; at worst all. */
	step_is(w, CHANGE_OPTIMIZER, 21 + 1 + 30, 21 + 1 + 50, 21 + 2 + 80);
	assert_int_equal(w->change[CHANGE_OPTIMIZER].touched, 4);
	finish(&s);
}

static void a_fused_optimizer_is_left_alone(void **state)
{
	static const char *const names[] = {"k", "multi_tensor_apply_FusedAdamMathFunctor"};
	const struct whatif *w;
	struct scene s;

	(void)state;
	busy_loop(&s, names, 2, 20);
	w = end(&s);
	assert_false(w->change[CHANGE_OPTIMIZER].known);
	finish(&s);
}

/* The main thread makes ten launches, another ten, in turn: what one saves the other does not wait
 * for. */
static void threads_that_hand_over_wait_for_each_other(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++)
		for (unsigned k = 0; k < 20; k++) {
			double at = 1000 + 400.0 * i + 20 * k;

			call_at(&s, k < 10 ? s.thread : s.other, s.launch, at, at + 5);
			run_at(&s, k ? s.kernel : s.first, at + 8, 2);
		}
	w = end(&s);
	/* One graph for all 20, though two threads launched them: 18 of the host's hold less than
	 * 20 x 2 and 19 gaps of 0.3 and one of 5 of the device. */
	assert_true(fabs(w->change[CHANGE_GRAPHS].step.value - (40 + 19 * 0.3 + 5) * 1000) < 1);
	finish(&s);
}

/* Two streams: the second waits for the first by an event. */
static void an_event_between_streams_is_kept(void **state)
{
	const struct whatif *w;
	struct scene s;

	(void)state;
	begin(&s, "k");
	for (unsigned i = 0; i < STEPS; i++) {
		double at = 1000 + 100.0 * i;

		call_at(&s, s.thread, s.launch, at, at + 5);
		run_at(&s, s.first, at + 8, 40);
		builder_call(&s.b, &(struct builder_call){.thread = s.thread,
							  .api = s.event_record,
							  .begin_ns = (uint64_t)(at + 6) * US,
							  .duration_ns = US,
							  .object = 9});
		builder_call(&s.b, &(struct builder_call){.thread = s.thread,
							  .api = s.event_wait,
							  .begin_ns = (uint64_t)(at + 8) * US,
							  .duration_ns = US,
							  .stream = 5,
							  .object = 9});
		builder_call(&s.b, &(struct builder_call){.thread = s.thread,
							  .api = s.launch,
							  .begin_ns = (uint64_t)(at + 10) * US,
							  .duration_ns = 5 * US,
							  .stream = 5,
							  .correlation = ++s.correlation});
		builder_run(&s.b, &(struct builder_run){.kernel = s.kernel,
							.begin_ns = (uint64_t)(at + 50) * US,
							.duration_ns = 30 * US,
							.correlation = s.correlation,
							.stream = 8});
	}
	w = end(&s);
	/* As a graph both chains overlap, but each second kernel still follows its first. */
	assert_true(w->change[CHANGE_GRAPHS].step.value >= 40e3);
	assert_true(w->change[CHANGE_GRAPHS].step.value < 46e3);
	finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_become_a_graph),
		cmocka_unit_test(graphs_in_use_are_left_alone),
		cmocka_unit_test(a_wait_taken_out_lets_the_host_run_ahead),
		cmocka_unit_test(pageable_copies_become_pinned),
		cmocka_unit_test(allocations_are_taken_out),
		cmocka_unit_test(data_is_loaded_ahead),
		cmocka_unit_test(a_chain_of_pointwise_kernels_is_fused),
		cmocka_unit_test(a_full_queue_does_not_limit_a_faster_device),
		cmocka_unit_test(an_optimizer_of_four_passes_becomes_one),
		cmocka_unit_test(a_fused_optimizer_is_left_alone),
		cmocka_unit_test(threads_that_hand_over_wait_for_each_other),
		cmocka_unit_test(an_event_between_streams_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
