/* Launches one by one become launches of CUDA graphs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "shim/trace/rows.h"

/*
 * Between dependent nodes: 0.29 us in samples/traces/demo (H200, CUDA 13.0), of which tracing is 0.36
 * us; empty nodes start 530 ns apart without it (samples/h200/calibrate.txt); 21 kernels of an MLP's
 * forward pass take 36 us as a graph (DESIGN section 2), so up to 0.7 us beside their 1 us.
 */
#define NODE_BEST_NS 0.0
#define NODE_LIKELY_NS 300.0
#define NODE_WORST_NS 1000.0
/* One launch: 2.5 us for a straight graph (NVIDIA, "Constant Time Launch for Straight-Line CUDA
 * Graphs", CUDA 12.6), about 10 us in PyTorch (NVIDIA's CUDA graph documentation). */
#define LAUNCH_BEST_NS 2500.0
#define LAUNCH_LIKELY_NS 8000.0
#define LAUNCH_WORST_NS 15000.0
/* From the launch to the first node. */
#define START_BEST_NS 1500.0
#define START_LIKELY_NS 5000.0
#define START_WORST_NS 10000.0
/* From the end of a graph to the first node of the next one, launched before: 5.7 us in
 * samples/traces/demo, traced. */
#define NEXT_BEST_NS 1000.0
#define NEXT_LIKELY_NS 5000.0
#define NEXT_WORST_NS 8000.0
/* A loop of Python around it, and copying inputs into static tensors. */
#define LOOP_BEST_NS 0.0
#define LOOP_LIKELY_NS 10000.0
#define LOOP_WORST_NS 30000.0

/* torch.compile(mode="reduce-overhead"): its Python round the graphs of the forward and the backward
 * pass and the copies of inputs, beside what compiled code costs; in units of an eager operation.
 * An MLP's training on an H200 took as long with it as without (samples/whatif/h200/whatif.txt). */
#define TREES_BEST 3.0
#define TREES_LIKELY 9.0
#define TREES_WORST 18.0

/* The run of calls that one graph takes the place of. */
struct segment {
	uint32_t first; /* call; NONE = none is open */
};

/* What capture records. */
static bool is_captured(const struct stretch *s, const struct stretch_call *call)
{
	switch (call->klass) {
	case BST_ENUM_CLASS_LAUNCH:
	case BST_ENUM_CLASS_SET:
	case BST_ENUM_CLASS_EVENT_RECORD:
	case BST_ENUM_CLASS_EVENT_WAIT:
		return !(call->flags & BST_ENUM_CALL_FLAG_MODULE_LOADED);
	case BST_ENUM_CLASS_COPY:
		return !call->wait_count && call->op != STRETCH_NONE &&
		       s->op[call->op].source_kind != BST_ENUM_MEMORY_KIND_PAGEABLE &&
		       s->op[call->op].target_kind != BST_ENUM_MEMORY_KIND_PAGEABLE;
	default:
		return false;
	}
}

/* For each call the step that it belongs to, by the operations; calls without go with the one
 * before. */
static uint32_t *steps_of_calls(const struct stretch *s)
{
	uint32_t *step = calloc(s->call_count + 1, sizeof(*step)), now = 0;
	struct change_steps steps = {.stretch = s};

	for (uint32_t i = 0; step && i < s->op_count; i++)
		if (s->op[i].call != STRETCH_NONE && s->op[i].call < s->call_count &&
		    !step[s->op[i].call])
			step[s->op[i].call] = 1 + (uint32_t)change_step_of_op(&steps, i);
	for (size_t i = 0; step && i < s->call_count; i++)
		now = step[i] = step[i] ? step[i] : now;
	return step;
}

/* An optimizer computes much in Python before its first launch: a whole step's capture takes it. */
static bool of_optimizer(const struct change *c, const struct stretch_call *call)
{
	return call->op != STRETCH_NONE &&
	       change_category(change_kernel(c, &c->stretch->op[call->op]), "optimizer");
}

/* The call with the host's longest time before it, in each step: there a step begins for the
 * program. */
static uint32_t *loop_calls(const struct change *c, const uint32_t *step, size_t steps)
{
	const struct stretch *s = c->stretch;
	uint32_t *loop = malloc((steps + 2) * sizeof(*loop));

	if (!loop)
		return NULL;
	memset(loop, 0xff, (steps + 2) * sizeof(*loop));
	for (uint32_t i = 0; i < s->call_count; i++) {
		uint32_t *longest = &loop[step[i]];

		if (is_captured(s, &s->call[i]) && !of_optimizer(c, &s->call[i]) &&
		    (*longest == STRETCH_NONE || s->call[i].host_ns > s->call[*longest].host_ns))
			*longest = i;
	}
	return loop;
}

/* The call launches a graph now; what follows in its segment costs nothing. */
static void open_segment(struct change *c, struct stretch_call *call, bool model, bool loop)
{
	double own = change_pick(c, LAUNCH_BEST_NS, LAUNCH_LIKELY_NS, LAUNCH_WORST_NS);
	double host = change_pick(c, LOOP_BEST_NS, LOOP_LIKELY_NS, LOOP_WORST_NS);
	double trees = change_pick(c, TREES_BEST, TREES_LIKELY, TREES_WORST) * c->scene->unit_ns;

	if (model && loop)
		host = call->host_ns + trees;
	else if ((loop && c->bound == BOUND_WORST) || change_is_loading(c, call))
		host = call->host_ns;
	call->own_ns = own;
	call->host_ns = model && loop ? host : fmin(call->host_ns, host);
	call->room = STRETCH_NONE;
}

static void join_segment(struct stretch_call *call)
{
	call->own_ns = 0;
	call->host_ns = 0;
	call->room = STRETCH_NONE;
}

static void make_node(const struct change *c, struct stretch_op *op, bool first)
{
	double node = change_pick(c, NODE_BEST_NS, NODE_LIKELY_NS, NODE_WORST_NS);
	double start = change_pick(c, START_BEST_NS, START_LIKELY_NS, START_WORST_NS);

	op->inside = false;
	op->launch_ns = start;
	op->pred_ns = first ? change_pick(c, NEXT_BEST_NS, NEXT_LIKELY_NS, NEXT_WORST_NS)
			    : fmin(op->pred_ns, node);
	op->dep_ns = fmin(op->dep_ns, node);
}

/*
 * A step of fewer operations is most likely one of several equal layers, as which a model without a
 * mark between its passes looks: the program's own step, and its graph, has several of them.
 */
#define GRAPH_LEAST 16

static size_t steps_of_graph(const struct change *c)
{
	size_t steps = c->stretch->mark_count > 1 ? c->stretch->mark_count - 1 : 1;
	size_t each = c->stretch->op_count / steps;

	return c->bound == BOUND_WORST || !each ? 1 : (GRAPH_LEAST + each - 1) / each;
}

/* What is captured: everything that can be, or all of that but the optimizer. */
struct scope {
	bool model; /* without the optimizer */
	const uint32_t *step, *loop;
};

static void capture(struct change *c, const struct scope *scope)
{
	struct stretch *s = c->stretch;
	struct segment open = {STRETCH_NONE};
	size_t many = steps_of_graph(c);

	c->rewired = true;
	for (uint32_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];
		bool begins = scope->loop[scope->step[i]] == i && scope->step[i] % many == 0;

		if (!is_captured(s, call) || (scope->model && of_optimizer(c, call))) {
			open.first = STRETCH_NONE;
			continue;
		}
		c->touched += call->klass == BST_ENUM_CLASS_LAUNCH;
		if (call->op != STRETCH_NONE)
			change_blame(c, &s->op[call->op], call->host_ns + call->own_ns);
		/* Data is made outside of a graph, and before it. */
		if (open.first == STRETCH_NONE || begins || change_is_loading(c, call)) {
			open.first = i;
			open_segment(c, call, scope->model, begins);
		} else {
			join_segment(call);
		}
		for (uint32_t k = call->op; k != STRETCH_NONE; k = s->op[k].next)
			make_node(c, &s->op[k], open.first == i && k == call->op);
	}
}

/* Are most operations nodes already? Then there is nothing to win. */
static bool in_use(const struct stretch *s)
{
	size_t nodes = 0;

	for (size_t i = 0; i < s->op_count; i++)
		nodes += s->op[i].node;
	return nodes * 2 > s->op_count;
}

/*
 * All launches between two things that capture refuses (waits, pageable copies, allocations,
 * module loads) become one graph. What the host did between them is gone, at worst all but the
 * longest time of each step, which may be the loop's own work.
 */
static void graphs(struct change *c, bool model)
{
	uint32_t *step = steps_of_calls(c->stretch);
	uint32_t *loop = step ? loop_calls(c, step, c->stretch->mark_count) : NULL;

	if (loop)
		capture(c, &(struct scope){model, step, loop});
	free(step);
	free(loop);
}

void change_graphs(struct change *c)
{
	if (!in_use(c->stretch))
		graphs(c, false);
}

/* torch.compile(mode="reduce-overhead"): the compiled model is captured, the optimizer is not. */
void change_reduce(struct change *c)
{
	if (in_use(c->stretch) || !c->scene->python || c->scene->compiled)
		return;
	change_compile(c);
	graphs(c, true);
}
