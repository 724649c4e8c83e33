/* Chains of simple kernels become one, by hand or by a compiler. */
#include <math.h>
#include <string.h>

#include "change.h"
#include "shim/trace/rows.h"

/*
 * Two kernels in a chain: the first writes what the second reads. Of equal size and with one operand
 * each, that is half of the traffic of both, so the shorter one's time is saved; with two operands
 * two thirds of it. What does not fit stays. Measured on an H200: 4 kernels of 48 us, (cos(cos(x)) +
 * 1).relu(), became one of 39 us (DESIGN section 2).
 */
#define JUNCTION_BEST 1.0
#define JUNCTION_LIKELY 0.65
#define JUNCTION_WORST 0.3
/* Of the same size and duration: one operand each. */
#define ALIKE 0.15 /* by which they may differ */
#define ALIKE_LIKELY 1.0
#define ALIKE_WORST 0.7
/* What is generated for the chain may come nearer to the memory's rate than what it replaces: 39 us
 * in place of 4 x 48 us. */
#define GENERATED_BEST 0.8

/* What an eager operation of a framework costs the host beside its launch; more has another reason. */
#define EAGER_LIKELY_NS 15000.0

/*
 * What torch.compile makes of a model, in units of an eager operation on the same CPU. A launch by
 * generated code, with its Python wrapper: of BERT in training 640 launches with 39 us of host time
 * each took the place of 860 with 38 us, of a small MLP 26 with 1.3 times the time took that of 28
 * (H200, PyTorch 2.11). Set so that the pairs of samples/whatif/h200/whatif.txt come out.
 */
#define COMPILED_BEST 0.6
#define COMPILED_LIKELY 0.9
#define COMPILED_WORST 1.15
/* Without gradients an eager operation is quicker, generated code is not. */
#define COMPILED_INFERENCE 1.15
/* Guards and wrappers, once a step; in training with an autograd function. Set by the same pairs. */
#define TRAINING_BEST 12.0
#define TRAINING_LIKELY 24.0
#define TRAINING_WORST 36.0
#define INFERENCE_BEST 5.0
#define INFERENCE_LIKELY 14.0
#define INFERENCE_WORST 28.0
/* What is generated for a chain that goes on over a reduction: of neighbours, the shorter takes at
 * least this part of the other's time, else they work on different tensors. */
#define COMPILED_RATIO 0.5

static bool one_of(const struct kernel_report *kernel, const char *const *categories)
{
	for (; kernel && *categories; categories++)
		if (change_category(kernel, *categories))
			return true;
	return false;
}

static bool pointwise(const struct kernel_report *kernel)
{
	static const char *const categories[] = {"elementwise", "copy", "random", "quantize", NULL};

	return one_of(kernel, categories);
}

/* What Inductor fuses with pointwise kernels before and behind it. */
static bool fusible(const struct kernel_report *kernel)
{
	static const char *const categories[] = {"norm", "softmax", "reduce", NULL};

	return pointwise(kernel) || one_of(kernel, categories);
}

/* Do both move as much, so that one most likely reads what the other wrote and nothing else? */
static bool alike(const struct change *c, const struct stretch_op *a, const struct stretch_op *b)
{
	const struct kernel_report *x = change_kernel(c, a), *y = change_kernel(c, b);

	return x && y && !memcmp(x->grid, y->grid, sizeof(x->grid)) &&
	       fabs(x->mean_ns - y->mean_ns) <= ALIKE * fmax(x->mean_ns, y->mean_ns);
}

/* Adds `op` to the chain that ends with `last`: it vanishes, the chain's first kernel does its
 * work. */
static void swallow(struct change *c, struct stretch_op *head, const struct stretch_op *last,
		    struct stretch_op *op, double shorter)
{
	struct stretch_call *call = op->call == STRETCH_NONE ? NULL : &c->stretch->call[op->call];
	double host = call ? call->host_ns : 0;
	bool same = alike(c, last, op);
	double saved = same ? change_pick(c, JUNCTION_BEST, ALIKE_LIKELY, ALIKE_WORST)
			    : change_pick(c, JUNCTION_BEST, JUNCTION_LIKELY, JUNCTION_WORST);

	change_touch(c, op);
	/* Neighbours need not be a chain: at worst every other pair is none. */
	if (c->bound == BOUND_WORST && !same && c->touched % 2)
		return;
	if (head == last && c->bound == BOUND_BEST)
		head->duration_ns *= GENERATED_BEST;
	head->duration_ns += fmax(op->duration_ns - saved * shorter, 0);
	change_remove_op(c, op);
	if (call)
		call->host_ns = fmax(host - change_pick(c, host, EAGER_LIKELY_NS, 0), 0);
}

static void fuse(struct change *c, bool (*fits)(const struct kernel_report *), double ratio)
{
	struct stretch *s = c->stretch;
	struct change_steps steps = {.stretch = s};
	struct stretch_op *head = NULL;
	uint32_t last = STRETCH_NONE;
	size_t step = 0, now;
	double before = 0;

	for (uint32_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];

		now = change_step_of_op(&steps, i);
		if (!fits(change_kernel(c, op)) || op->node) {
			if (last != STRETCH_NONE && op->stream == s->op[last].stream)
				last = STRETCH_NONE;
			continue;
		}
		if (last != STRETCH_NONE && op->pred == last && now == step &&
		    fmin(before, op->duration_ns) >= ratio * fmax(before, op->duration_ns)) {
			double own = op->duration_ns;

			swallow(c, head, &s->op[last], op, fmin(before, own));
			if (op->duration_ns > 0)
				head = op;
			before = own;
		} else {
			head = op;
			before = op->duration_ns;
		}
		last = i;
		step = now;
	}
}

void change_fuse(struct change *c)
{
	fuse(c, pointwise, 0);
}

/* Calls of the model: launches, but for the optimizer's. */
static bool of_model(const struct change *c, const struct stretch_call *call)
{
	return call->klass == BST_ENUM_CLASS_LAUNCH && call->op != STRETCH_NONE &&
	       !change_category(change_kernel(c, &c->stretch->op[call->op]), "optimizer");
}

static double entry_ns(const struct change *c)
{
	double units = c->scene->training
			       ? change_pick(c, TRAINING_BEST, TRAINING_LIKELY, TRAINING_WORST)
			       : change_pick(c, INFERENCE_BEST, INFERENCE_LIKELY, INFERENCE_WORST);

	return units * c->scene->unit_ns;
}

/*
 * torch.compile: pointwise, normalisation and reduction kernels fused, and generated code in place of
 * the framework's between launches. The optimizer and what comes before the model's first launch stay
 * as they are.
 */
void change_compile(struct change *c)
{
	struct stretch *s = c->stretch;
	struct change_steps steps = {.stretch = s};
	size_t step = SIZE_MAX;
	double unit = c->scene->unit_ns;
	double each = change_pick(c, COMPILED_BEST, COMPILED_LIKELY, COMPILED_WORST) * unit *
		      (c->scene->training ? 1 : COMPILED_INFERENCE);

	if (!c->scene->python || c->scene->compiled)
		return;
	for (size_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];
		size_t now;

		if (!of_model(c, call))
			continue;
		now = change_step_of_op(&steps, call->op);
		c->touched++;
		change_blame(c, &s->op[call->op], call->host_ns + call->own_ns);
		if (now == step)
			call->host_ns = fmax(each - call->own_ns, 0);
		else
			call->host_ns += entry_ns(c);
		step = now;
	}
	fuse(c, fusible, COMPILED_RATIO);
}
