/* Matrix products with fewer bits. */
#include <math.h>

#include "change.h"
#include "kernel_name.h"
#include "kernel_operands.h"

/*
 * Of a ceiling, what libraries reach: 45 to 85 % of the data sheet's on an H200 for large products
 * (samples/h200: bf16 673 of 989 TFLOP/s by our own kernels, 95 % tensor activity by cuBLAS in
 * samples/traces/gemm_loop).
 */
#define REACHED_BEST 0.95
#define REACHED_LIKELY 0.70
#define REACHED_WORST 0.40
/* No kernel with data in it is shorter (samples/h200/calibrate.txt has 2.05 us, of an empty one). */
#define SHORTEST_NS 3000.0
/* Other kernels under autocast to bf16: half the bytes, or as many and a cast. */
#define HALVED_BEST 0.5
#define HALVED_LIKELY 0.75
#define HALVED_WORST 1.1

/*
 * Attention in fp32 that multiplies on tensor cores, as PyTorch's memory-efficient kernels do, has three
 * products of tf32 for one of fp32 (CUTLASS' OpMultiplyAddFastF32), at half the rate of bf16.
 */
#define PRODUCTS_AND_RATE 6.0
/* What of the tensor cores attention keeps busy in bf16: FlashAttention-3 75 % (Shah et al. 2024), -2 35 to 40 % on an H100. */
#define ATTENTION_BEST 0.75
#define ATTENTION_LIKELY 0.40
#define ATTENTION_WORST 0.20
/* Without counters: a kernel twice as well made, as well made, half as well made. */
#define ATTENTION_BLIND_BEST (0.5 / PRODUCTS_AND_RATE)
#define ATTENTION_BLIND_LIKELY (1.0 / PRODUCTS_AND_RATE)
#define ATTENTION_BLIND_WORST (2.0 / PRODUCTS_AND_RATE)

static double faster(const struct change *c, const struct kernel_report *kernel, double now_ns,
		     enum ceiling from, enum ceiling to)
{
	const struct ceiling_value *of = c->scene->device->ceilings.of;
	double ratio = of[from].measure.value / of[to].measure.value, time = 0;
	double reached = change_pick(c, REACHED_BEST, REACHED_LIKELY, REACHED_WORST);
	bool small = kernel->waves.known && kernel->waves.value < 1;

	/* What does not fill the GPU is bound by latency, which stays. */
	if (small && c->bound == BOUND_WORST)
		return now_ns;
	if (kernel->flops.known)
		time = kernel->flops.value / (of[to].measure.value * reached) * 1e9;
	if (kernel->bytes.known && of[CEILING_DRAM_READ].measure.known)
		time = fmax(time, kernel->bytes.value * change_pick(c, 0.5, 0.7, 1.0) /
					  (of[CEILING_DRAM_READ].measure.value * reached) * 1e9);
	time = fmax(time, now_ns * change_pick(c, ratio, small ? 0.6 : 1.15 * ratio, 0.6));
	return fmin(now_ns, fmax(time, fmin(now_ns, SHORTEST_NS)));
}

/* The pipe that multiplies: by counters or library calls, else by the kernel's name. */
static enum ceiling pipe_of(const struct kernel_report *kernel)
{
	if (kernel->pipe != CEILING_COUNT)
		return kernel->pipe;
	return change_category(kernel, "gemm_simt") ? CEILING_FP32 : kernel_operands(kernel->name);
}

static bool is_fp32_attention(const struct kernel_report *kernel)
{
	return change_category(kernel, "attention") && kernel_name_has(kernel->name, "f32|float") &&
	       kernel_operands(kernel->name) == CEILING_COUNT;
}

static bool precision(struct change *c, enum ceiling from, enum ceiling to)
{
	const struct ceiling_value *of = c->scene->device->ceilings.of;
	struct stretch *s = c->stretch;

	if (!of[from].measure.known || !of[to].measure.known)
		return false;
	for (size_t i = 0; i < s->op_count; i++) {
		struct stretch_op *op = &s->op[i];
		const struct kernel_report *kernel = change_kernel(c, op);

		if (!kernel || kernel->class != CLASS_CONTRACTION || pipe_of(kernel) != from ||
		    is_fp32_attention(kernel))
			continue;
		change_touch(c, op);
		op->duration_ns = faster(c, kernel, op->duration_ns, from, to);
	}
	return c->touched > 0;
}

/* Other kernels are called then: those for fp16 and bf16. */
static double attention(const struct change *c, const struct kernel_report *kernel, double now_ns)
{
	const struct measure *tensor = &kernel->tensor_pct;
	double time = now_ns * change_pick(c, ATTENTION_BLIND_BEST, ATTENTION_BLIND_LIKELY,
					   ATTENTION_BLIND_WORST);

	if (tensor->known)
		time = now_ns * tensor->value / 100 / PRODUCTS_AND_RATE /
		       change_pick(c, ATTENTION_BEST, ATTENTION_LIKELY, ATTENTION_WORST);
	return fmin(now_ns, fmax(time, fmin(now_ns, SHORTEST_NS)));
}

static void attend(struct change *c)
{
	struct stretch *s = c->stretch;

	for (size_t i = 0; i < s->op_count; i++) {
		const struct kernel_report *kernel = change_kernel(c, &s->op[i]);

		if (!kernel || !is_fp32_attention(kernel))
			continue;
		change_touch(c, &s->op[i]);
		s->op[i].duration_ns = attention(c, kernel, s->op[i].duration_ns);
	}
}

void change_tf32(struct change *c)
{
	precision(c, CEILING_FP32, CEILING_TENSOR_TF32);
}

void change_bf16(struct change *c)
{
	struct stretch *s = c->stretch;
	bool simt = precision(c, CEILING_FP32, CEILING_TENSOR_BF16);

	if (!precision(c, CEILING_TENSOR_TF32, CEILING_TENSOR_BF16) && !simt)
		return;
	attend(c);
	for (size_t i = 0; i < s->op_count; i++) {
		const struct kernel_report *kernel = change_kernel(c, &s->op[i]);

		if (kernel && kernel->class != CLASS_CONTRACTION &&
		    !change_category(kernel, "optimizer") && s->op[i].duration_ns > SHORTEST_NS)
			s->op[i].duration_ns *=
				change_pick(c, HALVED_BEST, HALVED_LIKELY, HALVED_WORST);
	}
}
