/* Whose fault a gap is: splitting the idle time of a device into leaves. */
#ifndef IDLE_H
#define IDLE_H

#include "blind.h"
#include "join.h"
#include "leaf.h"
#include "thread_log.h"

/* What tracing adds to the critical path. */
struct tracing_cost {
	double call_ns;   /* our hook and callback, each call: measured by the run itself */
	double launch_ns; /* CUPTI's kernel activity, each launch, on the CPU */
	double node_ns;   /* CUPTI's kernel activity, each graph node, on the device */
};

/* Without a calibration in the trace: see tracing_cost_of in idle.c. */
struct tracing_cost tracing_cost_of(const struct vocabulary *vocabulary, uint64_t calls);

struct idle_piece {
	uint64_t begin_ns;
	uint64_t end_ns;
	enum leaf leaf;
	bool queue; /* launch: the device's own gap between queued operations; tracing: the device's */
	bool inside; /* launch: inside the call */
};

/* A gap [begin, end) of a device, of some length, and what is known of the operation that ends it. */
struct idle_gap {
	uint64_t begin_ns;
	uint64_t end_ns;
	const struct op *op;          /* NULL: nothing came any more */
	const struct launch *launch;  /* NULL: the call is not known */
	const struct thread_log *log; /* of the thread that issued it; NULL: not known */
	uint32_t thread;              /* as struct call */
	bool held;           /* something else held the operation when it had been issued */
	uint64_t release_ns; /* and let it go then; 0 = not known: when it started */
	uint64_t charged_ns; /* our cost in calls of this thread before counts in earlier gaps */
};

/* What holds for all gaps of a device. */
struct idle_rules {
	const struct blind *blind;
	struct tracing_cost cost;
	busy_between busy;
	const void *device; /* for `busy` */
};

/* Pieces of the last gap; memory is reused. */
struct idle_pieces {
	struct idle_piece *piece;
	size_t count, capacity;
};

/* -1 without memory. */
int idle_pieces_init(struct idle_pieces *pieces);
void idle_pieces_fini(struct idle_pieces *pieces);

/*
 * Splits a gap (DESIGN section 1, "Idle, exactly"). The pieces are in order and fill the gap
 * exactly. Neighbours of one leaf differ in `inside` alone, and never are host.
 *
 * - The call began in the gap: before it, the thread's time (thread_log_split: host, alloc, sync);
 * inside it and on to the start: launch, or alloc inside a call that loaded a module.
 * - The call returned before the gap began: dependency where something held the operation, else the
 * device's own gap between queued operations (launch, `queue`), unless that is longer than such
 * gaps are: unknown.
 * - Issued in the gap and then held: from the return of the call on, dependency. Not held, but
 * longer than a start takes: unknown.
 * - What is left after an event has let the operation go counts as if it had not been held.
 * - No call known, or losses in that time: unknown.
 * - Our own cost is then moved from launch and host to tracing, at most what these have: that of all
 * calls by which the thread came late, back to its last wait or to the gap before.
 */
void idle_split(const struct idle_gap *gap, const struct idle_rules *rules,
		struct idle_pieces *pieces);

#endif
