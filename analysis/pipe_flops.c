/* Pipes, one after the other. */
#include "pipe_flops.h"

#include "kernel_operands.h"

/* Where tensor cores did less than this with certainty, % of peak, an unknown type does not matter:
 * attribution leaves up to 0.8 points at kernels that do not use them (samples/traces/mlp_train). */
#define TENSOR_IDLE_PCT 1.0
/*
 * FLOPs of a busy tensor pipe over those at the data sheet's clock, H200: 1.03 to 1.10 in short
 * nvjet kernels at the full clock, 0.71 in products of 8192 under the power limit, 0.65 in mma.sync
 * kernels built for sm_80, which need the pipe for longer (samples/traces: bert_infer, gemm_loop,
 * bert_train). The lowest is both of the last; where the clock in force is known, that of mma.sync.
 */
#define TENSOR_LEAST 0.46
#define TENSOR_LEAST_IN_FORCE 0.65

static struct measure busy(const struct measure *pct, struct measure rate)
{
	return measure_scaled(measure_product(*pct, rate), 0.01);
}

/* Unknown where a type or a utilisation is missing. */
static struct measure tensor_flops(const struct kernel_counters *c, enum kernel_class class,
				   enum ceiling type, const struct ceilings *peaks)
{
	struct measure rate;

	if (class == CLASS_POINTWISE || class == CLASS_NORMALISATION)
		return measure_exact(0);
	if (!c->tensor.known)
		return (struct measure){0};
	if (type == CEILING_COUNT)
		return c->tensor.low < TENSOR_IDLE_PCT ? measure_exact(0) : (struct measure){0};
	rate = peaks->of[type].measure;
	rate.low = (peaks->in_force ? TENSOR_LEAST_IN_FORCE : TENSOR_LEAST) * rate.value;
	return busy(&c->tensor, rate);
}

static struct measure fma_flops(const struct kernel_counters *c, const struct ceilings *peaks)
{
	const struct measure *peak = &peaks->of[CEILING_FP32].measure;

	return busy(&c->fma, (struct measure){peak->known, peak->value, 0, peak->high});
}

/* Where it was not sampled it does nothing: GPUs without that metric have next to no fp64. */
static struct measure fp64_flops(const struct kernel_counters *c, const struct ceilings *peaks)
{
	const struct measure *peak = &peaks->of[CEILING_FP64].measure;

	if (!c->fp64.known && !c->pipe_unknown)
		return measure_exact(0);
	return busy(&c->fp64,
		    (struct measure){peak->known, peak->value, peak->low / 2, peak->high});
}

bool pipe_flops_of(const struct kernel_counters *counters, const char *kernel_name,
		   enum kernel_class class, const struct ceilings *peaks, struct pipe_flops *found)
{
	enum ceiling type = kernel_operands(kernel_name);
	struct measure tensor = tensor_flops(counters, class, type, peaks);
	struct measure fma = fma_flops(counters, peaks), fp64 = fp64_flops(counters, peaks);
	struct measure sum = measure_sum(measure_sum(tensor, fma), fp64);

	if (!sum.known)
		return false;
	found->per_s = sum;
	found->pipe = CEILING_FP32;
	if (tensor.value > fma.value && tensor.value > fp64.value)
		found->pipe = type;
	else if (fp64.value > fma.value)
		found->pipe = CEILING_FP64;
	return true;
}
