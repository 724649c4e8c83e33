/* What the changes share. */
#include "change.h"

#include <math.h>
#include <string.h>

void change_blame(struct change *c, const struct stretch_op *op, double ns)
{
	const struct kernel_report *kernel = change_kernel(c, op);

	if (kernel && c->kernel_ns)
		c->kernel_ns[kernel - c->scene->device->kernels] += ns;
}

void change_touch(struct change *c, const struct stretch_op *op)
{
	c->touched++;
	c->touched_ns += op->duration_ns;
	change_blame(c, op, op->duration_ns);
}

void change_name_call(struct change *c, const struct stretch_call *call)
{
	unsigned i = 0;

	while (i < CHANGE_APIS && c->api[i].api && c->api[i].api != call->api)
		i++;
	if (i == CHANGE_APIS)
		return;
	c->api[i].api = call->api;
	c->api[i].ns += (double)(call->end_ns - call->begin_ns);
}

void change_touch_call(struct change *c, const struct stretch_call *call)
{
	c->touched++;
	c->touched_ns += (double)(call->end_ns - call->begin_ns);
	change_name_call(c, call);
}

bool change_category(const struct kernel_report *kernel, const char *category)
{
	return kernel && kernel->category && !strcmp(kernel->category, category);
}

void change_limit_call(struct stretch_call *call, double own_ns, double host_ns)
{
	call->own_ns = fmin(call->own_ns, own_ns);
	call->host_ns = fmin(call->host_ns, host_ns);
}

void change_remove_op(struct change *c, struct stretch_op *op)
{
	op->duration_ns = 0;
	op->launch_ns = fmin(op->launch_ns, 0);
	op->pred_ns = 0;
	op->dep_ns = 0;
	if (op->call != STRETCH_NONE)
		change_limit_call(&c->stretch->call[op->call], 0, 0);
}

void change_unwait(struct stretch_call *call)
{
	call->wait_count = 0;
	call->wake_ns = 0;
}

size_t change_step_of_op(struct change_steps *steps, uint32_t op)
{
	const struct stretch *s = steps->stretch;

	while (steps->at + 1 < s->mark_count && s->mark[steps->at + 1] <= op)
		steps->at++;
	return steps->at;
}
