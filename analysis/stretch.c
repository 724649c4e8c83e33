/* The longest path through calls and operations. */
#include "stretch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of the graph: the begin and the end of each call, then the operations. */
static uint32_t begin_node(uint32_t call)
{
	return 2 * call;
}

static uint32_t end_node(uint32_t call)
{
	return 2 * call + 1;
}

static uint32_t op_node(const struct stretch *s, uint32_t op)
{
	return op == STRETCH_NONE ? STRETCH_NONE : (uint32_t)(2 * s->call_count) + op;
}

void stretch_fini(struct stretch *s)
{
	free(s->waits);
	free(s->order);
	free(s->mark);
	stretch_drop(s);
}

void stretch_drop(struct stretch *s)
{
	free(s->call);
	free(s->op);
	memset(s, 0, sizeof(*s));
}

int stretch_copy(const struct stretch *from, struct stretch *to)
{
	*to = *from;
	to->call = malloc((from->call_count + 1) * sizeof(*to->call));
	to->op = malloc((from->op_count + 1) * sizeof(*to->op));
	if (!to->call || !to->op) {
		stretch_drop(to);
		return -1;
	}
	memcpy(to->call, from->call, from->call_count * sizeof(*to->call));
	memcpy(to->op, from->op, from->op_count * sizeof(*to->op));
	return 0;
}

/* --- order --- */

static uint32_t end_dependency(const struct stretch *s, const struct stretch_call *c,
			       uint32_t begin, uint32_t k)
{
	if (k == 0)
		return begin;
	if (k == 1)
		return op_node(s, c->room);
	return op_node(s, s->waits[c->wait + k - 2]);
}

static uint32_t op_dependency(const struct stretch *s, const struct stretch_op *op, uint32_t k)
{
	if (k == 0 && op->call == STRETCH_NONE)
		return STRETCH_NONE;
	if (k == 0)
		return op->inside ? begin_node(op->call) : end_node(op->call);
	return op_node(s, k == 1 ? op->pred : op->dep[k - 2]);
}

static uint32_t dependencies(const struct stretch *s, uint32_t node)
{
	if (node >= 2 * s->call_count)
		return 2 + STRETCH_DEPS;
	return node % 2 ? 2 + s->call[node / 2].wait_count : 1;
}

/* The k-th node that `node` waits for; NONE = nothing there. */
static uint32_t dependency(const struct stretch *s, uint32_t node, uint32_t k)
{
	const struct stretch_call *c;

	if (node >= 2 * s->call_count)
		return op_dependency(s, &s->op[node - 2 * s->call_count], k);
	c = &s->call[node / 2];
	if (node % 2)
		return end_dependency(s, c, node - 1, k);
	return c->before == STRETCH_NONE ? STRETCH_NONE : end_node(c->before);
}

static void cut(struct stretch *s, uint32_t node, uint32_t k)
{
	struct stretch_call *c;
	struct stretch_op *op;

	if (node >= 2 * s->call_count) {
		op = &s->op[node - 2 * s->call_count];
		if (k == 0)
			op->call = STRETCH_NONE;
		else if (k == 1)
			op->pred = STRETCH_NONE;
		else
			op->dep[k - 2] = STRETCH_NONE;
		return;
	}
	c = &s->call[node / 2];
	if (node % 2 == 0)
		c->before = STRETCH_NONE;
	else if (k == 1)
		c->room = STRETCH_NONE;
	else
		s->waits[c->wait + k - 2] = STRETCH_NONE;
}

struct visit {
	uint32_t node, next;
};

enum visit_state {
	VISIT_NEW,
	VISIT_OPEN,
	VISIT_DONE,
};

/* Depth first: a node goes into the order behind all that it waits for. */
static void visit_from(struct stretch *s, uint8_t *state, struct visit *stack, uint32_t root)
{
	size_t depth = 0;

	if (state[root] == VISIT_NEW)
		stack[depth++] = (struct visit){root, 0};
	while (depth) {
		struct visit *top = &stack[depth - 1];
		uint32_t k = top->next++, node;

		state[top->node] = VISIT_OPEN;
		if (k == dependencies(s, top->node)) {
			state[top->node] = VISIT_DONE;
			s->order[s->order_count++] = top->node;
			depth--;
			continue;
		}
		node = dependency(s, top->node, k);
		if (node == STRETCH_NONE || state[node] == VISIT_DONE)
			continue;
		if (state[node] == VISIT_OPEN)
			cut(s, top->node, k);
		else
			stack[depth++] = (struct visit){node, 0};
	}
}

int stretch_sort(struct stretch *s)
{
	size_t nodes = 2 * s->call_count + s->op_count;
	uint8_t *state = calloc(nodes + 1, sizeof(*state));
	struct visit *stack = malloc((nodes + 1) * sizeof(*stack));

	s->order = malloc((nodes + 1) * sizeof(*s->order));
	s->order_count = 0;
	for (uint32_t node = 0; state && stack && s->order && node < nodes; node++)
		visit_from(s, state, stack, node);
	free(state);
	free(stack);
	return s->order_count == nodes ? 0 : -1;
}

/* --- playing --- */

int stretch_times_init(const struct stretch *s, struct stretch_times *t)
{
	t->begin_ns = calloc(s->call_count + 1, sizeof(double));
	t->end_ns = calloc(s->call_count + 1, sizeof(double));
	t->start_ns = calloc(s->op_count + 1, sizeof(double));
	if (t->begin_ns && t->end_ns && t->start_ns)
		return 0;
	stretch_times_fini(t);
	return -1;
}

void stretch_times_fini(struct stretch_times *t)
{
	free(t->begin_ns);
	free(t->end_ns);
	free(t->start_ns);
	memset(t, 0, sizeof(*t));
}

static double end_of(const struct stretch *s, const struct stretch_times *t, uint32_t op)
{
	return t->start_ns[op] + s->op[op].duration_ns;
}

static double call_end(const struct stretch *s, const struct stretch_times *t, uint32_t call)
{
	const struct stretch_call *c = &s->call[call];
	double end = t->begin_ns[call];

	if (c->room != STRETCH_NONE)
		end = fmax(end, t->start_ns[c->room]);
	end += c->own_ns;
	for (uint32_t k = 0; k < c->wait_count; k++) {
		uint32_t op = s->waits[c->wait + k];

		if (op != STRETCH_NONE)
			end = fmax(end, end_of(s, t, op) + c->wake_ns);
	}
	return end;
}

static double op_start(const struct stretch *s, const struct stretch_times *t,
		       const struct stretch_op *op)
{
	double start = op->launch_ns;

	if (op->call != STRETCH_NONE)
		start += op->inside ? t->begin_ns[op->call] : t->end_ns[op->call];
	if (op->pred != STRETCH_NONE)
		start = fmax(start, end_of(s, t, op->pred) + op->pred_ns);
	for (unsigned i = 0; i < STRETCH_DEPS; i++)
		if (op->dep[i] != STRETCH_NONE)
			start = fmax(start, end_of(s, t, op->dep[i]) + op->dep_ns);
	return start;
}

void stretch_play(const struct stretch *s, struct stretch_times *t)
{
	for (size_t i = 0; i < s->order_count; i++) {
		uint32_t node = s->order[i], call = node / 2;
		const struct stretch_call *c;

		if (node >= 2 * s->call_count) {
			node -= (uint32_t)(2 * s->call_count);
			t->start_ns[node] = op_start(s, t, &s->op[node]);
			continue;
		}
		c = &s->call[call];
		if (node % 2)
			t->end_ns[call] = call_end(s, t, call);
		else
			t->begin_ns[call] =
				c->host_ns + (c->before == STRETCH_NONE ? 0 : t->end_ns[c->before]);
	}
}

static size_t first_mark(const struct stretch *s)
{
	size_t steps = s->mark_count ? s->mark_count - 1 : 0;

	return (steps + 3) / 4;
}

double stretch_step_ns(const struct stretch *s, const struct stretch_times *t)
{
	size_t first = first_mark(s);

	if (first + 2 > s->mark_count)
		return 0;
	return (t->start_ns[s->mark[s->mark_count - 1]] - t->start_ns[s->mark[first]]) /
	       (double)(s->mark_count - 1 - first);
}

double stretch_recorded_ns(const struct stretch *s)
{
	size_t first = first_mark(s);

	if (first + 2 > s->mark_count)
		return 0;
	return (double)(s->op[s->mark[s->mark_count - 1]].begin_ns -
			s->op[s->mark[first]].begin_ns) /
	       (double)(s->mark_count - 1 - first);
}
