/* An optimizer of few launches. */
#include <math.h>
#include <string.h>

#include "change.h"
#include "kernel_name.h"

/* The fused call: PyTorch's Python before and in it, once for each launch. */
#define FUSED_HOST_BEST_NS 5000.0
#define FUSED_HOST_LIKELY_NS 15000.0

#define LAUNCHES_LEAST 4 /* a step */
#define PASSES_MOST 64

/* Kinds of the optimizer's kernels: each is a pass over all parameters. */
static unsigned passes(const struct change *c)
{
	const struct device_report *device = c->scene->device;
	unsigned n = 0;

	for (size_t i = 0; i < device->kernel_count && n < PASSES_MOST; i++) {
		bool first = change_category(&device->kernels[i], "optimizer");

		for (size_t k = 0; k < i && first; k++)
			first = !change_category(&device->kernels[k], "optimizer") ||
				strcmp(device->kernels[k].name, device->kernels[i].name);
		n += first;
	}
	return n;
}

static bool fused_already(const struct change *c)
{
	const struct device_report *device = c->scene->device;

	for (size_t i = 0; i < device->kernel_count; i++)
		if (kernel_name_has(
			    device->kernels[i].name,
			    "FusedAdam|FusedSgd|FusedSGD|fused_adam|FusedOptimizer|FusedLAMB"))
			return true;
	return false;
}

/*
 * All passes over the parameters become one: launches shrink by their number, at worst to a half.
 * Traffic: a pass reads and writes 8 to 16 bytes a parameter, fused AdamW 28 in all, so with p
 * passes about 2.5 p to 1.
 */
void change_optimizer(struct change *c)
{
	struct stretch *s = c->stretch;
	unsigned p = passes(c);
	size_t steps = s->mark_count > 1 ? s->mark_count - 1 : 1, seen = 0;
	double keep = change_pick(c, fmax(1.5 / p, 0.15), fmax(2.5 / p, 0.25), fmax(4.0 / p, 0.5));
	unsigned each = p > 1 ? (unsigned)change_pick(c, p, p, 2) : 1;

	for (size_t i = 0; i < s->op_count; i++)
		seen += change_category(change_kernel(c, &s->op[i]), "optimizer");
	if (fused_already(c) || seen < LAUNCHES_LEAST * steps || p < 2)
		return;
	seen = 0;
	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];

		if (!change_category(change_kernel(c, op), "optimizer"))
			continue;
		change_touch(c, op);
		op->duration_ns *= fmin(keep, 1);
		if (seen++ % each == 0 || op->call == STRETCH_NONE)
			continue;
		change_limit_call(&s->call[op->call], 0,
				  change_pick(c, FUSED_HOST_BEST_NS / p, FUSED_HOST_LIKELY_NS / p,
					      s->call[op->call].host_ns));
		op->pred_ns = 0;
	}
}
