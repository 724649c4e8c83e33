/* From events to records, in the calling thread. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <sys/resource.h>

#include "api.h"
#include "clock.h"
#include "library_state.h"
#include "loss.h"
#include "session.h"
#include "shapes.h"
#include "writer.h"

/* A silence worth asking about: getrusage and a CPU clock read cost about 0.5 us, half a per cent of this. */
#define SILENCE_NS 100000u
/*
 * One call in this many is timed from entry to return, to know the hook's own cost. A prime: 64 fell together with each wake-up of
 * the writer, and called a hook 480 ns long that takes 80.
 */
#define SELF_TIME_PERIOD 61u

/*
 * What a thread without a slot (see THREAD_LIMIT) is in, as struct thread has it for the others: what is part of a call is not
 * lost a second time.
 */
static __thread struct {
	const struct call *open;
	bool operated; /* the open call has had its first device operation */
	struct library_call *library;
} slotless;

static void lose(void)
{
	loss_add(BST_ENUM_LOSS_THREAD_LIMIT, 1);
}

static void put(struct thread *t, const struct record *record)
{
	struct record lost = {.kind = RECORD_LOST, .begin_ns = t->lost_begin_ns};

	if (!ring_has_room(&t->ring, t->lost_count ? 2 : 1)) {
		if (t->lost_count++ == 0)
			t->lost_begin_ns = record->begin_ns;
		loss_add(BST_ENUM_LOSS_RING_FULL, 1);
		return;
	}
	if (t->lost_count) {
		lost.u.lost.count = t->lost_count;
		lost.u.lost.end_ns = record->begin_ns;
		t->lost_count = 0;
		ring_put(&t->ring, &lost);
	}
	if (ring_put(&t->ring, record) % (RING_RECORDS / 2) == 0)
		writer_wake();
}

static void count_self_time(struct self_time *s, uint64_t sampled_ns)
{
	uint64_t n = atomic_load_explicit(&s->count, memory_order_relaxed);

	/* only this thread writes: plain add, without a locked instruction */
	atomic_store_explicit(&s->count, n + 1, memory_order_relaxed);
	if (!sampled_ns)
		return;
	n = atomic_load_explicit(&s->samples, memory_order_relaxed);
	atomic_store_explicit(&s->samples, n + 1, memory_order_relaxed);
	n = atomic_load_explicit(&s->sampled_ns, memory_order_relaxed);
	atomic_store_explicit(&s->sampled_ns, n + sampled_ns, memory_order_relaxed);
}

static bool due_for_sample(struct self_time *s)
{
	return atomic_load_explicit(&s->count, memory_order_relaxed) % SELF_TIME_PERIOD ==
	       SELF_TIME_PERIOD - 1;
}

/* What this thread used and waited for up to now: the analyzer takes differences. */
static void put_wake(struct thread *t, uint64_t now_ns, uint64_t silence_ns)
{
	struct record r = {.kind = RECORD_WAKE, .begin_ns = now_ns};
	struct rusage usage;
	int saved = errno;

	if (getrusage(RUSAGE_THREAD, &usage) == 0) {
		r.u.wake.silence_ns = silence_ns;
		r.u.wake.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		r.u.wake.voluntary = (uint64_t)usage.ru_nvcsw;
		r.u.wake.involuntary = (uint64_t)usage.ru_nivcsw;
		put(t, &r);
	}
	errno = saved;
}

/*
 * Is a hooked call in progress on this thread, seen from `frame`, an address on the stack? One that longjmp left (an interrupt
 * handler's, say) is forgotten where it shows: it lies not above us, as those that called us do.
 */
static bool in_progress(const struct call **open, const void *frame)
{
	if (*open && (uintptr_t)*open <= (uintptr_t)frame)
		*open = NULL;
	return *open != NULL;
}

static bool call_in_progress(struct thread *t, const void *frame)
{
	return in_progress(&t->open, frame);
}

static bool begin_slotless(struct call *call)
{
	if (in_progress(&slotless.open, call))
		return false;
	call->thread = NULL;
	slotless.open = call;
	slotless.operated = false;
	return true;
}

static void end_slotless(const struct call_result *result)
{
	slotless.open = NULL;
	lose();
	session_called(result->error == 0);
}

bool recorder_begin(struct call *call, uint16_t api)
{
	uint64_t entry_ns = 0;
	struct thread *t;

	if (!session_on())
		return false;
	t = thread_self();
	if (!t)
		return begin_slotless(call);
	if (call_in_progress(t, call))
		return false;
	if (due_for_sample(&t->hook))
		entry_ns = host_now();
	call->api = api;
	call->entry_ns = entry_ns;
	call->thread = t;
	t->open = call;
	t->open_api = api;
	t->open_correlation = 0;
	t->pending_flags = 0;
	call->begin_ns = t->open_begin_ns = host_now();
	return true;
}

void recorder_end(struct call *call, const struct call_result *result)
{
	uint64_t end_ns = host_now(), silence_ns;
	struct thread *t = call->thread;
	struct record r = {
		.kind = RECORD_CALL,
		.flags = result->error ? BST_ENUM_CALL_FLAG_FAILED : 0,
		.api = call->api,
		.begin_ns = call->begin_ns,
		.u.call = {.duration_ns = end_ns - call->begin_ns,
			   .stream = result->stream,
			   .bytes = result->bytes,
			   .object = result->object,
			   .result = (uint32_t)result->error},
	};
	if (!t) {
		end_slotless(result);
		return;
	}
	r.flags |= t->pending_flags;
	r.correlation = t->open_correlation;
	silence_ns = call->begin_ns - t->last_end_ns;
	t->open = NULL;
	t->last_end_ns = end_ns;
	put(t, &r);
	if (silence_ns > SILENCE_NS)
		put_wake(t, call->begin_ns, silence_ns);
	session_called(result->error == 0);
	count_self_time(&t->hook,
			call->entry_ns ? call->begin_ns - call->entry_ns + host_now() - end_ns : 0);
}

static struct library_call **innermost_library(struct thread *t)
{
	return t ? &t->library : &slotless.library;
}

bool recorder_library_begin(struct library_call *call, uint16_t api)
{
	const struct library_call *outer;
	struct thread *t;

	if (!session_on())
		return false;
	t = thread_self();
	outer = *innermost_library(t);
	if (outer && outer->known)
		return false;
	call->api = api;
	call->operand[0] = call->operand[1] = NULL;
	call->entry_ns = t && due_for_sample(&t->hook) ? host_now() : 0;
	call->thread = t;
	return true;
}

void recorder_library_enter(struct library_call *call, const struct shape *shape, uint8_t flags)
{
	struct library_call **innermost = innermost_library(call->thread);

	library_note_seen(api_info(call->api).library);
	call->known = shape_known(shape);
	call->shape = call->thread ? shapes_intern(shape) : 0;
	call->flags = flags | (*innermost ? BST_ENUM_LIBRARY_FLAG_NESTED : 0);
	call->outer = *innermost;
	*innermost = call;
	call->begin_ns = host_now();
}

void recorder_library_end(struct library_call *call, int result)
{
	uint64_t end_ns = host_now();
	struct thread *t = call->thread;
	struct record r = {
		.kind = RECORD_LIBRARY,
		.flags = (uint8_t)(call->flags | (result ? BST_ENUM_LIBRARY_FLAG_FAILED : 0)),
		.api = call->api,
		.begin_ns = call->begin_ns,
		.u.library = {.duration_ns = end_ns - call->begin_ns,
			      .shape = call->shape,
			      .result = (uint32_t)result,
			      .operand = {(uintptr_t)call->operand[0],
					  (uintptr_t)call->operand[1]}},
	};

	*innermost_library(t) = call->outer;
	if (!t) {
		lose();
		session_called(result == 0);
		return;
	}
	put(t, &r);
	session_called(result == 0);
	count_self_time(&t->hook,
			call->entry_ns ? call->begin_ns - call->entry_ns + host_now() - end_ns : 0);
}

/* Of a hooked call the first device operation is part. */
static void driver_slotless(bool device_operation, const void *frame)
{
	if (in_progress(&slotless.open, frame) && (!device_operation || !slotless.operated)) {
		slotless.operated |= device_operation;
		return;
	}
	lose();
}

uint64_t recorder_driver_begin(uint16_t api, bool device_operation, uint32_t correlation)
{
	struct thread *t;

	if (!session_on())
		return 0;
	t = thread_self();
	if (!t) {
		driver_slotless(device_operation, __builtin_frame_address(0));
		return 0;
	}
	if (!call_in_progress(t, __builtin_frame_address(0))) {
		t->pending_flags = 0;
		t->driver_api = api;
		t->driver_begin_ns = host_now();
		return t->driver_begin_ns;
	}
	if (!device_operation)
		return 0;
	if (t->open_correlation == 0) {
		t->open_correlation = correlation;
		return 0;
	}
	/* a second operation of one hooked call: a row of its own, flagged nested */
	return host_now();
}

void recorder_driver_end(uint16_t api, uint64_t begin_ns, uint32_t correlation, int error)
{
	uint64_t end_ns = host_now();
	struct thread *t = thread_peek();
	struct record r = {
		.kind = RECORD_CALL,
		.flags = BST_ENUM_CALL_FLAG_DRIVER,
		.api = api,
		.correlation = correlation,
		.begin_ns = begin_ns,
		.u.call = {.duration_ns = end_ns - begin_ns, .result = (uint32_t)error},
	};
	uint64_t silence_ns;

	if (!t)
		return;
	if (error)
		r.flags |= BST_ENUM_CALL_FLAG_FAILED;
	if (t->open) {
		r.flags |= BST_ENUM_CALL_FLAG_NESTED;
		put(t, &r);
		return;
	}
	r.flags |= t->pending_flags;
	t->driver_api = 0;
	silence_ns = begin_ns - t->last_end_ns;
	t->last_end_ns = end_ns;
	put(t, &r);
	if (silence_ns > SILENCE_NS)
		put_wake(t, begin_ns, silence_ns);
	session_called(error == 0);
	count_self_time(&t->callback, due_for_sample(&t->callback) ? host_now() - end_ns + 1 : 0);
}

void recorder_flag(uint8_t flags)
{
	struct thread *t = thread_peek();

	if (t)
		t->pending_flags |= flags;
}

/* Keeps the stack of push/pop ranges; deeper than RANGE_DEPTH it only counts. */
static void track_range(struct thread *t, const struct range_event *event)
{
	if (event->kind == BST_ENUM_RANGE_KIND_PUSH) {
		if (t->range_depth < RANGE_DEPTH)
			t->range[t->range_depth] = event->name;
		t->range_depth++;
	} else if (event->kind == BST_ENUM_RANGE_KIND_POP && t->range_depth) {
		t->range_depth--;
	}
}

void recorder_range(const struct range_event *event)
{
	struct record r = {.kind = RECORD_RANGE, .begin_ns = host_now()};
	struct thread *t;

	if (!session_recording())
		return;
	t = thread_self();
	if (!t) {
		lose();
		return;
	}
	track_range(t, event);
	r.u.range.kind = event->kind;
	r.u.range.name = event->name;
	r.u.range.domain = event->domain;
	r.u.range.id = event->id;
	put(t, &r);
}

void recorder_node(const struct node_event *event)
{
	struct record r = {.kind = RECORD_NODE};
	struct thread *t;
	uint32_t depth;

	if (!session_on())
		return;
	t = thread_self();
	if (!t) {
		lose();
		return;
	}
	depth = t->range_depth < RANGE_DEPTH ? t->range_depth : RANGE_DEPTH;
	r.begin_ns = t->open ? t->open_begin_ns : t->driver_api ? t->driver_begin_ns : host_now();
	r.api = t->open ? t->open_api : t->driver_api;
	r.u.node.kind = event->kind;
	r.u.node.graph = event->graph;
	r.u.node.node = event->node;
	r.u.node.source = event->source;
	r.u.node.range = depth ? t->range[depth - 1] : 0;
	if (t->library) {
		r.u.node.shape = t->library->shape;
		r.u.node.library = t->library->begin_ns;
		if (event->kind == BST_ENUM_NODE_KIND_CREATED)
			t->library->flags |= BST_ENUM_LIBRARY_FLAG_CAPTURED;
	}
	put(t, &r);
}
