/* Each change, three times. */
#include "whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "kernel_name.h"
#include "shim/trace/rows.h"

static const struct {
	const char *id, *title;
} names[] = {
#define CHANGE(NAME, name, words) [CHANGE_##NAME] = {name, words},
#include "changes.def"
#undef CHANGE
};

static void (*const apply[])(struct change *) = {
	[CHANGE_TF32] = change_tf32,       [CHANGE_BF16] = change_bf16,
	[CHANGE_FUSE] = change_fuse,       [CHANGE_OPTIMIZER] = change_optimizer,
	[CHANGE_PINNED] = change_pinned,   [CHANGE_PREFETCH] = change_prefetch,
	[CHANGE_SYNC] = change_sync,       [CHANGE_ALLOC] = change_alloc,
	[CHANGE_OVERLAP] = change_overlap, [CHANGE_COMPILE] = change_compile,
	[CHANGE_REDUCE] = change_reduce,   [CHANGE_GRAPHS] = change_graphs,
	[CHANGE_BATCH] = change_batch,
};

const char *change_id(enum change_kind kind)
{
	return names[kind].id;
}

const char *change_title(enum change_kind kind)
{
	return names[kind].title;
}

/* What is needed to play a stretch in several ways. */
struct stage {
	struct stretch base; /* without the cost of tracing */
	struct stretch_times times;
	struct scene scene;
	const struct vocabulary *vocabulary;
	double *kernel_ns;
	struct whatif *whatif;
};

/* --- the scene --- */

static uint32_t *index_kernels(const struct device_report *device, size_t signatures)
{
	uint32_t *index = malloc((signatures + 1) * sizeof(*index));

	if (!index)
		return NULL;
	memset(index, 0xff, (signatures + 1) * sizeof(*index));
	for (size_t i = 0; i < device->kernel_count; i++)
		if (device->kernels[i].signature < signatures)
			index[device->kernels[i].signature] = (uint32_t)i;
	return index;
}

static void look_at_names(struct scene *scene)
{
	for (size_t i = 0; i < scene->device->kernel_count; i++) {
		const char *name = scene->device->kernels[i].name;

		scene->compiled |= name && kernel_name_has(name, "^triton_");
		scene->python |=
			name && kernel_name_has(name, "at::native|c10::|^triton_|at_cuda_detail");
		scene->training |=
			name &&
			kernel_name_has(name,
					"backward|Backward|bprop|dgrad|wgrad|multi_tensor_apply");
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* See struct scene; 0 without launches or memory. */
static double unit_of(const struct stretch *s)
{
	double *ns = malloc((s->call_count + 1) * sizeof(*ns)), unit = 0;
	size_t count = 0;

	for (size_t i = 0; ns && i < s->call_count; i++)
		if (s->call[i].klass == BST_ENUM_CLASS_LAUNCH)
			ns[count++] = s->call[i].host_ns + s->call[i].own_ns;
	if (count) {
		qsort(ns, count, sizeof(*ns), by_value);
		unit = ns[count / 2];
	}
	free(ns);
	return unit;
}

/* --- own cost --- */

/* Takes our own time out: of a call first from inside, then from before it. */
static void remove_cost(struct stretch *s)
{
	for (size_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];
		double inside = fmin(call->cost_ns, 0.9 * call->own_ns);

		call->own_ns -= inside;
		call->host_ns -= fmin(call->cost_ns - inside, fmax(0.9 * call->host_ns, 0));
	}
	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];

		op->pred_ns -= fmin(op->cost_ns, fmax(op->pred_ns, 0));
		if (op->inside && op->call != STRETCH_NONE)
			op->launch_ns -= fmin(s->call[op->call].cost_ns, fmax(op->launch_ns, 0));
	}
}

static double play(struct stage *stage, const struct stretch *stretch)
{
	stretch_play(stretch, &stage->times);
	return stretch_step_ns(stretch, &stage->times);
}

/* --- changes --- */

/* The kernels with most time among those that are concerned. */
static void find_targets(const struct stage *stage, struct change_report *report)
{
	for (unsigned n = 0; n < ADVICE_TARGETS; n++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < stage->scene.device->kernel_count; i++)
			if (stage->kernel_ns[i] > 0 &&
			    (best == SIZE_MAX || stage->kernel_ns[i] > stage->kernel_ns[best]))
				best = i;
		if (best == SIZE_MAX)
			return;
		report->targets[report->target_count++] = best;
		stage->kernel_ns[best] = 0;
	}
}

/* Time of a step of a changed copy; 0 without memory. */
static double play_change(struct stage *stage, struct change *change)
{
	struct stretch *copy = change->stretch;
	double step = 0;

	if (!change->rewired)
		return play(stage, copy);
	if (stretch_sort(copy) == 0)
		step = play(stage, copy);
	free(copy->order);
	return step;
}

static const char *api_name(const struct vocabulary *v, uint16_t api)
{
	return v && api && api <= v->apis.count ? v->api[api - 1].name : NULL;
}

static int by_time(const void *a, const void *b)
{
	const struct change_api *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* The APIs with most time in calls that are concerned. */
static void find_calls(const struct stage *stage, struct change *change,
		       struct change_report *report)
{
	unsigned count = 0;

	qsort(change->api, CHANGE_APIS, sizeof(change->api[0]), by_time);
	for (unsigned i = 0; i < CHANGE_CALLS; i++) {
		const char *name = api_name(stage->vocabulary, change->api[i].api);

		free(report->calls[i]);
		report->calls[i] = NULL;
		if (name)
			report->calls[count++] = strdup(name);
	}
}

/* New time of a step; 0 where there is nothing to change or no memory. */
static double try(struct stage *stage, enum change_kind kind, enum bound bound,
		  struct change_report *report)
{
	struct stretch copy;
	struct change change = {.scene = &stage->scene,
				.stretch = &copy,
				.bound = bound,
				.kernel_ns = stage->kernel_ns,
				.items = 1};
	double steps = (double)stage->base.mark_count - 1, step;

	if (stretch_copy(&stage->base, &copy))
		return 0;
	memset(stage->kernel_ns, 0,
	       (stage->scene.device->kernel_count + 1) * sizeof(*stage->kernel_ns));
	apply[kind](&change);
	find_calls(stage, &change, report);
	step = change.touched ? play_change(stage, &change) / change.items : 0;
	stretch_drop(&copy);
	report->touched = (uint64_t)((double)change.touched / steps + 0.5);
	report->touched_ns = change.touched_ns / steps;
	return step;
}

static struct measure in_order(const double step[BOUND_COUNT], double error)
{
	double low = fmin(step[BOUND_BEST], fmin(step[BOUND_LIKELY], step[BOUND_WORST]));
	double high = fmax(step[BOUND_BEST], fmax(step[BOUND_LIKELY], step[BOUND_WORST]));
	double wider = error > WHATIF_ERROR_WIDE ? error : 0;

	return (struct measure){true, step[BOUND_LIKELY], low * (1 - wider), high * (1 + wider)};
}

static void fill_change(struct stage *stage, enum change_kind kind)
{
	struct change_report *report = &stage->whatif->change[kind];
	double step[BOUND_COUNT];

	for (unsigned bound = 0; bound < BOUND_COUNT; bound++) {
		step[bound] = try(stage, kind, (enum bound)bound, report);
		if (step[bound] <= 0)
			return;
	}
	report->known = true;
	report->step = in_order(step, stage->whatif->error);
	find_targets(stage, report);
}

bool whatif_worth(const struct whatif *w, enum change_kind kind)
{
	const struct change_report *change = &w->change[kind];

	return change->known && (change->step.value <= (1 - WHATIF_WORTH) * w->base_ns ||
				 (change->step.value < w->base_ns &&
				  change->step.low <= (1 - 2 * WHATIF_WORTH) * w->base_ns));
}

bool whatif_fuse_is_compiled(const struct whatif *w)
{
	return whatif_worth(w, CHANGE_COMPILE) &&
	       w->change[CHANGE_COMPILE].step.value <= w->change[CHANGE_FUSE].step.value;
}

/* Is it part of another change that is made too, or of another kind? */
static bool covered(const struct whatif *w, enum change_kind kind)
{
	switch (kind) {
	case CHANGE_TF32:
		return whatif_worth(w, CHANGE_BF16);
	case CHANGE_FUSE:
		return whatif_fuse_is_compiled(w);
	case CHANGE_REDUCE:
		return true;
	case CHANGE_BATCH:
		return true;
	default:
		return false;
	}
}

static double play_together(struct stage *stage, enum bound bound)
{
	struct stretch copy;
	struct change change = {
		.scene = &stage->scene, .stretch = &copy, .bound = bound, .items = 1};
	double step;

	if (stretch_copy(&stage->base, &copy))
		return 0;
	for (unsigned kind = 0; kind < CHANGE_COUNT; kind++)
		if (whatif_worth(stage->whatif, (enum change_kind)kind) &&
		    !covered(stage->whatif, (enum change_kind)kind))
			apply[kind](&change);
	step = play_change(stage, &change);
	stretch_drop(&copy);
	return step;
}

static void fill_together(struct stage *stage)
{
	double step[BOUND_COUNT];

	for (unsigned bound = 0; bound < BOUND_COUNT; bound++) {
		step[bound] = play_together(stage, (enum bound)bound);
		if (step[bound] <= 0)
			return;
	}
	stage->whatif->together = in_order(step, stage->whatif->error);
}

static void fill(struct stage *stage, const struct stretch *stretch)
{
	struct whatif *w = stage->whatif;

	w->steps = stretch->mark_count - 1;
	w->operations = stretch->op_count;
	w->recorded_ns = stretch_recorded_ns(stretch);
	w->replayed_ns = play(stage, stretch);
	if (w->recorded_ns <= 0 || w->replayed_ns <= 0) {
		w->reason = "the steps have no length";
		return;
	}
	w->error = fabs(w->replayed_ns - w->recorded_ns) / w->recorded_ns;
	remove_cost(&stage->base);
	stage->scene.unit_ns = unit_of(&stage->base);
	w->base_ns = play(stage, &stage->base);
	if (w->error > WHATIF_ERROR_MOST) {
		w->reason = "played unchanged, the steps do not take the time that they took";
		return;
	}
	w->known = true;
	for (unsigned kind = 0; kind < CHANGE_COUNT; kind++)
		fill_change(stage, (enum change_kind)kind);
	fill_together(stage);
}

void whatif_fill(const struct stretch *stretch, const struct vocabulary *vocabulary,
		 struct device_report *device)
{
	struct stage stage = {.whatif = &device->whatif, .vocabulary = vocabulary};
	size_t signatures = vocabulary->signature_count;
	uint32_t *index = index_kernels(device, signatures);

	stage.scene = (struct scene){.device = device, .kernel = index, .signatures = signatures};
	stage.kernel_ns = calloc(device->kernel_count + 1, sizeof(*stage.kernel_ns));
	look_at_names(&stage.scene);
	if (stretch_copy(stretch, &stage.base) == 0 &&
	    stretch_times_init(stretch, &stage.times) == 0 && index && stage.kernel_ns)
		fill(&stage, stretch);
	else
		device->whatif.reason = "out of memory";
	stretch_drop(&stage.base);
	stretch_times_fini(&stage.times);
	free(stage.kernel_ns);
	free(index);
}
