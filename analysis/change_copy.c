/* Copies from pinned memory, and data that is there when it is needed. */
#include <math.h>

#include "change.h"
#include "shim/trace/rows.h"

/* Measured on an H200 over PCIe 5 x16: 55 GB/s (samples/h200/calibrate.txt); PCIe 4 gives half. */
#define PINNED_BEST 55e9
#define PINNED_LIKELY 53e9
#define PINNED_WORST 24e9
/* One core copies into pinned memory at about this rate, if the data is not made there. */
#define STAGING 8e9
/* A cudaMemcpyAsync from pinned memory. */
#define COPY_CALL_BEST_NS 2000.0
#define COPY_CALL_NS 5000.0

/* Small ones are driven by launching, and the pageable path stages them in the command itself. */
#define BYTES_LEAST 65536

static bool pageable(const struct stretch_op *op)
{
	return op->is_copy && op->bytes >= BYTES_LEAST &&
	       (op->source_kind == BST_ENUM_MEMORY_KIND_PAGEABLE ||
		op->target_kind == BST_ENUM_MEMORY_KIND_PAGEABLE);
}

static double rate(const struct change *c, const struct stretch_op *op)
{
	enum ceiling ceiling = op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST
				       ? CEILING_D2H_PINNED
				       : CEILING_H2D_PINNED;
	const struct measure *known = &c->scene->device->ceilings.of[ceiling].measure;

	if (known->known && known->low > 0)
		return change_pick(c, known->high, known->value, known->low);
	return change_pick(c, PINNED_BEST, PINNED_LIKELY, PINNED_WORST);
}

static double staging_ns(const struct stretch_op *op)
{
	return op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST
		       ? 0
		       : (double)op->bytes * 1e9 / STAGING;
}

/* Nothing of the stream waits for it any more: it was issued ahead, on a stream of its own. */
static void bypass(struct stretch *s, uint32_t op)
{
	for (uint32_t i = op + 1; i < s->op_count && i < op + 64; i++)
		if (s->op[i].pred == op)
			s->op[i].pred = s->op[op].pred;
}

/*
 * The call behind an upload that waits for it: PyTorch's .to() without non_blocking=True makes one, and
 * with it does not.
 */
static void drop_wait_behind(struct change *c, uint32_t upload)
{
	struct stretch *s = c->stretch;

	for (uint32_t i = upload + 1; i < s->call_count && i < upload + 64; i++) {
		struct stretch_call *call = &s->call[i];

		if (call->before != upload)
			continue;
		if (call->op != STRETCH_NONE || !call->wait_count)
			return;
		change_name_call(c, call);
		change_unwait(call);
		change_limit_call(call, 0, call->host_ns);
		return;
	}
}

/*
 * Uploads no longer hold their caller and run at the link's rate; at best beside the kernels (the
 * next batch on a second stream), at worst from a buffer that the caller fills first. Downloads
 * become as fast; a wait behind one stays, an asynchronous call itself no longer waits.
 */
void change_pinned(struct change *c)
{
	struct stretch *s = c->stretch;

	for (uint32_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];
		struct stretch_call *call;
		double time = (double)op->bytes * 1e9 / rate(c, op);

		if (!pageable(op) || op->call == STRETCH_NONE || op->node)
			continue;
		change_touch(c, op);
		call = &s->call[op->call];
		change_name_call(c, call);
		op->duration_ns = fmin(op->duration_ns, time);
		/* What must be there at the call's return is waited for. */
		if (op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST && call->blocking)
			continue;
		change_unwait(call);
		change_limit_call(call,
				  change_pick(c, COPY_CALL_BEST_NS, COPY_CALL_NS,
					      COPY_CALL_NS + staging_ns(op)),
				  call->host_ns);
		c->rewired = true;
		op->inside = false;
		op->launch_ns = fmin(op->launch_ns, s->latency_ns);
		if (op->copy_kind == BST_ENUM_COPY_KIND_DEVICE_TO_HOST)
			continue;
		if (c->bound != BOUND_WORST)
			drop_wait_behind(c, op->call);
		if (c->bound == BOUND_BEST)
			bypass(s, i);
	}
}

#define LOADING_LEAST_NS 200000.0
#define LOADING_SHARE 0.05

bool change_is_loading(const struct change *c, const struct stretch_call *call)
{
	const struct stretch_op *op = call->op == STRETCH_NONE ? NULL : &c->stretch->op[call->op];

	return op && op->is_copy && op->copy_kind == BST_ENUM_COPY_KIND_HOST_TO_DEVICE &&
	       call->host_ns >=
		       fmax(LOADING_LEAST_NS, LOADING_SHARE * c->scene->device->whatif.base_ns);
}

/*
 * With workers that keep up, what is left is taking a batch from their queue, while a thread that
 * pins it wants the interpreter too: in units of an eager operation. On an H200 8 workers left some
 * 0.8 of 15.3 ms beside all else (samples/whatif/h200/whatif.txt).
 */
#define QUEUE_BEST 2.0
#define QUEUE_LIKELY 10.0
#define QUEUE_WORST 25.0
#define QUEUE_WORST_SHARE 0.3 /* workers that do not keep up */

void change_prefetch(struct change *c)
{
	struct stretch *s = c->stretch;
	double unit = c->scene->unit_ns;

	for (uint32_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];
		struct stretch_call *call = op->call == STRETCH_NONE ? NULL : &s->call[op->call];

		if (!call || !change_is_loading(c, call))
			continue;
		c->touched++;
		c->touched_ns += call->host_ns;
		change_name_call(c, call);
		change_limit_call(
			call, call->own_ns,
			change_pick(c, QUEUE_BEST * unit, QUEUE_LIKELY * unit,
				    fmax(QUEUE_WORST * unit, QUEUE_WORST_SHARE * call->host_ns)));
	}
}
