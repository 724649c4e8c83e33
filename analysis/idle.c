/* The rules of idle time. */
#include "idle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

/*
 * The longest time that a device takes by itself to start an operation that it has. Kernels of a
 * graph or a stream follow each other within 1 to 4 us, and launch to start takes about 5 us on an
 * idle H200. Far beyond, something that the trace does not show holds the operation.
 */
#define QUEUE_GAP_NS 100000

/* From the return of a call to the start on a device that is free: about 5 us on an H200. */
#define START_NS 6000

/*
 * CUPTI's CONCURRENT_KERNEL activity, on an H200 with driver 580 and CUDA 13.0 (DESIGN section 2):
 * +0.7 to +1.0 us for each launch on the CPU, +0.36 us for each graph node on the device.
 * `cost.cupti_launch_ns` and `cost.cupti_node_ns` of the trace's meta table, written where the
 * machine was calibrated, go before.
 */
#define CUPTI_LAUNCH_NS 850.0
#define CUPTI_NODE_NS 360.0

/* Held, inside the call, up to the start. */
#define LAST_PIECES 3

/* What idle_piece says of launch beside the leaf. */
enum idle_part {
	PART_OTHER,
	PART_QUEUE,
	PART_INSIDE,
};

struct span {
	uint64_t begin_ns;
	uint64_t end_ns;
};

static double calibrated(const struct vocabulary *v, const char *key, double otherwise)
{
	const char *text = vocabulary_meta(v, key);
	char *end;
	double value;

	if (!text)
		return otherwise;
	value = strtod(text, &end);
	return end != text && value >= 0 && value < 1e6 ? value : otherwise;
}

struct tracing_cost tracing_cost_of(const struct vocabulary *v, uint64_t calls)
{
	const char *state = vocabulary_meta(v, "cupti.state");
	struct tracing_cost cost = {0, 0, 0};
	double own = (double)v->cost[BST_ENUM_COST_KIND_HOOK].total_ns +
		     (double)v->cost[BST_ENUM_COST_KIND_CALLBACK].total_ns;

	if (calls)
		cost.call_ns = own / (double)calls;
	if (!state || strcmp(state, "on") != 0)
		return cost;
	cost.launch_ns = calibrated(v, "cost.cupti_launch_ns", CUPTI_LAUNCH_NS);
	cost.node_ns = calibrated(v, "cost.cupti_node_ns", CUPTI_NODE_NS);
	return cost;
}

/* Room for one piece, and for the last ones behind it. */
static int reserve(struct idle_pieces *pieces)
{
	return array_reserve((void **)&pieces->piece, &pieces->capacity,
			     pieces->count + 1 + LAST_PIECES, sizeof(*pieces->piece));
}

int idle_pieces_init(struct idle_pieces *pieces)
{
	memset(pieces, 0, sizeof(*pieces));
	return reserve(pieces);
}

void idle_pieces_fini(struct idle_pieces *pieces)
{
	free(pieces->piece);
	memset(pieces, 0, sizeof(*pieces));
}

/* Appends; without memory the last piece is stretched and becomes unknown, so that the gap stays
 * whole. */
static void append(struct idle_pieces *pieces, const struct idle_piece *piece)
{
	struct idle_piece *last = pieces->count ? &pieces->piece[pieces->count - 1] : NULL;

	if (last && last->leaf == piece->leaf && last->queue == piece->queue &&
	    last->inside == piece->inside) {
		last->end_ns = piece->end_ns;
		return;
	}
	if (reserve(pieces) == 0) {
		pieces->piece[pieces->count++] = *piece;
	} else if (last) {
		last->end_ns = piece->end_ns;
		last->leaf = LEAF_UNKNOWN;
	}
}

/*
 * One of the last pieces of a gap, which are never like the one before. Whether it has any length is
 * as good as random: no branch hangs on that.
 */
static inline void add(struct idle_pieces *pieces, const struct span *span, enum leaf leaf,
		       enum idle_part part)
{
	struct idle_piece *piece = &pieces->piece[pieces->count];

	/* Field by field: a copy would have to wait for the stores that made it. */
	piece->begin_ns = span->begin_ns;
	piece->end_ns = span->end_ns;
	piece->leaf = leaf;
	piece->queue = part == PART_QUEUE;
	piece->inside = part == PART_INSIDE;
	pieces->count += span->end_ns > span->begin_ns;
}

static void add_thread_piece(void *context, const struct thread_piece *piece)
{
	struct idle_piece idle = {piece->begin_ns, piece->end_ns, (enum leaf)piece->leaf, false,
				  false};

	if (idle.end_ns > idle.begin_ns)
		append(context, &idle);
}

static uint64_t clip(uint64_t t, const struct idle_gap *gap)
{
	t = t < gap->begin_ns ? gap->begin_ns : t;
	return t > gap->end_ns ? gap->end_ns : t;
}

/* From where on only the device itself delays the operation. */
static uint64_t release_of(const struct idle_gap *gap, uint64_t issued_ns)
{
	uint64_t release = clip(gap->release_ns, gap);

	if (!gap->held)
		return issued_ns;
	if (!gap->release_ns)
		return gap->end_ns;
	return release > issued_ns ? release : issued_ns;
}

/* From `issued_ns`, when all had been said to the device, to the start. */
static void split_start(const struct idle_gap *gap, uint64_t issued_ns, bool queue,
			struct idle_pieces *pieces)
{
	uint64_t release = release_of(gap, issued_ns);
	bool known = gap->end_ns - release <= QUEUE_GAP_NS;

	if (gap->held)
		add(pieces, &(struct span){issued_ns, release}, LEAF_DEPENDENCY, PART_OTHER);
	add(pieces, &(struct span){release, gap->end_ns}, known ? LEAF_LAUNCH : LEAF_UNKNOWN,
	    known && queue ? PART_QUEUE : PART_OTHER);
}

/* What the thread did from the begin of the gap up to `to_ns`. */
static void split_thread(const struct idle_gap *gap, uint64_t to_ns, const struct idle_rules *rules,
			 struct idle_pieces *pieces)
{
	thread_log_split(gap->log, gap->begin_ns, to_ns, rules->busy, rules->device,
			 add_thread_piece, pieces);
}

/* What the time inside the call that issued the operation counts as. */
static enum leaf inside_leaf(const struct launch *launch)
{
	if (launch->flags & BST_ENUM_CALL_FLAG_MODULE_LOADED)
		return LEAF_ALLOC;
	switch (launch->klass) {
	case BST_ENUM_CLASS_ALLOC:
	case BST_ENUM_CLASS_FREE:
	case BST_ENUM_CLASS_MODULE:
		return LEAF_ALLOC;
	case BST_ENUM_CLASS_SYNC:
		return LEAF_SYNC;
	default:
		return LEAF_LAUNCH;
	}
}

/* Up to the return of the call, if that is in the gap: returns from where on all had been said. */
static uint64_t split_call(const struct idle_gap *gap, const struct idle_rules *rules,
			   struct idle_pieces *pieces)
{
	uint64_t call = clip(gap->launch->begin_ns, gap);
	uint64_t back = clip(gap->launch->end_ns, gap);

	if (gap->begin_ns < call)
		split_thread(gap, call, rules, pieces);
	add(pieces, &(struct span){call, back}, inside_leaf(gap->launch), PART_INSIDE);
	return back;
}

/* Moves up to `budget` from the end of a piece to tracing (the device's or the CPU's), and splits it
 * there. */
static void take(struct idle_pieces *pieces, size_t at, double budget, bool device)
{
	struct idle_piece *piece = &pieces->piece[at];
	uint64_t length = piece->end_ns - piece->begin_ns;
	uint64_t taken = budget < (double)length ? (uint64_t)budget : length;
	struct idle_piece tracing = {piece->end_ns - taken, piece->end_ns, LEAF_TRACING, device,
				     false};

	if (!taken)
		return;
	if (taken == length) {
		*piece = tracing;
		return;
	}
	if (array_reserve((void **)&pieces->piece, &pieces->capacity, pieces->count + 1,
			  sizeof(*piece)))
		return;
	piece = &pieces->piece[at];
	piece->end_ns -= taken;
	memmove(piece + 2, piece + 1, (pieces->count - at - 1) * sizeof(*piece));
	piece[1] = tracing;
	pieces->count++;
}

static bool is_host(const struct idle_piece *piece)
{
	return piece->leaf == LEAF_HOST;
}

static bool is_inside(const struct idle_piece *piece)
{
	return piece->leaf == LEAF_LAUNCH && piece->inside;
}

static bool is_queue(const struct idle_piece *piece)
{
	return piece->leaf == LEAF_LAUNCH && piece->queue;
}

/* Returns what is left of the budget. */
static double charge(struct idle_pieces *pieces, bool (*kind)(const struct idle_piece *),
		     double budget)
{
	for (size_t i = pieces->count; i-- > 0 && budget >= 1;) {
		uint64_t length = pieces->piece[i].end_ns - pieces->piece[i].begin_ns;

		if (!kind(&pieces->piece[i]))
			continue;
		take(pieces, i, budget, kind == is_queue);
		budget -= fmin(budget, (double)length);
	}
	return budget;
}

static bool is_launch(const struct idle_piece *piece)
{
	return piece->leaf == LEAF_LAUNCH;
}

/*
 * Would the operation have started earlier if its call had returned earlier? Not where the call was
 * over long before: then the operation waited in the queue.
 */
static bool arrived_late(const struct idle_gap *gap)
{
	if (gap->launch->end_ns > gap->begin_ns)
		return true;
	return !gap->op->graph && !gap->held && gap->end_ns - gap->launch->end_ns <= START_NS;
}

/* When the thread was last as late as the device made it: what it lost since then counts. */
static uint64_t free_since(const struct idle_gap *gap)
{
	uint64_t waited = thread_log_waited_until(gap->log, gap->launch->begin_ns, gap->charged_ns);

	return waited > gap->charged_ns ? waited : gap->charged_ns;
}

/* Our cost in all calls that delayed the operation is time by which the gap would have been
 * shorter, wherever the calls were. */
static void remove_tracing(const struct idle_gap *gap, const struct tracing_cost *cost,
			   struct idle_pieces *pieces)
{
	double own = cost->call_ns + (gap->op && gap->op->is_copy ? 0 : cost->launch_ns);
	struct thread_calls calls;

	if (!gap->launch || !arrived_late(gap)) {
		if (gap->op && gap->op->graph)
			charge(pieces, is_queue, cost->node_ns);
		return;
	}
	calls = thread_log_calls(gap->log, free_since(gap), gap->launch->begin_ns);
	own = charge(pieces, is_inside, own);
	own = charge(pieces, is_host,
		     own + calls.calls * cost->call_ns + calls.launches * cost->launch_ns);
	charge(pieces, is_launch, own);
}

void idle_split(const struct idle_gap *gap, const struct idle_rules *rules,
		struct idle_pieces *pieces)
{
	const struct tracing_cost *cost = &rules->cost;
	uint64_t issued;

	pieces->count = 0;
	if (!gap->log || blind_between(rules->blind, gap->begin_ns, gap->end_ns, gap->thread) ||
	    (gap->op && !gap->launch)) {
		add(pieces, &(struct span){gap->begin_ns, gap->end_ns}, LEAF_UNKNOWN, PART_OTHER);
		return;
	}
	if (!gap->op) {
		split_thread(gap, gap->end_ns, rules, pieces);
		return;
	}
	issued = split_call(gap, rules, pieces);
	split_start(gap, issued, issued == gap->begin_ns, pieces);
	if (cost->call_ns > 0 || cost->launch_ns > 0 || cost->node_ns > 0)
		remove_tracing(gap, cost, pieces);
}
