/* The formula, and its application to a report. */
#include "roofline.h"

#include "report.h"

static struct measure memory_ceiling(const struct ceilings *ceilings)
{
	const struct measure *copy = &ceilings->of[CEILING_DRAM_COPY].measure;
	struct measure memory = ceilings->of[CEILING_DRAM_READ].measure;

	if (copy->known)
		memory.low = fmin(memory.low, copy->low);
	return memory;
}

struct roofline roofline_of(const struct roofline_input *in, const struct ceilings *ceilings)
{
	struct roofline r = {.roof = CEILING_COUNT};
	struct measure of_pipe, of_memory;

	if (in->duration_ns <= 0)
		return r;
	r.flops_per_s = measure_scaled(in->flops, 1e9 / in->duration_ns);
	r.bytes_per_s = measure_scaled(in->bytes, 1e9 / in->duration_ns);
	r.intensity = measure_ratio(in->flops, in->bytes);
	if (in->pipe == CEILING_COUNT)
		return r;
	of_pipe = measure_ratio(r.flops_per_s, ceilings->of[in->pipe].measure);
	of_memory = measure_ratio(r.bytes_per_s, memory_ceiling(ceilings));
	r.pct = measure_scaled(measure_larger(of_pipe, of_memory), 100);
	if (r.pct.known)
		r.roof = of_pipe.value > of_memory.value ? in->pipe : CEILING_DRAM_READ;
	return r;
}

void roofline_fill(struct device_report *device)
{
	for (size_t i = 0; i < device->kernel_count; i++) {
		struct kernel_report *k = &device->kernels[i];
		struct roofline_input in = {k->flops, k->bytes, k->mean_ns, k->pipe};

		k->roofline = roofline_of(&in, &device->ceilings);
	}
}
