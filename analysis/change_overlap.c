/* Collectives beside other kernels. */
#include <math.h>

#include "change.h"

/* Kernels beside a collective, which takes SMs and bandwidth from them. */
#define CONTENTION_LIKELY 1.1
#define CONTENTION_WORST 1.3

static bool collective(const struct change *c, const struct stretch_op *op)
{
	return change_category(change_kernel(c, op), "collective");
}

/* The last operation before `op` in its chain that is no collective. */
static uint32_t past_collectives(const struct change *c, uint32_t op)
{
	while (op != STRETCH_NONE && collective(c, &c->stretch->op[op]))
		op = c->stretch->op[op].pred;
	return op;
}

/*
 * What follows a collective no longer waits for it, but for the optimizer and the next step; kernels
 * that lose their wait run more slowly beside it.
 */
void change_overlap(struct change *c)
{
	struct stretch *s = c->stretch;
	struct change_steps steps = {.stretch = s};

	c->rewired = true;
	for (uint32_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];
		size_t step = change_step_of_op(&steps, i);
		bool freed = false;

		if (collective(c, op)) {
			change_touch(c, op);
			continue;
		}
		if (change_category(change_kernel(c, op), "optimizer") || s->mark[step] == i)
			continue;
		if (op->pred != STRETCH_NONE && collective(c, &s->op[op->pred])) {
			op->pred = past_collectives(c, op->pred);
			freed = true;
		}
		for (unsigned k = 0; k < STRETCH_DEPS; k++)
			if (op->dep[k] != STRETCH_NONE && collective(c, &s->op[op->dep[k]])) {
				op->dep[k] = past_collectives(c, op->dep[k]);
				freed = true;
			}
		if (freed)
			op->duration_ns *= change_pick(c, 1, CONTENTION_LIKELY, CONTENTION_WORST);
	}
}
