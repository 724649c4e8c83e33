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
 * A launch by code that torch.compile generated, with its Python wrapper: 3 to 20 us in place of an
 * eager operation's 10 to 30.
 */
#define COMPILED_BEST_NS 4000.0
#define COMPILED_LIKELY_NS 9000.0
#define COMPILED_WORST_NS 18000.0
/* Guards and the autograd function round the compiled part, once a step. */
#define ENTRY_BEST_NS 40000.0
#define ENTRY_LIKELY_NS 120000.0
#define ENTRY_WORST_NS 300000.0

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

/* Adds `op` to the chain that ends with `last`: it vanishes, the chain's first kernel does its
 * work. */
/* Do both move as much, so that one most likely reads what the other wrote and nothing else? */
static bool alike(const struct change *c, const struct stretch_op *a, const struct stretch_op *b)
{
	const struct kernel_report *x = change_kernel(c, a), *y = change_kernel(c, b);

	return x && y && !memcmp(x->grid, y->grid, sizeof(x->grid)) &&
	       fabs(x->mean_ns - y->mean_ns) <= ALIKE * fmax(x->mean_ns, y->mean_ns);
}

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

static void fuse(struct change *c, bool (*fits)(const struct kernel_report *))
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
		if (last != STRETCH_NONE && op->pred == last && now == step) {
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
	fuse(c, pointwise);
}

/* Calls of the model: launches, but for the optimizer's. */
static bool of_model(const struct change *c, const struct stretch_call *call)
{
	return call->klass == BST_ENUM_CLASS_LAUNCH && call->op != STRETCH_NONE &&
	       !change_category(change_kernel(c, &c->stretch->op[call->op]), "optimizer");
}

/*
 * torch.compile: pointwise, normalisation and reduction kernels fused, and generated code in place of
 * the framework's between launches. The optimizer stays as it is.
 */
void change_compile(struct change *c)
{
	struct stretch *s = c->stretch;
	struct change_steps steps = {.stretch = s};
	size_t step = SIZE_MAX;
	double each = change_pick(c, COMPILED_BEST_NS, COMPILED_LIKELY_NS, COMPILED_WORST_NS);

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
		call->own_ns = fmin(call->own_ns, each / 2);
		if (now != step)
			call->host_ns =
				fmin(call->host_ns, change_pick(c, ENTRY_BEST_NS, ENTRY_LIKELY_NS,
								ENTRY_WORST_NS));
		else
			call->host_ns = fmin(call->host_ns, each / 2);
		step = now;
	}
	fuse(c, fusible);
}
