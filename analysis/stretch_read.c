/* Reading rows, joining them, and inferring what waits for what. */
#include "stretch_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "stretch_chain.h"

#define SLACK_NS 20000         /* by which clocks of host and device may differ */
#define LATENCY_MOST_NS 100000 /* a longer start has another reason */
#define LATENCY_NS 4000.0      /* launch to start on an idle H200, where nothing is measured */
#define GAP_NS 1000.0          /* between queued kernels on an H200, likewise */
#define WAIT_OWN_NS 2000.0     /* of a wait, when there is nothing to wait for */
#define FOLLOWS_NS 10000       /* an operation that starts so soon after another's end ... */
#define LATE_NS 20000          /* ... and this late by all else that is known, waited for it */
#define RECENT_OPS 64          /* looked at for that */
#define DEPTH 1024             /* launches in a queue (DESIGN section 1) */
#define DEPTH_LEAST 64         /* fewer are no full queue, */
#define DEPTH_MEETINGS 64      /* nor is one so long for fewer launches */
#define BLOCKED_NS 10000.0     /* a launch that takes longer, */
#define BLOCKED_LATE 50.0      /* and whose operation starts so many times later, was blocked */
#define STREAMS 256
#define JOIN_LOOKS (1u << 22) /* ids are unique but for damage */
#define ORPHANS_MOST 50       /* one operation in so many may lack its call */
#define EVENTS 4096

/* What only reading needs. */
struct raw_call {
	uint32_t correlation, stream, object;
};

struct stream_handle {
	uint32_t handle, thread; /* thread 0 = of all */
	uint32_t stream;
};

struct event {
	uint32_t object, op;
};

struct by_correlation {
	uint32_t correlation, op;
};

struct reader {
	const struct stretch_input *in;
	struct stretch *s;
	uint64_t origin_ns; /* begin of the first call */
	struct raw_call *raw;
	size_t call_capacity, raw_capacity, op_capacity, wait_capacity;
	struct by_correlation *join;
	size_t join_capacity, looked;
	struct stretch_chains chains;
	uint64_t stream_key[STREAMS];
	uint32_t last[STREAMS];       /* operation of each stream, as issued */
	uint32_t pending[STREAMS][2]; /* operations that the stream was told to wait for */
	uint32_t *queue[STREAMS];     /* first operation of each launch, as issued */
	size_t queued[STREAMS], queue_capacity[STREAMS], started[STREAMS];
	struct stream_handle handle[STREAMS];
	unsigned handles;
	struct event event[EVENTS];
	size_t depth_seen,
		depth_meetings; /* the longest queue, and launches that found it so long */
	const char *reason;
};

/* --- rows --- */

static uint32_t stream_index(struct reader *r, uint64_t key)
{
	struct stretch *s = r->s;

	for (uint32_t i = 0; i < s->streams; i++)
		if (r->stream_key[i] == key)
			return i;
	if (s->streams == STREAMS)
		return STREAMS - 1;
	r->stream_key[s->streams] = key;
	return s->streams++;
}

static int add_op(struct reader *r, const struct op *op)
{
	struct stretch *s = r->s;

	if (s->op_count == STRETCH_OPS) {
		r->reason = "a few steps have more operations than are simulated";
		return -1;
	}
	if (array_reserve((void **)&s->op, &r->op_capacity, s->op_count + 1, sizeof(*s->op)) ||
	    array_reserve((void **)&r->join, &r->join_capacity, s->op_count + 1, sizeof(*r->join)))
		return -1;
	r->join[s->op_count] = (struct by_correlation){op->correlation, (uint32_t)s->op_count};
	s->op[s->op_count++] = (struct stretch_op){
		.begin_ns = op->begin_ns,
		.end_ns = op->end_ns,
		.duration_ns = (double)(op->end_ns - op->begin_ns),
		.call = STRETCH_NONE,
		.next = STRETCH_NONE,
		.pred = STRETCH_NONE,
		.dep = {STRETCH_NONE, STRETCH_NONE, STRETCH_NONE},
		.signature = op->signature,
		.stream = stream_index(r, op->stream),
		.graph = op->graph,
		.bytes = op->bytes,
		.is_copy = op->is_copy,
		.copy_kind = op->copy_kind,
		.source_kind = op->source_kind,
		.target_kind = op->target_kind,
	};
	return 0;
}

static int read_ops(struct reader *r)
{
	const struct stretch_input *in = r->in;
	uint64_t from = in->mark_ns[0], to = in->mark_ns[in->mark_count - 1];
	struct timeline t;
	const struct op *op;
	int status = timeline_init_between(&t, in->trace, in->clock, TIMELINE_OPS, from, to);

	if (status)
		return -1;
	while (!status && (op = timeline_op(&t)) && op->begin_ns <= to)
		if (op->device == in->device && op->begin_ns >= from)
			status = add_op(r, op);
	timeline_fini(&t);
	if (!status && !r->s->op_count) {
		r->reason = "the steps' kernels were not found again";
		return -1;
	}
	return status;
}

static int compare_correlation(const void *a, const void *b)
{
	const struct by_correlation *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

/* The first of the operations with this id, in the order of `join`. */
static size_t find_correlation(const struct reader *r, uint32_t correlation)
{
	size_t low = 0, high = r->s->op_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->join[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gives the operations with this id to the call, unless an earlier one has them. */
static int join_ops(struct reader *r, uint32_t correlation, uint64_t begin_ns, uint32_t call)
{
	struct stretch *s = r->s;
	struct stretch_call *c = &s->call[call];
	uint32_t last = STRETCH_NONE;

	if (!correlation)
		return 0;
	for (size_t at = find_correlation(r, correlation);
	     at < s->op_count && r->join[at].correlation == correlation; at++) {
		struct stretch_op *op = &s->op[r->join[at].op];

		if (++r->looked == JOIN_LOOKS) {
			r->reason = "too many calls have the same correlation id";
			return -1;
		}
		if (op->call != STRETCH_NONE || op->begin_ns + SLACK_NS < begin_ns)
			continue;
		op->call = call;
		op->node = op->graph && c->klass == BST_ENUM_CLASS_GRAPH_LAUNCH;
		if (last != STRETCH_NONE)
			s->op[last].next = r->join[at].op;
		else if (!c->op_count)
			c->op = r->join[at].op;
		last = r->join[at].op;
		c->op_count++;
	}
	return 0;
}

/* The others are a part of the host's time. */
static bool matters(uint8_t klass)
{
	switch (klass) {
	case BST_ENUM_CLASS_LAUNCH:
	case BST_ENUM_CLASS_GRAPH_LAUNCH:
	case BST_ENUM_CLASS_COPY:
	case BST_ENUM_CLASS_SET:
	case BST_ENUM_CLASS_PREFETCH:
	case BST_ENUM_CLASS_SYNC:
	case BST_ENUM_CLASS_ALLOC:
	case BST_ENUM_CLASS_FREE:
	case BST_ENUM_CLASS_EVENT_RECORD:
	case BST_ENUM_CLASS_EVENT_WAIT:
	case BST_ENUM_CLASS_HOST_FUNCTION:
	case BST_ENUM_CLASS_MODULE:
		return true;
	default:
		return false;
	}
}

static bool is_blocking(const struct reader *r, uint16_t api)
{
	const struct vocabulary *v = &r->in->trace->vocabulary;

	return api && api <= v->apis.count && v->api[api - 1].blocking;
}

static int add_call(struct reader *r, const struct call *call)
{
	struct stretch *s = r->s;
	struct stretch_thread *thread = stretch_chains_thread(&r->chains, call->thread);
	bool inner = call->flags & BST_ENUM_CALL_FLAG_NESTED;

	if (!thread) {
		r->reason = "more threads than are told apart";
		return -1;
	}
	if (inner || !matters(call->klass)) {
		thread->folded += !inner;
		if (!inner || thread->last == STRETCH_NONE || s->call[thread->last].op_count ||
		    call->begin_ns > s->call[thread->last].end_ns)
			return 0;
		return join_ops(r, call->correlation, call->begin_ns, thread->last);
	}
	if (s->call_count == STRETCH_CALLS) {
		r->reason = "a few steps have more calls than are simulated";
		return -1;
	}
	if (array_reserve((void **)&s->call, &r->call_capacity, s->call_count + 1,
			  sizeof(*s->call)) ||
	    array_reserve((void **)&r->raw, &r->raw_capacity, s->call_count + 1, sizeof(*r->raw)))
		return -1;
	r->raw[s->call_count] = (struct raw_call){call->correlation, call->stream, call->object};
	s->call[s->call_count] = (struct stretch_call){
		.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.own_ns = (double)(call->end_ns - call->begin_ns),
		.cost_ns = (double)(1 + thread->folded) * r->in->cost.call_ns,
		.before = STRETCH_NONE,
		.room = STRETCH_NONE,
		.op = STRETCH_NONE,
		.thread = call->thread,
		.api = call->api,
		.klass = call->klass,
		.flags = call->flags,
		.blocking = is_blocking(r, call->api),
	};
	thread->folded = 0;
	thread->last = (uint32_t)s->call_count;
	return join_ops(r, call->correlation, call->begin_ns, (uint32_t)s->call_count++);
}

static int read_calls(struct reader *r)
{
	const struct stretch_input *in = r->in;
	struct timeline t;
	const struct call *call;
	int status = timeline_init_between(&t, in->trace, in->clock, TIMELINE_CALLS,
					   in->first_call_ns, in->last_call_ns);

	if (status)
		return -1;
	qsort(r->join, r->s->op_count, sizeof(*r->join), compare_correlation);
	while (!status && (call = timeline_call(&t)) && call->begin_ns <= in->last_call_ns)
		if (call->begin_ns >= in->first_call_ns && call->thread)
			status = add_call(r, call);
	timeline_fini(&t);
	return status;
}

/* --- streams --- */

static const struct stream_handle *find_handle(const struct reader *r, uint32_t call)
{
	const struct stretch_call *c = &r->s->call[call];
	bool own = c->flags & BST_ENUM_CALL_FLAG_PER_THREAD_STREAM && !r->raw[call].stream;

	/* Rows of driver callbacks do not know their stream. */
	if (!r->raw[call].stream && c->flags & BST_ENUM_CALL_FLAG_DRIVER)
		return NULL;
	for (unsigned i = 0; i < r->handles; i++)
		if (r->handle[i].handle == r->raw[call].stream &&
		    r->handle[i].thread == (own ? c->thread : 0))
			return &r->handle[i];
	return NULL;
}

/* Which stream of the device a handle of the host is, by what was issued through it. */
static void learn_handles(struct reader *r)
{
	for (uint32_t i = 0; i < r->s->call_count; i++) {
		const struct stretch_call *c = &r->s->call[i];
		bool own = c->flags & BST_ENUM_CALL_FLAG_PER_THREAD_STREAM && !r->raw[i].stream;

		if (c->op == STRETCH_NONE || r->handles == STREAMS || find_handle(r, i) ||
		    (!r->raw[i].stream && c->flags & BST_ENUM_CALL_FLAG_DRIVER))
			continue;
		r->handle[r->handles++] = (struct stream_handle){
			r->raw[i].stream, own ? c->thread : 0, r->s->op[c->op].stream};
	}
}

/* --- what calls wait for --- */

static int add_wait(struct reader *r, struct stretch_call *c, uint32_t op)
{
	struct stretch *s = r->s;

	if (op == STRETCH_NONE || s->op[op].end_ns > c->end_ns + SLACK_NS)
		return 0;
	if (array_reserve((void **)&s->waits, &r->wait_capacity, s->wait_count + 1,
			  sizeof(*s->waits)))
		return -1;
	if (!c->wait_count)
		c->wait = (uint32_t)s->wait_count;
	s->waits[s->wait_count++] = op;
	c->wait_count++;
	return 0;
}

/* Splits the call's time into its own and what came behind the end of the last that it waited for. */
static void settle_wait(struct reader *r, struct stretch_call *c)
{
	uint64_t last = 0;
	double duration = (double)(c->end_ns - c->begin_ns);

	for (uint32_t k = 0; k < c->wait_count; k++)
		if (r->s->op[r->s->waits[c->wait + k]].end_ns > last)
			last = r->s->op[r->s->waits[c->wait + k]].end_ns;
	if (last <= c->begin_ns) {
		c->wake_ns = fmin(duration, WAIT_OWN_NS);
		return;
	}
	c->own_ns = fmin(duration, WAIT_OWN_NS);
	c->wake_ns = (double)c->end_ns - (double)last;
}

static const char *api_name(const struct reader *r, uint16_t api)
{
	const struct vocabulary *v = &r->in->trace->vocabulary;

	return api && api <= v->apis.count && v->api[api - 1].name ? v->api[api - 1].name : "";
}

static int wait_for_all(struct reader *r, struct stretch_call *c)
{
	int status = 0;

	for (unsigned i = 0; i < r->s->streams && !status; i++)
		status = add_wait(r, c, r->last[i]);
	return status;
}

static int add_sync(struct reader *r, uint32_t call)
{
	struct stretch_call *c = &r->s->call[call];
	const char *name = api_name(r, c->api);
	const struct stream_handle *handle = find_handle(r, call);
	const struct event *event = &r->event[r->raw[call].object % EVENTS];

	if (strstr(name, "EventSynchronize"))
		return r->raw[call].object && event->object == r->raw[call].object
			       ? add_wait(r, c, event->op)
			       : 0;
	if (strstr(name, "StreamSynchronize") && handle)
		return add_wait(r, c, r->last[handle->stream]);
	return wait_for_all(r, c);
}

/* A copy that was over when its call returned, where the call may be one that waits. */
static bool waited(const struct reader *r, const struct stretch_call *c)
{
	const struct stretch_op *op = &r->s->op[c->op];

	return op->is_copy && op->end_ns <= c->end_ns &&
	       (c->blocking || op->source_kind == BST_ENUM_MEMORY_KIND_PAGEABLE ||
		op->target_kind == BST_ENUM_MEMORY_KIND_PAGEABLE);
}

static int infer_wait(struct reader *r, uint32_t call)
{
	struct stretch_call *c = &r->s->call[call];
	int status = 0;

	if (c->klass == BST_ENUM_CLASS_SYNC)
		status = add_sync(r, call);
	else if (c->klass == BST_ENUM_CLASS_FREE && !strstr(api_name(r, c->api), "Async"))
		status = wait_for_all(r, c);
	else if (c->op != STRETCH_NONE && waited(r, c))
		status = add_wait(r, c, c->op);
	if (c->wait_count)
		settle_wait(r, c);
	return status;
}

/* --- what operations wait for --- */

/* In a graph: the node that ended last before this one began. */
static uint32_t node_before(const struct reader *r, uint32_t op)
{
	const struct stretch_op *o = &r->s->op[op];
	uint32_t best = STRETCH_NONE;

	for (uint32_t i = op; i-- > 0 && op - i <= RECENT_OPS;) {
		const struct stretch_op *other = &r->s->op[i];

		if (other->call == o->call && other->end_ns <= o->begin_ns &&
		    (best == STRETCH_NONE || other->end_ns > r->s->op[best].end_ns))
			best = i;
	}
	return best;
}

static void place_op(struct reader *r, uint32_t op)
{
	struct stretch_op *o = &r->s->op[op];
	uint32_t *pending = r->pending[o->stream], *last = &r->last[o->stream];

	if (o->node)
		o->pred = node_before(r, op);
	if (o->pred == STRETCH_NONE && *last != STRETCH_NONE &&
	    r->s->op[*last].begin_ns <= o->begin_ns)
		o->pred = *last;
	for (unsigned i = 0; i < 2; i++) {
		if (pending[i] != STRETCH_NONE && r->s->op[pending[i]].begin_ns <= o->begin_ns)
			o->dep[i] = pending[i];
		pending[i] = STRETCH_NONE;
	}
	if (!o->node || *last == STRETCH_NONE || r->s->op[*last].call != o->call ||
	    r->s->op[*last].end_ns < o->end_ns)
		*last = op;
}

static int enqueue(struct reader *r, uint32_t op)
{
	unsigned stream = r->s->op[op].stream;

	if (array_reserve((void **)&r->queue[stream], &r->queue_capacity[stream],
			  r->queued[stream] + 1, sizeof(uint32_t)))
		return -1;
	r->queue[stream][r->queued[stream]++] = op;
	return 0;
}

static void note_depth(struct reader *r, const struct stretch_call *c)
{
	unsigned stream = r->s->op[c->op].stream;
	size_t *started = &r->started[stream];

	while (*started < r->queued[stream] &&
	       r->s->op[r->queue[stream][*started]].begin_ns <= c->begin_ns)
		++*started;
	if (r->queued[stream] - *started > r->depth_seen + 2)
		r->depth_meetings = 0;
	if (r->queued[stream] - *started > r->depth_seen)
		r->depth_seen = r->queued[stream] - *started;
	r->depth_meetings += r->queued[stream] - *started + 2 >= r->depth_seen;
}

static int issue(struct reader *r, uint32_t call)
{
	struct stretch *s = r->s;
	const struct stretch_call *c = &s->call[call];

	note_depth(r, c);
	for (uint32_t i = c->op; i != STRETCH_NONE; i = s->op[i].next)
		place_op(r, i);
	return enqueue(r, c->op);
}

static void note_event(struct reader *r, uint32_t call)
{
	const struct stream_handle *handle = find_handle(r, call);
	uint32_t object = r->raw[call].object;
	struct event *event = &r->event[object % EVENTS];

	if (!object || !handle)
		return;
	if (r->s->call[call].klass == BST_ENUM_CLASS_EVENT_RECORD) {
		*event = (struct event){object, r->last[handle->stream]};
	} else if (event->object == object) {
		r->pending[handle->stream][1] = r->pending[handle->stream][0];
		r->pending[handle->stream][0] = event->op;
	}
}

static int connect(struct reader *r)
{
	struct stretch *s = r->s;
	int status = 0;

	memset(r->last, 0xff, sizeof(r->last));
	memset(r->pending, 0xff, sizeof(r->pending));
	for (uint32_t i = 0; i < s->call_count && !status; i++) {
		if (s->call[i].op != STRETCH_NONE)
			status = issue(r, i);
		else if (s->call[i].klass == BST_ENUM_CLASS_EVENT_RECORD ||
			 s->call[i].klass == BST_ENUM_CLASS_EVENT_WAIT)
			note_event(r, i);
		if (!status)
			status = infer_wait(r, i);
	}
	return status;
}

/* --- a full queue --- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double share_of(double *value, size_t count, double share, double otherwise)
{
	if (count < 4)
		return otherwise;
	qsort(value, count, sizeof(*value), by_value);
	return value[(size_t)((double)(count - 1) * share)];
}

static double quick_launch_ns(const struct stretch *s)
{
	double *value = malloc((s->call_count + 1) * sizeof(*value)), result;
	size_t count = 0;

	for (size_t i = 0; value && i < s->call_count; i++)
		if (s->call[i].klass == BST_ENUM_CLASS_LAUNCH)
			value[count++] = s->call[i].own_ns;
	result = value ? share_of(value, count, 0.25, LATENCY_NS) : LATENCY_NS;
	free(value);
	return result;
}

/*
 * The first operations do not show what the queue holds before them; but a launch that took long
 * while its operation was still far from its turn waited for room.
 */
static void unblock(struct stretch *s, struct stretch_call *c)
{
	const struct stretch_op *op = &s->op[c->op];
	double late = (double)op->begin_ns - (double)c->end_ns;

	if (c->wait_count || c->flags & BST_ENUM_CALL_FLAG_MODULE_LOADED ||
	    c->own_ns < BLOCKED_NS || late < BLOCKED_LATE * c->own_ns)
		return;
	c->own_ns = LATENCY_NS;
}

/* Launches wait for the one `depth` before them to start. Where the queue was full as recorded, the
 * time inside the call is waiting, all but that of a quick one. */
static void limit_queues(struct reader *r)
{
	struct stretch *s = r->s;
	double quick = quick_launch_ns(s);
	bool full = r->depth_seen >= DEPTH_LEAST && r->depth_meetings >= DEPTH_MEETINGS;
	size_t depth = full ? r->depth_seen : DEPTH;

	s->depth = (unsigned)depth;
	for (unsigned stream = 0; stream < s->streams; stream++)
		for (size_t i = 0; i < r->queued[stream]; i++) {
			struct stretch_call *c = &s->call[s->op[r->queue[stream][i]].call];

			if (i < depth) {
				unblock(s, c);
				continue;
			}
			c->room = r->queue[stream][i - depth];
			if (s->op[c->room].begin_ns > c->begin_ns && !c->wait_count)
				c->own_ns = fmin(c->own_ns, quick);
		}
}

/* --- how long after what --- */

/* When the operation could have started at the earliest, but for what it takes to start. */
struct readiness {
	uint64_t call_ns, pred_ns, dep_ns;
};

static struct readiness readiness_of(const struct stretch *s, const struct stretch_op *op)
{
	struct readiness ready = {0, 0, 0};
	const struct stretch_call *c = op->call == STRETCH_NONE ? NULL : &s->call[op->call];

	if (c)
		ready.call_ns = op->inside ? c->begin_ns : c->end_ns;
	if (op->pred != STRETCH_NONE)
		ready.pred_ns = s->op[op->pred].end_ns;
	for (unsigned i = 0; i < STRETCH_DEPS; i++)
		if (op->dep[i] != STRETCH_NONE && s->op[op->dep[i]].end_ns > ready.dep_ns)
			ready.dep_ns = s->op[op->dep[i]].end_ns;
	return ready;
}

static double behind(uint64_t t, uint64_t than)
{
	return (double)t - (double)than;
}

/* Late by all that is known, and another operation has just ended. */
static void infer_dependency(struct stretch *s, uint32_t op)
{
	struct stretch_op *o = &s->op[op];
	struct readiness ready = readiness_of(s, o);
	uint64_t latest = ready.call_ns;

	if (ready.pred_ns > latest)
		latest = ready.pred_ns;
	if (ready.dep_ns > latest)
		latest = ready.dep_ns;
	if (!latest || o->begin_ns < latest + LATE_NS || o->node)
		return;
	for (uint32_t i = op; i-- > 0 && op - i <= RECENT_OPS;) {
		uint64_t end = s->op[i].end_ns;

		if (end <= o->begin_ns && end + FOLLOWS_NS >= o->begin_ns && end > latest) {
			o->dep[STRETCH_DEPS - 1] = i;
			latest = end;
		}
	}
}

static void typical_lags(struct stretch *s)
{
	double *latency = malloc((s->op_count + 1) * sizeof(*latency));
	double *gap = malloc((s->op_count + 1) * sizeof(*gap));
	size_t latencies = 0, gaps = 0;

	s->latency_ns = LATENCY_NS;
	s->gap_ns = GAP_NS;
	for (size_t i = 0; latency && gap && i < s->op_count; i++) {
		const struct stretch_op *op = &s->op[i];
		struct readiness ready = readiness_of(s, op);

		if (op->node || op->call == STRETCH_NONE || op->is_copy)
			continue;
		if (ready.call_ns > ready.pred_ns && ready.call_ns > ready.dep_ns && !op->inside &&
		    op->begin_ns < ready.call_ns + LATENCY_MOST_NS)
			latency[latencies++] = behind(op->begin_ns, ready.call_ns);
		if (ready.pred_ns > ready.call_ns + LATENCY_MOST_NS / 10 &&
		    ready.pred_ns >= ready.dep_ns && op->begin_ns < ready.pred_ns + LATE_NS)
			gap[gaps++] = behind(op->begin_ns, ready.pred_ns);
	}
	if (latency && gap) {
		s->latency_ns = share_of(latency, latencies, 0.5, LATENCY_NS);
		s->gap_ns = share_of(gap, gaps, 0.5, GAP_NS);
	}
	free(latency);
	free(gap);
}

/* What held the start keeps its recorded time; of the others no more is known than that they would
 * have allowed it, so they take what is typical, if that is less. */
static void settle_lags(struct stretch *s, struct stretch_op *op)
{
	struct readiness ready = readiness_of(s, op);
	double call = behind(op->begin_ns, ready.call_ns);
	double pred = behind(op->begin_ns, ready.pred_ns), dep = behind(op->begin_ns, ready.dep_ns);
	bool by_pred = ready.pred_ns > ready.call_ns && ready.pred_ns >= ready.dep_ns;
	bool by_dep = !by_pred && ready.dep_ns > ready.call_ns;
	/* Held by operations before the stretch. */
	bool cold = op->pred == STRETCH_NONE && !ready.dep_ns && call > LATENCY_MOST_NS;

	if (op->call == STRETCH_NONE)
		call = op->pred == STRETCH_NONE ? (double)op->begin_ns : 0;
	else if (by_pred || by_dep || cold)
		call = fmin(call, s->latency_ns);
	op->launch_ns = call;
	op->pred_ns = by_pred || op->call == STRETCH_NONE ? pred : fmin(pred, s->gap_ns);
	op->dep_ns = by_dep ? dep : fmin(dep, s->gap_ns);
}

static void settle_ops(struct reader *r)
{
	struct stretch *s = r->s;

	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];

		if (op->call == STRETCH_NONE) {
			for (size_t k = i;
			     k-- > 0 && op->pred == STRETCH_NONE && i - k <= RECENT_OPS;)
				if (s->op[k].stream == op->stream)
					op->pred = (uint32_t)k;
			continue;
		}
		op->inside = op->begin_ns < s->call[op->call].end_ns;
		infer_dependency(s, (uint32_t)i);
	}
	typical_lags(s);
	for (size_t i = 0; i < s->op_count; i++)
		settle_lags(s, &s->op[i]);
}

/* --- own cost, origin, marks --- */

static void note_cost(struct reader *r)
{
	struct stretch *s = r->s;

	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];

		if (op->node)
			op->cost_ns = op->is_copy ? 0 : r->in->cost.node_ns;
		else if (op->call != STRETCH_NONE && !op->is_copy)
			s->call[op->call].cost_ns += r->in->cost.launch_ns;
	}
}

static void move_origin(struct stretch *s)
{
	uint64_t origin = UINT64_MAX;

	if (s->call_count)
		origin = s->call[0].begin_ns;
	if (s->op_count && s->op[0].begin_ns < origin)
		origin = s->op[0].begin_ns;
	for (size_t i = 0; i < s->call_count; i++) {
		s->call[i].begin_ns -= origin;
		s->call[i].end_ns -= origin;
	}
	for (size_t i = 0; i < s->op_count; i++) {
		s->op[i].begin_ns -= origin;
		s->op[i].end_ns -= origin;
	}
}

static int find_marks(struct reader *r)
{
	const struct stretch_input *in = r->in;
	struct stretch *s = r->s;
	uint32_t op = 0;

	s->mark = calloc(in->mark_count, sizeof(*s->mark));
	if (!s->mark)
		return -1;
	for (size_t i = 0; i < in->mark_count; i++) {
		while (op < s->op_count &&
		       (s->op[op].begin_ns < in->mark_ns[i] || s->op[op].is_copy))
			op++;
		if (op == s->op_count) {
			r->reason = "the steps' kernels were not found again";
			return -1;
		}
		s->mark[s->mark_count++] = op;
	}
	return 0;
}

static bool too_many_orphans(const struct stretch *s)
{
	size_t orphans = 0;

	for (size_t i = 0; i < s->op_count; i++)
		orphans += s->op[i].call == STRETCH_NONE;
	return orphans * ORPHANS_MOST > s->op_count;
}

static int build(struct reader *r)
{
	if (read_ops(r) || read_calls(r) || find_marks(r))
		return -1;
	if (too_many_orphans(r->s)) {
		r->reason = "the calls behind the steps are not in the trace";
		return -1;
	}
	move_origin(r->s);
	learn_handles(r);
	if (connect(r))
		return -1;
	limit_queues(r);
	settle_ops(r);
	note_cost(r);
	return stretch_chains_link(&r->chains, r->s) || stretch_sort(r->s) ? -1 : 0;
}

int stretch_read(const struct stretch_input *input, struct stretch *stretch, const char **reason)
{
	struct reader *r = calloc(1, sizeof(*r));
	int status = -1;

	memset(stretch, 0, sizeof(*stretch));
	if (!r) {
		*reason = "out of memory";
		return -1;
	}
	r->in = input;
	r->s = stretch;
	if (input->mark_count < 3 || !input->first_call_ns)
		r->reason = "no stretch of steps and their calls was found";
	else
		status = build(r);
	if (status) {
		*reason = r->reason ? r->reason : "out of memory";
		stretch_fini(stretch);
	}
	stretch_chains_fini(&r->chains);
	for (unsigned i = 0; i < STREAMS; i++)
		free(r->queue[i]);
	free(r->raw);
	free(r->join);
	free(r);
	return status;
}
