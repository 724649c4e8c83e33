/* Library calls first, then geometry, then the name. */
#include "estimate.h"

#include <stdlib.h>
#include <string.h>

#include "kernel_prior.h"

#define BOUND_PCT 60.0 /* as decide.c */
/* Of peak DRAM bandwidth, what kernels of nothing but copies reach: 92 % on an H200 (ncu). */
#define STREAMED 0.93

static struct measure bytes_of(const struct estimate_source *source)
{
	struct measure bytes = {0};
	char *name = kernel_demangle(source->signature->name);

	if (name)
		bytes = geometry_bytes_of(name, source->signature, source->shape, &source->sizes);
	free(name);
	return bytes;
}

static bool is_optimizer(const struct kernel_kind *kind)
{
	return !strcmp(kind->name, "optimizer");
}

/* Could L2 hold all that such a kernel can have moved in its time? Its input is what kernels just
 * before wrote, but for parameters. */
static bool is_cached(const struct estimate_source *source, const struct kernel_kind *kind)
{
	const struct measure *peak = &source->peaks->of[CEILING_DRAM_READ].measure;

	return kind->class != CLASS_CONTRACTION && kind->prior == LEAF_DRAM &&
	       !is_optimizer(kind) && peak->known &&
	       STREAMED * peak->high * source->duration_ns / 1e9 <=
		       (double)source->attributes->l2_bytes;
}

static bool is_idle(const struct kernel_arithmetic *a)
{
	return a->flops_pct.value < BOUND_PCT && a->bytes_pct.value < BOUND_PCT;
}

void estimate(const struct estimate_source *source, struct decide_input *input,
	      struct measure *bytes)
{
	const struct signature *s = source->signature;
	const struct kernel_kind *kind = kernel_kind_of(s->name);
	struct kernel_prior prior =
		kernel_prior_of(s->name, (unsigned)source->attributes->cc_major);
	const struct measure *peak = &source->peaks->of[CEILING_DRAM_READ].measure;

	*input = (struct decide_input){
		.waves = geometry_waves(source->shape, s),
		.coverage = geometry_coverage(source->shape, s),
		.duration_ns = source->duration_ns,
		.floor_ns = DECIDE_FLOOR_NS,
		.prior = prior.leaf,
		.prior_confidence = prior.confidence,
		.collective = kind->collective,
	};
	*bytes = bytes_of(source);
	if (!prior.over_idle || !is_idle(source->arithmetic))
		arithmetic_decide_input(source->arithmetic, input);
	if (input->evidence != EVIDENCE_NONE)
		return;
	input->cached = is_cached(source, kind);
	input->unit_pct[UNIT_DRAM] =
		geometry_dram_pct(bytes, source->duration_ns, peak,
				  (double)source->attributes->l2_bytes, is_optimizer(kind));
	if (input->unit_pct[UNIT_DRAM].known)
		input->evidence = EVIDENCE_GEOMETRY;
}
