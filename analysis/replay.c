/* Calls run a little ahead of operations, so that the call behind an operation is known when it
 * begins. */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

/* How far device and host times may disagree beyond what the recorder states. */
#define SLACK_LEAST_NS 20000
#define SLACK_MOST_NS 50000000 /* an overloaded machine's readings are off by a time slice or two */

static bool ran(const struct call *call)
{
	return !(call->flags & (BST_ENUM_CALL_FLAG_FAILED | BST_ENUM_CALL_FLAG_CAPTURED));
}

static bool issues(const struct call *call)
{
	switch (call->klass) {
	case BST_ENUM_CLASS_LAUNCH:
	case BST_ENUM_CLASS_GRAPH_LAUNCH:
	case BST_ENUM_CLASS_COPY:
	case BST_ENUM_CLASS_SET:
	case BST_ENUM_CLASS_PREFETCH:
		return ran(call);
	default:
		return false;
	}
}

static void count_launch(struct replay *r, const struct call *call)
{
	uint8_t other = BST_ENUM_CALL_FLAG_DRIVER | BST_ENUM_CALL_FLAG_NESTED;

	if (call->klass == BST_ENUM_CLASS_GRAPH_LAUNCH && ran(call))
		r->graph_launches++;
	if (call->klass != BST_ENUM_CLASS_LAUNCH)
		return;
	if (call->flags & BST_ENUM_CALL_FLAG_CAPTURED)
		r->launches_captured++;
	if (!ran(call))
		return;
	r->launches_seen++;
	r->launches_hooked += !(call->flags & other);
}

static void note_pause(struct replay *r, const struct call *call)
{
	uint64_t *end = &r->log_end_ns[call->thread];
	struct worst_gap pause = {*end, call->begin_ns - *end, GAP_BEFORE_CALL, call->api,
				  call->thread};

	if (*end && call->begin_ns > *end)
		if (gap_count(&r->pauses, pause.duration_ns))
			gap_keep(&r->pauses, &pause);
	if (call->end_ns > *end)
		*end = call->end_ns;
}

static void note_range(struct replay *r, struct launch *launch)
{
	struct range_at at = ranges_at(r->ranges, launch->thread);

	launch->range_node = at.node;
	launch->range_serial = at.serial;
}

/* The slot of the call among those that an operation is joined to; NULL where its id has one. */
static struct launch *remember(struct replay *r, const struct call *call)
{
	struct launch *launch = join_add(&r->join, call->correlation, call->begin_ns);

	if (!launch)
		return NULL;
	launch->thread = call->thread;
	launch->klass = call->klass;
	launch->flags = call->flags;
	launch->begin_ns = call->begin_ns;
	launch->end_ns = call->end_ns;
	return launch;
}

static void note_end(struct replay *r, const struct call *call)
{
	if (call->thread != r->last.thread) {
		r->other = r->last;
		r->last = (struct last_call){call->end_ns, call->thread};
	} else if (call->end_ns > r->last.end_ns) {
		r->last.end_ns = call->end_ns;
	}
}

/* A copy or set that returns when it is done? */
static bool blocks(const struct replay *r, const struct call *call)
{
	return call->klass == BST_ENUM_CLASS_COPY && call->api &&
	       r->trace->vocabulary.api[call->api - 1].blocking;
}

/* What its thread did, and what holds the work that it issued. */
static void follow_call(struct replay *r, const struct call *call)
{
	struct thread_log *log = call->thread ? &r->log[call->thread] : NULL;
	struct launch *launch = NULL;
	struct hold nobodys; /* of a call that no operation can be joined to */
	bool issued = issues(call);
	uint64_t span = UINT64_MAX;

	note_end(r, call);
	if (log) {
		span = thread_log_add(log, call, blocks(r, call), issued);
		if (r->alone)
			note_pause(r, call);
	}
	if (!ran(call))
		return;
	if (holds_records(call))
		holds_note(&r->holds, call);
	if (call->correlation)
		launch = remember(r, call);
	if (issued)
		holds_launch(&r->holds, call, launch ? &launch->hold : &nobodys);
	if (!launch)
		return;
	launch->span = span;
	if (log && call->flags & BST_ENUM_CALL_FLAG_NESTED)
		thread_log_nested(log, &launch->begin_ns, &launch->end_ns);
	if (r->ranges)
		note_range(r, launch);
}

static void take_call(struct replay *r, const struct call *call)
{
	if (!r->first_call_ns)
		r->first_call_ns = call->begin_ns;
	if (call->end_ns > r->last_call_ns)
		r->last_call_ns = call->end_ns;
	count_launch(r, call);
	if (!r->plain) {
		follow_call(r, call);
	} else if (ran(call) && call->correlation) {
		remember(r, call);
	}
}

/* End of the last operation that the launch had to wait for, as far as the events are known. */
static uint64_t release_of(struct replay *r, const struct launch *launch)
{
	uint64_t release = 0;

	if (!launch->hold.event_correlation[0])
		return 0;
	for (unsigned i = 0; i < HOLD_EVENTS; i++) {
		const struct launch *other = join_find(&r->join, launch->hold.event_correlation[i]);

		if (other && other->op_end_ns > release)
			release = other->op_end_ns;
	}
	return release;
}

/* A copy of pageable memory that was over when its call returned: the caller waited for it. */
static bool waited(const struct op *op, const struct launch *launch)
{
	return op->is_copy && op->end_ns <= launch->end_ns &&
	       (op->source_kind == BST_ENUM_MEMORY_KIND_PAGEABLE ||
		op->target_kind == BST_ENUM_MEMORY_KIND_PAGEABLE);
}

static void join_op(struct replay *r, const struct op *op, struct launch *launch,
		    struct issued_op *issued)
{
	issued->launch = launch;
	if (op->end_ns > launch->op_end_ns)
		launch->op_end_ns = op->end_ns;
	if (!op->is_copy && (!op->graph || op->has_node))
		r->kernels_explained++;
	if (r->plain)
		return;
	if (launch->thread) {
		issued->log = &r->log[launch->thread];
		if (waited(op, launch))
			thread_log_waited(&r->log[launch->thread], launch->span);
	}
	issued->held = launch->hold.host || launch->hold.unknown;
	issued->perhaps_held = launch->hold.unseen;
	issued->release_ns = release_of(r, launch);
}

static void note_span(struct replay_span *span, const struct op *op, const struct launch *launch)
{
	if (op->begin_ns < span->begin_ns || op->begin_ns > span->end_ns)
		return;
	if (!span->first_call_ns || launch->begin_ns < span->first_call_ns)
		span->first_call_ns = launch->begin_ns;
	if (launch->end_ns > span->last_call_ns)
		span->last_call_ns = launch->end_ns;
}

static void take_op(struct replay *r, const struct op *op, uint64_t slack_ns)
{
	struct launch *launch = join_find(&r->join, op->correlation);
	struct issued_op issued = {.op = op};

	/* An id may be used again after 2^32 calls; a call that is yet to come is not the one. */
	if (launch && launch->begin_ns <= op->begin_ns + slack_ns)
		join_op(r, op, launch, &issued);
	if (issued.launch)
		note_span(&r->span[op->device], op, launch);
	account_add(r->account[op->device], &issued);
}

static bool has_ranges(const struct trace *trace)
{
	for (size_t i = 0; i < trace->chunk_count; i++)
		if (trace->chunk[i].table == BST_TABLE_RANGE)
			return true;
	return false;
}

static int prepare(struct replay *r)
{
	if (!r->plain && has_ranges(r->trace)) {
		r->ranges = ranges_create(&r->trace->vocabulary);
		if (!r->ranges)
			return -1;
	}
	r->log_count = (size_t)r->trace->vocabulary.threads.count + 1;
	r->log = calloc(r->log_count, sizeof(*r->log));
	r->log_end_ns = calloc(r->log_count, sizeof(*r->log_end_ns));
	holds_init(&r->holds);
	return r->log && r->log_end_ns && join_init(&r->join) == 0 ? 0 : -1;
}

static int begin_accounts(struct replay *r, uint64_t begin_ns)
{
	for (unsigned i = 0; i < SURVEY_DEVICES; i++) {
		struct account *a = r->account[i];

		if (!a)
			continue;
		a->begin_ns = begin_ns;
		a->rules.blind = r->blind;
		a->ranges = r->ranges;
		a->device = i;
		a->rules.cost = tracing_cost_of(&r->trace->vocabulary, r->calls);
		if (account_init(a))
			return -1;
	}
	return 0;
}

/* What threads had used up to the call, before the call itself. */
static void take_wakes(struct replay *r, struct timeline *wakes, uint64_t until_ns)
{
	for (; r->wake && r->wake->begin_ns <= until_ns; r->wake = timeline_wake(wakes)) {
		struct thread_log *log = &r->log[r->wake->thread];

		silences_add(&log->silences, r->wake, log->sync_ns,
			     (r->last.thread == r->wake->thread ? &r->other : &r->last)->end_ns);
	}
}

static void take_ranges(struct replay *r, struct timeline *ranges, uint64_t until_ns)
{
	for (; r->range && r->range->begin_ns <= until_ns; r->range = timeline_range(ranges))
		ranges_take(r->ranges, r->range);
}

/* The timelines beside that of the operations. */
struct host_events {
	struct timeline calls, wakes, ranges;
};

static void take_calls(struct replay *r, struct host_events *host, uint64_t until_ns)
{
	for (; r->call && r->call->begin_ns <= until_ns; r->call = timeline_call(&host->calls)) {
		take_wakes(r, &host->wakes, r->call->begin_ns);
		if (r->ranges)
			take_ranges(r, &host->ranges, r->call->begin_ns);
		take_call(r, r->call);
	}
}

static void walk(struct replay *r, struct timeline *ops, struct host_events *host)
{
	uint64_t slack = 2 * r->clock->error_ns;
	const struct op *op;

	if (slack < SLACK_LEAST_NS)
		slack = SLACK_LEAST_NS;
	if (slack > SLACK_MOST_NS)
		slack = SLACK_MOST_NS;
	while ((op = timeline_op(ops))) {
		take_calls(r, host, op->begin_ns + slack);
		if (r->account[op->device])
			take_op(r, op, slack);
	}
	take_calls(r, host, UINT64_MAX);
}

static void finish_accounts(struct replay *r, uint64_t last_ns)
{
	r->end_ns = r->last_call_ns > last_ns ? r->last_call_ns : last_ns;
	for (unsigned i = 0; i < SURVEY_DEVICES; i++)
		if (r->account[i])
			account_finish(r->account[i], r->end_ns);
}

int replay_run(struct replay *r, uint64_t origin_ns, uint64_t last_ns)
{
	struct timeline ops = {0};
	struct host_events host = {0};
	int status = -1;

	if (timeline_init(&ops, r->trace, r->clock, TIMELINE_OPS) ||
	    timeline_init(&host.calls, r->trace, r->clock, TIMELINE_CALLS) ||
	    (!r->plain && timeline_init(&host.wakes, r->trace, r->clock, TIMELINE_WAKES)) ||
	    (!r->plain && timeline_init(&host.ranges, r->trace, r->clock, TIMELINE_RANGES)) ||
	    prepare(r))
		goto out;
	r->call = timeline_call(&host.calls);
	r->wake = r->plain ? NULL : timeline_wake(&host.wakes);
	r->range = r->plain ? NULL : timeline_range(&host.ranges);
	if (r->call && (!origin_ns || r->call->begin_ns < origin_ns))
		origin_ns = r->call->begin_ns;
	if (begin_accounts(r, origin_ns))
		goto out;
	r->alone = !last_ns;
	walk(r, &ops, &host);
	finish_accounts(r, last_ns);
	r->call_counts = host.calls.counts;
	status = 0;
out:
	timeline_fini(&ops);
	timeline_fini(&host.calls);
	timeline_fini(&host.wakes);
	timeline_fini(&host.ranges);
	return status;
}

void replay_fini(struct replay *r)
{
	for (size_t i = 0; r->log && i < r->log_count; i++)
		thread_log_fini(&r->log[i]);
	free(r->log);
	free(r->log_end_ns);
	ranges_destroy(r->ranges);
	join_fini(&r->join);
	holds_fini(&r->holds);
}
