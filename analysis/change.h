/* One change to a stretch of steps. */
#ifndef CHANGE_H
#define CHANGE_H

#include "report.h"
#include "stretch.h"

/* How much the change does where that is not certain. */
enum bound {
	BOUND_BEST,
	BOUND_LIKELY,
	BOUND_WORST,
	BOUND_COUNT
};

/* What a change knows of the program. */
struct scene {
	const struct device_report *device;
	const uint32_t *kernel; /* by signature: index of device->kernels; UINT32_MAX = none */
	size_t signatures;
	bool python;   /* PyTorch's kernels were seen */
	bool compiled; /* Inductor's were */
	bool training; /* kernels of a backward pass or an optimizer were seen */
	/* Host time of one launch of the stretch, with the call: the median. What an eager operation
	 * costs on this CPU; costs of Python are given in such units, as CPUs differ. */
	double unit_ns;
};

#define CHANGE_APIS 8

/* A change in the making: `stretch` is a copy to be changed. */
struct change {
	const struct scene *scene;
	struct stretch *stretch;
	enum bound bound;
	size_t touched; /* calls or operations */
	double touched_ns;
	double *kernel_ns; /* by index of device->kernels: time of operations that are concerned */
	struct change_api {
		uint16_t api;
		double ns;
	} api[CHANGE_APIS]; /* whose calls are concerned; more are not told */
	bool rewired;       /* something waits for what it did not wait for: to be sorted again */
	double items; /* work of a step after it, over that before: 1 but for larger batches */
};

/* The kernel that an operation is; NULL for copies and where the report has none. */
static inline const struct kernel_report *change_kernel(const struct change *c,
							const struct stretch_op *op)
{
	uint32_t k = !op->is_copy && op->signature < c->scene->signatures
			     ? c->scene->kernel[op->signature]
			     : UINT32_MAX;

	return k == UINT32_MAX ? NULL : &c->scene->device->kernels[k];
}

/* The one of three values that goes with the bound. */
static inline double change_pick(const struct change *c, double best, double likely, double worst)
{
	return c->bound == BOUND_BEST ? best : c->bound == BOUND_LIKELY ? likely : worst;
}

/* Counts an operation, or a call, as concerned. */
void change_touch(struct change *c, const struct stretch_op *op);
void change_touch_call(struct change *c, const struct stretch_call *call);
/* Time that the operation costs, for the list of kernels that the change is about. */
void change_blame(struct change *c, const struct stretch_op *op, double ns);
/* Names the API of a call, without counting it. */
void change_name_call(struct change *c, const struct stretch_call *call);

bool change_category(const struct kernel_report *kernel, const char *category);

/*
 * The host worked for at least 0.2 ms and 5 % of a step before it called this upload: on data, most
 * likely.
 */
bool change_is_loading(const struct change *c, const struct stretch_call *call);

/* Takes an operation and its call out: nothing waits for it any longer than for the one before. */
void change_remove_op(struct change *c, struct stretch_op *op);
/* A call takes no more than this, with the host's time before it. */
void change_limit_call(struct stretch_call *call, double own_ns, double host_ns);
/* A call waits no more. */
void change_unwait(struct stretch_call *call);

/* Step in which a call or an operation lies, by the marks; the first has number 0. */
struct change_steps {
	const struct stretch *stretch;
	size_t at;
};
size_t change_step_of_op(struct change_steps *steps, uint32_t op);

/* Each leaves the stretch as it is, `touched` 0, where it has nothing to change. */
void change_tf32(struct change *c);
void change_bf16(struct change *c);
void change_fuse(struct change *c);
void change_optimizer(struct change *c);
void change_pinned(struct change *c);
void change_prefetch(struct change *c);
void change_sync(struct change *c);
void change_alloc(struct change *c);
void change_overlap(struct change *c);
void change_compile(struct change *c);
void change_reduce(struct change *c);
void change_graphs(struct change *c);
void change_batch(struct change *c);

#endif
