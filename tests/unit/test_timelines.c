/* What must hold for any timeline: random ones, as a program could leave them, some thousand. Seeded: BOUNDSHIM_TEST_SEED;
 * BOUNDSHIM_TEST_ROUNDS makes it fewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/trace_builder.h"
#include "tests/unit/trace_image.h"

#define US UINT64_C(1000)
#define STEPS 24
#define EVENTS 1024
#define KERNELS 5

/* Timelines of the first test; the others take a third. */
static unsigned rounds = 1500;

struct timeline {
	struct builder_call call[EVENTS];
	struct builder_run run[EVENTS];
	struct builder_copy copy[EVENTS];
	size_t calls, runs, copies;
};

/* Where the host and each stream of each device have got to. */
struct progress {
	uint64_t host[3], stream[2][4], correlation;
};

enum api {
	LAUNCH = 1,
	COPY,
	SYNC,
	MALLOC,
	EVENT_RECORD,
	EVENT_WAIT,
	HOST_FUNCTION,
	APIS
};

static const struct {
	const char *name;
	unsigned class;
} apis[] = {
	[LAUNCH] = {"cudaLaunchKernel", BST_ENUM_CLASS_LAUNCH},
	[COPY] = {"cudaMemcpyAsync", BST_ENUM_CLASS_COPY},
	[SYNC] = {"cudaStreamSynchronize", BST_ENUM_CLASS_SYNC},
	[MALLOC] = {"cudaMalloc", BST_ENUM_CLASS_ALLOC},
	[EVENT_RECORD] = {"cudaEventRecord", BST_ENUM_CLASS_EVENT_RECORD},
	[EVENT_WAIT] = {"cudaStreamWaitEvent", BST_ENUM_CLASS_EVENT_WAIT},
	[HOST_FUNCTION] = {"cudaLaunchHostFunc", BST_ENUM_CLASS_HOST_FUNCTION},
};

static struct builder_call *call(struct timeline *t, struct progress *p, unsigned thread,
				 enum api api, uint64_t duration_ns)
{
	struct builder_call *c = &t->call[t->calls++];

	*c = (struct builder_call){.thread = thread + 1,
				   .api = api,
				   .begin_ns = p->host[thread] + random_below(30 * US),
				   .duration_ns = duration_ns,
				   .stream = random_below(4),
				   .object = 1 + random_below(3)};
	p->host[thread] = c->begin_ns + duration_ns + 1;
	return c;
}

/* An operation behind all others of its stream, after its call. */
static void issue(struct timeline *t, struct progress *p, unsigned thread, unsigned device)
{
	bool copies = !random_below(6);
	struct builder_call *c =
		call(t, p, thread, copies ? COPY : LAUNCH, 1 + random_below(6 * US));
	uint64_t *stream = &p->stream[device][c->stream];
	uint64_t begin = c->begin_ns + random_below(8 * US), duration = random_below(60 * US);

	c->correlation = ++p->correlation;
	if (begin <= *stream)
		begin = *stream + 1 + random_below(2 * US);
	*stream = begin + duration;
	if (copies)
		t->copy[t->copies++] = (struct builder_copy){.kind = 1 + random_below(7),
							     .begin_ns = begin,
							     .duration_ns = duration,
							     .correlation = c->correlation,
							     .stream = 7 + c->stream,
							     .device = device,
							     .bytes = random_below(1 << 20)};
	else
		t->run[t->runs++] = (struct builder_run){.kernel = 1 + random_below(KERNELS),
							 .begin_ns = begin,
							 .duration_ns = duration,
							 .correlation = c->correlation,
							 .stream = 7 + c->stream,
							 .device = device};
}

/* `devices` of them; threads launch, wait, allocate and order streams. */
static void make(struct timeline *t, unsigned devices)
{
	struct progress p = {{5000 * US, 5000 * US, 5000 * US}, {{0}}, 0};

	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned thread = random_below(3);

		issue(t, &p, thread, random_below(devices));
		if (!random_below(3))
			call(t, &p, thread, (enum api)(SYNC + random_below(APIS - SYNC)),
			     random_below(90 * US));
	}
}

static void write_all(struct trace_builder *b, const struct timeline *t)
{
	builder_init(b, 50);
	builder_number(b, 1, "sm_count", 132);
	for (unsigned i = 1; i <= 3; i++)
		builder_thread(b, 70 + i);
	for (unsigned i = LAUNCH; i < APIS; i++)
		builder_api(b, apis[i].name, apis[i].class);
	builder_kernel(b, "void at::native::vectorized_elementwise_kernel<4>()", 4000, 256);
	builder_kernel(b, "tiny", 1, 32);
	builder_kernel(b, "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_NNT", 132, 384);
	builder_kernel(b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 24, 512);
	builder_kernel(b, "half", 130, 1024);
	for (size_t i = 0; i < t->calls; i++)
		builder_call(b, &t->call[i]);
	for (size_t i = 0; i < t->runs; i++)
		builder_run(b, &t->run[i]);
	for (size_t i = 0; i < t->copies; i++)
		builder_copy(b, &t->copy[i]);
}

static void analyze(const struct timeline *t, struct report *report)
{
	struct trace_builder b;

	write_all(&b, t);
	assert_int_equal(builder_analyze(&b, report), 0);
	builder_fini(&b);
}

static uint64_t sum(const struct window *w, bool idle)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		if (!idle || leaf_idle((enum leaf)i))
			total += w->leaf_ns[i];
	return total;
}

static void check_window(const struct window *w)
{
	const struct host_parts *h = &w->host;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		assert_true(w->leaf_ns[i] <= w->window_ns);
	assert_int_equal(sum(w, false), w->window_ns);
	assert_int_equal(h->running_ns + h->blocked_ns + h->preempted_ns + h->unmeasured_ns,
			 w->leaf_ns[LEAF_HOST]);
	assert_true(w->launch_queue_gap_ns <= w->leaf_ns[LEAF_LAUNCH]);
	assert_true(w->tracing_device_ns <= w->leaf_ns[LEAF_TRACING]);
	/* Idle leaves, and what of the idle time is unknown, are what the device was not busy. */
	assert_true(sum(w, true) <= w->window_ns - w->busy_ns);
	assert_true(sum(w, true) + w->leaf_ns[LEAF_UNKNOWN] >= w->window_ns - w->busy_ns);
}

static void assert_same(const struct window *a, const struct window *b)
{
	assert_int_equal(a->window_ns, b->window_ns);
	assert_int_equal(a->busy_ns, b->busy_ns);
	for (unsigned i = 0; i < LEAF_COUNT; i++)
		assert_int_equal(a->leaf_ns[i], b->leaf_ns[i]);
}

static void assert_same_devices(const struct report *a, const struct report *b)
{
	const struct process_report *x = &a->processes[0], *y = &b->processes[0];

	assert_int_equal(x->device_count, y->device_count);
	for (size_t i = 0; i < x->device_count; i++) {
		assert_same(&x->devices[i].whole, &y->devices[i].whole);
		assert_same(&x->devices[i].steady, &y->devices[i].steady);
	}
}

static void leaves_fill_the_window_and_none_is_negative(void **state)
{
	struct timeline t;
	struct report report;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		make(&t, 1 + round % 2);
		analyze(&t, &report);
		for (size_t i = 0; i < report.processes[0].device_count; i++) {
			check_window(&report.processes[0].devices[i].whole);
			check_window(&report.processes[0].devices[i].steady);
		}
		report_fini(&report);
	}
}

/* Trap: idle summed over streams (nsys-ai#600). What streams are called changes nothing. */
static void names_of_streams_change_nothing(void **state)
{
	struct timeline t;
	struct report before, after;

	(void)state;
	for (unsigned round = 0; round < rounds / 3; round++) {
		make(&t, 2);
		analyze(&t, &before);
		for (size_t i = 0; i < t.runs; i++)
			t.run[i].stream = 900 - (t.run[i].stream ^ 2);
		for (size_t i = 0; i < t.copies; i++)
			t.copy[i].stream = 900 - (t.copy[i].stream ^ 2);
		for (size_t i = 0; i < t.calls; i++)
			t.call[i].stream = 20 + (t.call[i].stream ^ 1);
		analyze(&t, &after);
		assert_same_devices(&before, &after);
		report_fini(&before);
		report_fini(&after);
	}
}

static void the_origin_of_time_changes_nothing(void **state)
{
	struct timeline t;
	struct report before, after;

	(void)state;
	for (unsigned round = 0; round < rounds / 3; round++) {
		uint64_t shift = random_below(400000000 * US);

		make(&t, 2);
		analyze(&t, &before);
		for (size_t i = 0; i < t.runs; i++)
			t.run[i].begin_ns += shift;
		for (size_t i = 0; i < t.copies; i++)
			t.copy[i].begin_ns += shift;
		for (size_t i = 0; i < t.calls; i++)
			t.call[i].begin_ns += shift;
		analyze(&t, &after);
		assert_same_devices(&before, &after);
		report_fini(&before);
		report_fini(&after);
	}
}

/* Within the window that is there, issued by a call of its own that no stream of device 0 knows. */
static void an_operation_of_another_device_changes_nothing(void **state)
{
	struct timeline t;
	struct report before, after;

	(void)state;
	for (unsigned round = 0; round < rounds / 3; round++) {
		uint64_t begin;

		make(&t, 1);
		analyze(&t, &before);
		begin = t.run[0].begin_ns;
		t.run[t.runs++] = (struct builder_run){.kernel = 1,
						       .begin_ns = begin,
						       .duration_ns = t.run[0].duration_ns,
						       .stream = 7,
						       .device = 1};
		analyze(&t, &after);
		assert_same(&before.processes[0].devices[0].whole,
			    &after.processes[0].devices[0].whole);
		assert_same(&before.processes[0].devices[0].steady,
			    &after.processes[0].devices[0].steady);
		report_fini(&before);
		report_fini(&after);
	}
}

/* Kernels of no length: the program only thinks, waits and allocates. */
static void an_idle_program_is_idle_in_idle_leaves(void **state)
{
	struct timeline t;
	struct report report;

	(void)state;
	for (unsigned round = 0; round < rounds / 3; round++) {
		const struct window *w;

		make(&t, 1);
		for (size_t i = 0; i < t.runs; i++)
			t.run[i].duration_ns = 0;
		for (size_t i = 0; i < t.copies; i++)
			t.copy[i].duration_ns = 0;
		analyze(&t, &report);
		w = &report.processes[0].devices[0].whole;
		assert_int_equal(w->busy_ns, 0);
		assert_int_equal(sum(w, true) + w->leaf_ns[LEAF_UNKNOWN], w->window_ns);
		report_fini(&report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_fill_the_window_and_none_is_negative),
		cmocka_unit_test(names_of_streams_change_nothing),
		cmocka_unit_test(the_origin_of_time_changes_nothing),
		cmocka_unit_test(an_operation_of_another_device_changes_nothing),
		cmocka_unit_test(an_idle_program_is_idle_in_idle_leaves),
	};

	if (getenv("BOUNDSHIM_TEST_ROUNDS"))
		rounds = (unsigned)atoi(getenv("BOUNDSHIM_TEST_ROUNDS"));
	random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
