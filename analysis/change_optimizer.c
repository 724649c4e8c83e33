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
#define KERNELS_MOST 1024 /* looked at: those with most time come first */

/* Kinds of the optimizer's kernels: each is a pass over all parameters. */
static unsigned passes(const struct change *c)
{
	const struct device_report *device = c->scene->device;
	unsigned n = 0;

	for (size_t i = 0; i < device->kernel_count && i < KERNELS_MOST && n < PASSES_MOST; i++) {
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

/* --- many passes over lists of tensors --- */

/*
 * All passes over the parameters become one: launches shrink by their number, at worst to a half.
 * Traffic: a pass reads and writes 8 to 16 bytes a parameter, fused AdamW 28 in all, so with p
 * passes about 2.5 p to 1.
 */
static void fuse_passes(struct change *c, unsigned p)
{
	struct stretch *s = c->stretch;
	double keep = change_pick(c, fmax(1.5 / p, 0.15), fmax(2.5 / p, 0.25), fmax(4.0 / p, 0.5));
	unsigned each = (unsigned)change_pick(c, p, p, 2);
	size_t seen = 0;

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

/* --- tensor after tensor --- */

/*
 * Without lists (foreach=False) the optimizer launches the same few kernels for each tensor: a run of
 * pointwise kernels, many more than there are kinds of them. On lists each kind is one launch for
 * about 30 tensors or more; a kernel on a small tensor is mostly its own start.
 */
#define RUN_LEAST 16
#define RUN_KINDS 8
#define RUN_REPEATS 4
#define LIST_BEST 0.3
#define LIST_LIKELY 0.6
#define LIST_WORST 1.0
#define LIST_TENSORS 30
#define LIST_HOST_BEST 0.5 /* of an eager operation: one call for all lists */
#define SMALL_NS 50000.0   /* on a larger tensor launching is not what takes the time */

struct run {
	uint32_t begin, end; /* operations */
	const char *kind[RUN_KINDS];
	unsigned kinds;
	bool many; /* kinds than can be told apart */
};

static bool pointwise(const struct kernel_report *kernel)
{
	return change_category(kernel, "elementwise") || change_category(kernel, "copy");
}

static void note_kind(struct run *run, const struct kernel_report *kernel)
{
	for (unsigned i = 0; i < run->kinds; i++)
		if (!strcmp(run->kind[i], kernel->name))
			return;
	if (run->kinds == RUN_KINDS)
		run->many = true;
	else
		run->kind[run->kinds++] = kernel->name;
}

static void list_run(struct change *c, const struct run *run)
{
	struct stretch *s = c->stretch;
	uint32_t length = run->end - run->begin;
	uint32_t launches;

	if (length < RUN_LEAST || run->many || length < RUN_REPEATS * run->kinds)
		return;
	launches = run->kinds * (1 + length / run->kinds / LIST_TENSORS);
	for (uint32_t i = run->begin; i < run->end; i++) {
		struct stretch_op *op = &s->op[i];

		change_touch(c, op);
		op->duration_ns *= change_pick(c, LIST_BEST, LIST_LIKELY, LIST_WORST);
		if (op->call == STRETCH_NONE)
			continue;
		if (i - run->begin < launches) {
			change_limit_call(&s->call[op->call], s->call[op->call].own_ns,
					  change_pick(c, LIST_HOST_BEST * c->scene->unit_ns,
						      INFINITY, INFINITY));
			continue;
		}
		change_limit_call(&s->call[op->call], 0,
				  change_pick(c, 0, FUSED_HOST_BEST_NS / 5, FUSED_HOST_BEST_NS));
		op->pred_ns = 0;
	}
}

static void list_tensors(struct change *c)
{
	struct stretch *s = c->stretch;
	struct change_steps steps = {.stretch = s};
	struct run run = {0};

	for (uint32_t i = 0; i < s->op_count; i++) {
		const struct stretch_op *op = &s->op[i];
		const struct kernel_report *kernel = change_kernel(c, op);
		bool fits = pointwise(kernel) && !op->node && op->duration_ns < SMALL_NS;

		if (!fits || s->mark[change_step_of_op(&steps, i)] == i) {
			list_run(c, &run);
			run = (struct run){.begin = fits ? i : i + 1, .end = fits ? i : i + 1};
		}
		if (fits) {
			run.end = i + 1;
			note_kind(&run, kernel);
		}
	}
	list_run(c, &run);
}

void change_optimizer(struct change *c)
{
	const struct stretch *s = c->stretch;
	size_t steps = s->mark_count > 1 ? s->mark_count - 1 : 1, seen = 0;
	unsigned p = passes(c);

	for (size_t i = 0; i < s->op_count; i++)
		seen += change_category(change_kernel(c, &s->op[i]), "optimizer");
	if (fused_already(c))
		return;
	if (p >= 2 && seen >= LAUNCHES_LEAST * steps)
		fuse_passes(c, p);
	else if (c->scene->python && !p)
		list_tensors(c);
}
