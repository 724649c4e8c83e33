/* Words for the changes that are worth it. Figures come from the simulation (whatif.h); without one,
 * from the leaves: at most what a leaf holds can be saved. */
#include "advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_name.h"
#include "quantity.h"
#include "view.h"
#include "whatif.h"

struct writer {
	struct device_report *device;
	const struct window *window;
	bool python; /* PyTorch's kernels were seen */
};

/* What to try, in PyTorch and elsewhere, and when not. NULL: nothing to say there. */
static const struct rule {
	enum change_kind kind;
	const char *python, *elsewhere, *unless;
} rules[] = {
	{CHANGE_GRAPHS,
	 "torch.cuda.graph around the whole step with static input tensors and an optimizer with "
	 "capturable=True.",
	 "cudaStreamBeginCapture around the step once, then cudaGraphLaunch.",
	 "Not for steps whose shapes change."},
	{CHANGE_REDUCE, "torch.compile(model, mode=\"reduce-overhead\").", NULL,
	 "Not for models whose shapes change from step to step."},
	{CHANGE_COMPILE, "torch.compile(model).", NULL,
	 "Not where compiling, seconds to minutes, takes longer than it saves."},
	{CHANGE_FUSE, "torch.compile, or one Triton kernel for each chain.",
	 "one kernel for each chain of them.",
	 "Not where another kernel needs the values between them."},
	{CHANGE_OPTIMIZER,
	 "fused=True in torch.optim.SGD, Adam or AdamW (PyTorch 2.3 or later), or foreach=True.",
	 "one kernel over a list of all parameters.", NULL},
	{CHANGE_TF32, "torch.set_float32_matmul_precision(\"high\").",
	 "CUBLAS_COMPUTE_32F_FAST_TF32.", "Not where full fp32 is needed."},
	{CHANGE_BF16, "torch.autocast(\"cuda\", dtype=torch.bfloat16) around the forward pass.",
	 "bf16 operands with fp32 accumulation.", "Not where fp32's digits are needed."},
	{CHANGE_PINNED,
	 "DataLoader(pin_memory=True) and .to(device, non_blocking=True); to hide the copy, prefetch the "
	 "next batch on a second stream.",
	 "cudaHostAlloc or cudaHostRegister, cudaMemcpyAsync, and a stream of their own.",
	 "Not where the next line on the CPU needs what is copied."},
	{CHANGE_PREFETCH,
	 "DataLoader(num_workers=4 or more, persistent_workers=True, prefetch_factor=4).",
	 "a thread that prepares the next input while the GPU works on this one.",
	 "Not where the CPU is busy with it already."},
	{CHANGE_SYNC,
	 "keep .item(), .cpu(), .tolist(), print(loss) and torch.cuda.synchronize() out of the loop, or "
	 "do them every N steps.",
	 "replace cudaStreamSynchronize, cudaMemcpy and cudaEventSynchronize in the loop by events and "
	 "asynchronous copies.",
	 "Nothing is gained where the value is needed to go on."},
	{CHANGE_ALLOC,
	 "drop torch.cuda.empty_cache() from the loop; if sizes vary, set "
	 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
	 "allocate once before the loop, or use cudaMallocAsync with a release threshold.", NULL},
	{CHANGE_OVERLAP,
	 "DistributedDataParallel with gradient_as_bucket_view=True and smaller buckets "
	 "(bucket_cap_mb), so that they begin earlier.",
	 "collectives on a stream of their own, with events.",
	 "Not where the result is needed at once."},
	{CHANGE_BATCH, "a larger batch, or several small problems in one (torch.vmap).",
	 "more items in a launch: a larger batch, or batched calls.",
	 "Not if the latency of one item is what counts, or if memory is short."},
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

static struct advice *append(struct writer *w, enum change_kind kind)
{
	struct device_report *device = w->device;
	struct advice *list =
		realloc(device->advice, (device->advice_count + 1) * sizeof(*device->advice));

	if (!list) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	device->advice = list;
	list[device->advice_count] =
		(struct advice){.id = change_id(kind), .title = change_title(kind)};
	return &list[device->advice_count++];
}

/* --- why --- */

/* Idle time of a step while launches are made and their CPU time runs. */
static double idle_ns(const struct writer *w)
{
	double share =
		view_leaf_share(w->window, LEAF_HOST) + view_leaf_share(w->window, LEAF_LAUNCH);

	return share * w->device->whatif.base_ns;
}

static char *why_launches(const struct writer *w, const char *what)
{
	return words(
		"%s of each step the GPU waits for %llu kernels to be launched one by one; %s.",
		quantity_time(idle_ns(w)).text, (unsigned long long)w->device->steps.kernels, what);
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* "once", "9 times" */
static struct quantity times(uint64_t count)
{
	struct quantity q = {"once"};

	if (count != 1)
		snprintf(q.text, sizeof(q.text), "%llu times", (unsigned long long)count);
	return q;
}

static char *why_of(const struct writer *w, enum change_kind kind)
{
	const struct change_report *change = &w->device->whatif.change[kind];
	const struct gap_report *sync = &w->device->gaps[LEAF_SYNC];
	const char *s = plural(change->touched);
	unsigned long long n = change->touched;
	struct quantity time = quantity_time(change->touched_ns);

	switch (kind) {
	case CHANGE_GRAPHS:
		return why_launches(
			w, "a graph launches them at once. Time when the GPU is busy stays");
	case CHANGE_REDUCE:
		return why_launches(w,
				    "compiled, the model has fewer, and a graph launches them at "
				    "once; the optimizer stays as it is");
	case CHANGE_COMPILE:
		return why_launches(
			w, "compiled code launches faster, and its kernels are fewer: pointwise "
			   "and norm kernels are fused");
	case CHANGE_FUSE:
		return words(
			"%llu pointwise kernel%s of a step, %s, follow%s another: fused, the values "
			"between them never reach memory.",
			n, s, time.text, n == 1 ? "s" : "");
	case CHANGE_OPTIMIZER:
		return words(
			"%llu launches of a step look like the optimizer's, each a pass over a part of "
			"the parameters: %s. Fused, one pass does it all.",
			n, time.text);
	case CHANGE_TF32:
	case CHANGE_BF16:
		return words("%llu kernel%s of a step, %s, multipl%s matrices %s.", n, s, time.text,
			     n == 1 ? "ies" : "y",
			     kind == CHANGE_TF32
				     ? "in full fp32, which leaves the tensor cores unused"
				     : "in fp32 or tf32: bf16 is faster and has half the bytes");
	case CHANGE_PINNED:
		return words(
			"%llu cop%s a step, %s, from or to pageable memory: slow, and an upload "
			"holds its caller until it is done.",
			n, n == 1 ? "y" : "ies", time.text);
	case CHANGE_PREFETCH:
		return words(
			"Before it uploads a batch, the CPU works on it for %s a step, and the GPU "
			"has nothing to do.",
			time.text);
	case CHANGE_SYNC:
		return words("The CPU waits for the GPU %s a step%s%s: it cannot launch ahead, and "
			     "the GPU idles while it catches up.",
			     times(change->touched).text,
			     sync->worst_count && sync->worst[0].before ? ", then comes " : "",
			     sync->worst_count && sync->worst[0].before ? sync->worst[0].before
									: "");
	case CHANGE_ALLOC:
		return words("%llu allocation%s, free%s or module load%s a step take %s.", n, s, s,
			     s, time.text);
	case CHANGE_OVERLAP:
		return words("%llu collective%s a step, %s, run while no other kernel does.", n, s,
			     time.text);
	case CHANGE_BATCH:
		return words(
			"Per item, with twice as many in a step: %llu kernel%s of a step do not fill the "
			"GPU, and what the CPU does hardly grows with the batch.",
			n, s);
	case CHANGE_COUNT:
		break;
	}
	return words("%s", "");
}

/* --- figures --- */

static void add_how(const struct writer *w, const struct rule *rule, struct advice *advice)
{
	const char *how = w->python && rule->python ? rule->python : rule->elsewhere;
	double held =
		view_leaf_share(w->window, LEAF_SYNC) + view_leaf_share(w->window, LEAF_ALLOC);
	const char *captured =
		rule->kind == CHANGE_GRAPHS && held > 0.01
			? " Waits, allocations and pageable copies cannot be captured: "
			  "they stay between graphs."
			: "";

	advice->how = words("%s%s%s%s", how ? how : "", captured, rule->unless ? " " : "",
			    rule->unless ? rule->unless : "");
}

static void add_figures(const struct writer *w, enum change_kind kind, struct advice *advice)
{
	const struct measure *step = &w->device->whatif.change[kind].step;
	double now = w->device->whatif.base_ns;

	advice->saves_ns = (struct measure){true, fmax(now - step->value, 0),
					    fmax(now - step->high, 0), fmax(now - step->low, 0)};
	advice->speedup = (struct measure){true, fmax(now / step->value, 1),
					   fmax(now / step->high, 1), fmax(now / step->low, 1)};
	advice->target_count = w->device->whatif.change[kind].target_count;
	memcpy(advice->targets, w->device->whatif.change[kind].targets, sizeof(advice->targets));
	memcpy(advice->calls, w->device->whatif.change[kind].calls, sizeof(advice->calls));
}

/* A compiler fuses too: no two advices for one thing. */
static bool doubled(const struct whatif *whatif, enum change_kind kind)
{
	return kind == CHANGE_FUSE && whatif_fuse_is_compiled(whatif);
}

static void advise_simulated(struct writer *w)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		enum change_kind kind = rules[i].kind;
		struct advice *advice;

		if (!whatif_worth(&w->device->whatif, kind) || doubled(&w->device->whatif, kind) ||
		    (!w->python && !rules[i].elsewhere))
			continue;
		advice = append(w, kind);
		advice->why = why_of(w, kind);
		add_how(w, &rules[i], advice);
		add_figures(w, kind, advice);
	}
}

/* Without steps: what is in a leaf is the most that a change of it can save. */
static void advise_leaf(struct writer *w, enum change_kind kind, enum leaf leaf)
{
	double share = view_leaf_share(w->window, leaf), all = (double)view_base_ns(w->window);
	struct advice *advice;

	if (share < WHATIF_WORTH || share > 0.99)
		return;
	advice = append(w, kind);
	advice->why =
		words("Up to %s, %s of the time, may be saved; without repeating steps nothing "
		      "is simulated.",
		      quantity_time(share * all).text, quantity_percent(share).text);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].kind == kind)
			add_how(w, &rules[i], advice);
	advice->saves_ns = (struct measure){true, share * all / 2, 0, share * all};
	advice->speedup = (struct measure){true, 1 / (1 - share / 2), 1, 1 / (1 - share)};
}

static int by_saving(const void *a, const void *b)
{
	const struct advice *x = a, *y = b;

	return (x->saves_ns.value < y->saves_ns.value) - (x->saves_ns.value > y->saves_ns.value);
}

static void fill_device(struct device_report *device)
{
	const struct view view = {0};
	struct writer w = {.device = device, .window = view_window(&view, device)};

	for (size_t i = 0; i < device->kernel_count && !w.python; i++)
		w.python = device->kernels[i].name &&
			   kernel_name_has(device->kernels[i].name,
					   "at::native|c10::|^triton_|at_cuda_detail");
	if (!w.window->known)
		return;
	if (device->whatif.known) {
		advise_simulated(&w);
	} else if (!device->steps.known && device->verdict.regime != REGIME_UNKNOWN) {
		advise_leaf(&w, CHANGE_SYNC, LEAF_SYNC);
	}
	if (device->advice_count)
		qsort(device->advice, device->advice_count, sizeof(*device->advice), by_saving);
}

void advice_fill(struct report *report)
{
	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++)
			fill_device(&report->processes[p].devices[d]);
}
