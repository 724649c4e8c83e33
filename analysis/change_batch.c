/* Twice as many items in a step. */
#include <math.h>

#include "change.h"

#define TIMES 2.0

/*
 * Blocks double. What does not fill the GPU takes as long as before until it does (waves of Nsight
 * Compute: blocks over those that fit at one time); what does takes twice as long. At best all
 * kernels do as their waves say, at worst only those grow for free that stay far from full.
 */
static double growth(const struct change *c, const struct kernel_report *kernel)
{
	double waves;

	if (!kernel)
		return TIMES;
	if (change_category(kernel, "optimizer"))
		return 1; /* parameters are as many */
	if (!kernel->waves.known)
		return change_pick(c, 1.5, 1.8, TIMES);
	waves = kernel->waves.value;
	return change_pick(c, fmin(TIMES, fmax(1, TIMES * waves)),
			   ceil(TIMES * waves - 1e-9) / fmax(ceil(waves - 1e-9), 1),
			   TIMES * waves <= 0.5 ? 1.15 : TIMES);
}

/* The host's own time hardly grows, but for work on the data. */
#define HOST_WORST 1.1

void change_batch(struct change *c)
{
	struct stretch *s = c->stretch;

	c->items = TIMES;
	for (size_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];

		call->host_ns *= change_is_loading(c, call) ? change_pick(c, 1, TIMES, TIMES)
							    : change_pick(c, 1, 1, HOST_WORST);
	}
	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];
		const struct kernel_report *kernel = change_kernel(c, op);

		if (kernel && kernel->verdict.leaf == LEAF_UNDERFILLED)
			change_touch(c, op);
		op->duration_ns *= growth(c, kernel);
	}
}
