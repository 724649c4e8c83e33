/* Waits and allocations taken out of the step. */
#include <math.h>

#include "change.h"
#include "shim/trace/rows.h"

/*
 * An asynchronous call in place of a wait or of a copy that its caller waited for: 1 to 10 us
 * (cudaMemcpyAsync to pinned memory, and PyTorch's own time for it).
 */
#define ASYNC_CALL_NS 10000.0

static bool waits(const struct stretch *s, const struct stretch_call *call)
{
	for (uint32_t k = 0; k < call->wait_count; k++)
		if (s->waits[call->wait + k] != STRETCH_NONE)
			return true;
	return false;
}

static bool to_host(const struct stretch_op *op)
{
	return op->is_copy && op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST;
}

/* Operations of a wait that is gone: what is issued behind it still comes after them. */
struct barrier {
	uint32_t wait, wait_count;
	uint64_t streams; /* that have not yet issued anything since, by bits */
};

static void obey(struct stretch *s, struct barrier *barrier, struct stretch_op *op)
{
	uint64_t bit = UINT64_C(1) << op->stream % 64;
	unsigned free = 0;

	if (!(barrier->streams & bit))
		return;
	barrier->streams &= ~bit;
	while (free < STRETCH_DEPS && op->dep[free] != STRETCH_NONE)
		free++;
	for (uint32_t k = 0; k < barrier->wait_count && free < STRETCH_DEPS; k++) {
		uint32_t other = s->waits[barrier->wait + k];

		if (other == STRETCH_NONE || s->op[other].stream == op->stream)
			continue;
		op->dep[free++] = other;
		op->dep_ns = fmin(op->dep_ns, s->gap_ns);
	}
}

/*
 * Waits and copies to the host (.item() is one of 4 or 8 bytes) no longer hold the thread. At best
 * they are gone; else what follows on other streams waits in their place, as for an event, and at
 * worst the copy stays, asynchronous.
 */
void change_sync(struct change *c)
{
	struct stretch *s = c->stretch;
	struct barrier barrier = {0};

	c->rewired = true;
	for (size_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];
		struct stretch_op *op = call->op == STRETCH_NONE ? NULL : &s->op[call->op];

		if (op && c->bound != BOUND_BEST)
			obey(s, &barrier, op);
		if (!waits(s, call) || call->klass == BST_ENUM_CLASS_FREE || (op && !to_host(op)))
			continue;
		change_touch_call(c, call);
		barrier = (struct barrier){call->wait, call->wait_count, UINT64_MAX};
		change_unwait(call);
		if (op && c->bound == BOUND_BEST)
			change_remove_op(c, op);
		change_limit_call(
			call,
			op ? change_pick(c, 0, ASYNC_CALL_NS / 2, ASYNC_CALL_NS)
			   : change_pick(c, 0, 0, call->own_ns),
			/* the operation that asked for the value goes with it */
			fmax(call->host_ns - change_pick(c, op ? c->scene->unit_ns : 0, 0, 0), 0));
	}
}

/* Allocations and frees served from memory kept: at worst half of them. */
void change_alloc(struct change *c)
{
	struct stretch *s = c->stretch;

	for (size_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];

		if (call->klass != BST_ENUM_CLASS_ALLOC && call->klass != BST_ENUM_CLASS_FREE &&
		    call->klass != BST_ENUM_CLASS_MODULE)
			continue;
		change_touch_call(c, call);
		if (c->bound == BOUND_WORST && c->touched % 2)
			continue;
		change_unwait(call);
		change_limit_call(call, change_pick(c, 0, 500, 1000), call->host_ns);
	}
}
