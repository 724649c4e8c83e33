/*
 * Rules from figures to advice. Every estimate is an interval: its high end is what vanishes if the
 * change does all it can (the GPU cannot be faster than its busy time), its low end keeps whatever
 * the trace does not prove removable.
 */
#include "advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quantity.h"
#include "view.h"

#define WORTH 0.05 /* of the window: below, nobody should bother */

/*
 * The device's own gap between dependent kernels of a graph, per node: 36 us for 21 kernels of a
 * forward pass that run for about 1 us each (H200, CUDA 13.0, DESIGN section 2), so 0.3 to 1.5 us
 * with what tracing adds.
 */
#define GRAPH_NODE_LOW_NS 300.0
#define GRAPH_NODE_HIGH_NS 1500.0
#define GRAPH_LAUNCH_LOW_NS 2500.0   /* one launch of a straight graph (NVIDIA, CUDA 12.6) */
#define GRAPH_LAUNCH_HIGH_NS 10000.0 /* as PyTorch's documentation has it */

struct writer {
	struct device_report *device;
	const struct window *window;
	double unit_ns; /* time of what savings are given for: a step, or the window */
	double units;   /* of them in the window */
	bool python;    /* PyTorch's kernels were seen */
};

__attribute__((format(printf, 1, 2))) static char *words(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	va_end(args);
	return text;
}

static struct advice *append(struct writer *w, const char *id, const char *title)
{
	struct device_report *device = w->device;
	struct advice *list =
		realloc(device->advice, (device->advice_count + 1) * sizeof(*device->advice));

	if (!list) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	device->advice = list;
	list[device->advice_count] = (struct advice){.id = id, .title = title};
	return &list[device->advice_count++];
}

/* Time saved per unit, between low and high; the speed-up follows. */
static void estimate(const struct writer *w, struct advice *advice, double low_ns, double high_ns)
{
	double now = w->unit_ns;

	high_ns = fmin(high_ns, 0.99 * now);
	low_ns = fmin(fmax(low_ns, 0), high_ns);
	if (high_ns <= 0 || now <= 0)
		return;
	advice->saves_ns = (struct measure){true, (low_ns + high_ns) / 2, low_ns, high_ns};
	advice->speedup = (struct measure){true, now / (now - (low_ns + high_ns) / 2),
					   now / (now - low_ns), now / (now - high_ns)};
}

/* Time of a leaf per unit. */
static double leaf_ns(const struct writer *w, enum leaf leaf)
{
	return w->units > 0 ? (double)w->window->leaf_ns[leaf] / w->units : 0;
}

static bool named(const struct kernel_report *kernel, const char *const *parts)
{
	for (; *parts; parts++)
		if (kernel->name && strstr(kernel->name, *parts))
			return true;
	return false;
}

static bool in_category(const struct kernel_report *kernel, const char *const *categories)
{
	for (; *categories; categories++)
		if (kernel->category && !strcmp(kernel->category, *categories))
			return true;
	return false;
}

static void add_target(struct advice *advice, size_t kernel)
{
	if (advice->target_count < ADVICE_TARGETS)
		advice->targets[advice->target_count++] = kernel;
}

/* Share of the launches that came from graphs already. */
static double graph_share(const struct device_report *device)
{
	uint64_t launches = 0, graph = 0;

	for (size_t i = 0; i < device->kernel_count; i++) {
		launches += device->kernels[i].launches;
		graph += device->kernels[i].graph_launches;
	}
	return launches ? (double)graph / (double)launches : 0;
}

/*
 * The part of `removable` that is there in a typical step, in many small pieces: the sum of the
 * median gaps before each kernel, less the largest of them, which may be data loading or the loop's
 * own work. What only some steps have, and what stands before copies, does not count. Without
 * medians, all but the longest gaps seen.
 */
static double typical_gaps_ns(const struct writer *w, double removable)
{
	const struct gap_report *gaps = &w->device->gaps[LEAF_HOST];
	double sum = 0, largest = 0;

	for (size_t i = 0; i < w->device->kernel_count; i++) {
		const struct kernel_report *kernel = &w->device->kernels[i];

		if (!kernel->gap_ns.known)
			continue;
		sum += kernel->gap_ns.value * (double)kernel->launches / w->units;
		largest = fmax(largest, kernel->gap_ns.value);
	}
	if (sum > 0)
		return fmin(sum, removable) - largest;
	return removable -
	       (gaps->worst_count ? (double)gaps->worst[gaps->worst_count - 1].duration_ns : 0);
}

static void advise_graphs(struct writer *w)
{
	double removable = leaf_ns(w, LEAF_HOST) + leaf_ns(w, LEAF_LAUNCH);
	double kernels = (double)w->device->steps.kernels, low, high;
	const struct steps *steps = &w->device->steps;
	struct advice *advice;

	/* A step that is not repeated exactly cannot be replayed, and one with few kernels is not
	 * launch-bound. */
	if (!steps->known || kernels < 4 || removable < 2 * WORTH * w->unit_ns ||
	    graph_share(w->device) > 0.5)
		return;
	low = typical_gaps_ns(w, removable) - kernels * GRAPH_NODE_HIGH_NS - GRAPH_LAUNCH_HIGH_NS;
	high = removable - kernels * GRAPH_NODE_LOW_NS - GRAPH_LAUNCH_LOW_NS;
	if (high < WORTH * w->unit_ns)
		return;
	advice = append(w, "cuda-graphs", "CUDA graphs over the step");
	estimate(w, advice, low, high);
	advice->why = words(
		"%s of each step the GPU waits for %.0f kernels to be launched one by one; a graph launches "
		"them at once. Time when the GPU is busy stays.",
		quantity_time(removable).text, kernels);
	advice->how = words(
		"%s%s",
		w->python
			? "torch.compile(model, mode=\"reduce-overhead\"), or torch.cuda.graph around the step with "
			  "static input tensors."
			: "cudaStreamBeginCapture around the step once, then cudaGraphLaunch.",
		leaf_ns(w, LEAF_SYNC) + leaf_ns(w, LEAF_ALLOC) > 0.01 * w->unit_ns
			? " Not as it is: the step synchronises or allocates, which capture refuses; move that out "
			  "first."
			: " Not for steps whose shapes change.");
}

static void advise_sync(struct writer *w)
{
	double sync = leaf_ns(w, LEAF_SYNC);
	const struct gap_report *gaps = &w->device->gaps[LEAF_SYNC];
	struct advice *advice;

	if (sync < WORTH * w->unit_ns)
		return;
	advice = append(w, "no-sync", "No waiting for the GPU inside the step");
	estimate(w, advice, 0, sync);
	advice->why = words(
		"The CPU waits for the GPU%s%s, and the GPU idles while it catches up: %s %s.",
		gaps->count ? ", mostly before " : "",
		gaps->worst_count && gaps->worst[0].before ? gaps->worst[0].before
		: gaps->count                              ? "other work"
							   : "",
		quantity_time(sync).text, w->device->steps.known ? "a step" : "in all");
	advice->how = words(
		"%s",
		w->python
			? "keep .item(), .cpu(), .tolist(), print(loss) and torch.cuda.synchronize() out of the "
			  "loop, or do them every N steps. Nothing is gained where the value is needed to go on."
			: "replace cudaStreamSynchronize, cudaMemcpy and cudaEventSynchronize in the loop by events "
			  "and asynchronous copies. Nothing is gained where the value is needed to go on.");
}

static void advise_alloc(struct writer *w)
{
	double alloc = leaf_ns(w, LEAF_ALLOC);
	struct advice *advice;

	/* Without a repeating step it may all be warm-up. */
	if (alloc < WORTH * w->unit_ns || !w->device->steps.known)
		return;
	advice = append(w, "no-alloc", "No allocation inside the step");
	estimate(w, advice, 0, alloc);
	advice->why = words(
		"The GPU idles %s a step while the CPU is in allocations, frees or module loads.",
		quantity_time(alloc).text);
	advice->how = words(
		"%s",
		w->python
			? "drop torch.cuda.empty_cache() from the loop; if sizes vary, set "
			  "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
			: "allocate once before the loop, or use cudaMallocAsync with a release threshold.");
}

static void advise_pinned(struct writer *w)
{
	uint64_t exposed = 0, total = 0, bytes = 0;
	struct advice *advice;

	for (size_t i = 0; i < w->device->copy_count; i++) {
		const struct copy_report *copy = &w->device->copies[i];

		if (strcmp(copy->source ? copy->source : "", "pageable") &&
		    strcmp(copy->target ? copy->target : "", "pageable"))
			continue;
		exposed += copy->exposed_ns;
		total += copy->total_ns;
		bytes += copy->bytes;
	}
	if (w->units <= 0 || !total || (double)exposed / w->units < WORTH * w->unit_ns / 2)
		return;
	advice = append(w, "pinned-copies", "Pinned, asynchronous copies");
	estimate(w, advice, 0, (double)exposed / w->units);
	advice->why = words(
		"Copies from or to pageable memory run at %s with nothing beside them for %s %s.",
		quantity_rate((double)bytes * 1e9 / (double)total).text,
		quantity_time((double)exposed / w->units).text,
		w->device->steps.known ? "a step" : "in all");
	advice->how = words(
		"%s",
		w->python
			? "DataLoader(pin_memory=True) and .to(device, non_blocking=True); prefetch "
			  "the next batch on a second stream to hide the copy."
			: "cudaHostAlloc or cudaHostRegister, cudaMemcpyAsync, and a stream of their "
			  "own.");
}

/* Optimizer kernels launched tensor by tensor or list by list: only where launching is what binds.
 */
static void advise_optimizer(struct writer *w)
{
	static const char *const fused[] = {"FusedAdam", "FusedSgd", "fused_adam", "FusedOptimizer",
					    NULL};
	static const char *const optimizer[] = {"optimizer", NULL};
	double launches = 0, per_launch, idle;
	struct advice *advice;

	if (!w->device->steps.known || !w->device->steps.kernels || w->units <= 0)
		return;
	for (size_t i = 0; i < w->device->kernel_count; i++) {
		if (named(&w->device->kernels[i], fused))
			return;
		if (in_category(&w->device->kernels[i], optimizer))
			launches += (double)w->device->kernels[i].launches / w->units;
	}
	idle = leaf_ns(w, LEAF_HOST) + leaf_ns(w, LEAF_LAUNCH);
	per_launch = idle / (double)w->device->steps.kernels;
	if (launches < 4 || (launches - 1) * per_launch < WORTH * w->unit_ns)
		return;
	advice = append(w, "fused-optimizer", "A fused optimizer");
	estimate(w, advice, 0, (launches - 1) * per_launch);
	advice->why = words(
		"%.0f of %llu launches of a step are the optimizer's; a launch costs the GPU %s of waiting.",
		launches, (unsigned long long)w->device->steps.kernels,
		quantity_time(per_launch).text);
	advice->how = words("fused=True in torch.optim.SGD, Adam or AdamW (PyTorch 2.3 or later).");
	for (size_t i = 0; i < w->device->kernel_count; i++)
		if (in_category(&w->device->kernels[i], optimizer))
			add_target(advice, i);
}

/* No estimate: what a larger batch gains is throughput, and how much depends on the model. */
static void advise_batch(struct writer *w)
{
	double share = view_leaf_share(w->window, LEAF_UNDERFILLED);
	struct advice *advice;

	if (share < 4 * WORTH)
		return;
	advice = append(w, "larger-batch", "More work per kernel");
	advice->why = words(
		"%s of the time kernels run that do not fill the GPU: until they do, more work in each is "
		"almost free.",
		quantity_percent(share).text);
	advice->how = words(
		"a larger batch, or several small problems in one (batched calls, vmap). Not if latency of one "
		"item is what counts.");
	for (size_t i = 0; i < w->device->kernel_count; i++)
		if (w->device->kernels[i].verdict.leaf == LEAF_UNDERFILLED)
			add_target(advice, i);
}

/* No estimate without bytes: how much traffic fusion saves depends on what can be fused. */
static void advise_fusion(struct writer *w)
{
	static const char *const simple[] = {"elementwise", "copy",    "random",
					     "norm",        "softmax", NULL};
	double share = 0;
	unsigned kinds = 0;
	struct advice *advice;

	for (size_t i = 0; i < w->device->kernel_count; i++) {
		const struct kernel_report *kernel = &w->device->kernels[i];

		if (leaf_pillar(kernel->verdict.leaf) != REGIME_MEMORY ||
		    !in_category(kernel, simple))
			continue;
		share += kernel->share;
		kinds++;
	}
	if (share < 3 * WORTH || kinds < 2)
		return;
	advice = append(w, "fuse", "Fuse the memory-bound kernels");
	advice->why = words(
		"%s of the time goes to %u kinds of simple kernels that read and write all their data; fused, "
		"the values between them never reach memory.",
		quantity_percent(share).text, kinds);
	advice->how =
		words("%s", w->python ? "torch.compile, which fuses pointwise and norm kernels."
				      : "one kernel for each chain of them.");
	for (size_t i = 0; i < w->device->kernel_count; i++)
		if (leaf_pillar(w->device->kernels[i].verdict.leaf) == REGIME_MEMORY &&
		    in_category(&w->device->kernels[i], simple))
			add_target(advice, i);
}

/* A bound only: how much faster tensor cores are depends on shape and traffic. */
static void advise_tensor_cores(struct writer *w)
{
	static const char *const simt[] = {"gemm_simt", NULL};
	double share = 0;
	struct advice *advice;

	for (size_t i = 0; i < w->device->kernel_count; i++)
		if (in_category(&w->device->kernels[i], simt))
			share += w->device->kernels[i].share;
	if (share < 2 * WORTH || w->device->attributes.cc_major < 8)
		return;
	advice = append(w, "tensor-cores", "Tensor cores for the matrix products");
	estimate(w, advice, 0, share * w->unit_ns);
	advice->why = words(
		"%s of the time goes to matrix products in full fp32, which leave the tensor cores unused.",
		quantity_percent(share).text);
	advice->how = words(
		"%s",
		w->python
			? "torch.set_float32_matmul_precision(\"high\") (TF32), or bf16 autocast. Not "
			  "where full fp32 is needed."
			: "CUBLAS_COMPUTE_32F_FAST_TF32, or bf16 operands. Not where full fp32 is "
			  "needed.");
	for (size_t i = 0; i < w->device->kernel_count; i++)
		if (in_category(&w->device->kernels[i], simt))
			add_target(advice, i);
}

static int by_saving(const void *a, const void *b)
{
	const struct advice *x = a, *y = b;
	double left = x->saves_ns.known ? x->saves_ns.value : -1;
	double right = y->saves_ns.known ? y->saves_ns.value : -1;

	return (left < right) - (left > right);
}

static void fill_device(struct device_report *device)
{
	static const char *const torch[] = {"at::native", "c10::", "triton_", "at_cuda_detail",
					    NULL};
	const struct view view = {0};
	struct writer w = {.device = device, .window = view_window(&view, device)};

	if (!w.window->known || device->verdict.regime == REGIME_UNKNOWN)
		return;
	w.units = device->steps.known && device->steps.period_ns
			  ? (double)view_base_ns(w.window) / (double)device->steps.period_ns
			  : 1;
	w.unit_ns = w.units > 0 ? (double)view_base_ns(w.window) / w.units : 0;
	for (size_t i = 0; i < device->kernel_count && !w.python; i++)
		w.python = named(&device->kernels[i], torch);
	advise_graphs(&w);
	advise_sync(&w);
	advise_alloc(&w);
	advise_pinned(&w);
	advise_optimizer(&w);
	advise_tensor_cores(&w);
	advise_fusion(&w);
	advise_batch(&w);
	if (device->advice_count)
		qsort(device->advice, device->advice_count, sizeof(*device->advice), by_saving);
}

void advice_fill(struct report *report)
{
	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++)
			if (!report->processes[p].devices[d].advice_count)
				fill_device(&report->processes[p].devices[d]);
}
