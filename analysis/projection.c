/* Two roofs and an intensity. */
#include "projection.h"

#include "report.h"

static double value_of(const struct ceilings *c, enum ceiling ceiling)
{
	return ceiling != CEILING_COUNT && c->of[ceiling].measure.known
		       ? c->of[ceiling].measure.value
		       : 0;
}

struct measure projection_ridge(const struct ceilings *ceilings, enum ceiling pipe)
{
	double arithmetic = value_of(ceilings, pipe),
	       memory = value_of(ceilings, CEILING_DRAM_READ);

	if (!arithmetic || !memory)
		return (struct measure){0};
	return measure_exact(arithmetic / memory);
}

struct roofs {
	double pipe; /* operations a second; INFINITY = no arithmetic is known */
	double memory;
};

/* Seconds for each byte. Intensity may be infinite: then only the ratio of two such times counts. */
static double seconds(const struct roofs *roofs, double intensity)
{
	return fmax(intensity / roofs->pipe, 1 / roofs->memory);
}

static double longer(const struct roofs *here, const struct roofs *there, double intensity)
{
	if (isinf(intensity))
		return here->pipe / there->pipe;
	return seconds(there, intensity) / seconds(here, intensity);
}

/* FLOPs for each byte: nothing where no arithmetic is known. On the side of the ridge here that the label says. */
static struct measure intensity_of(const struct kernel_report *k, const struct roofs *here)
{
	double ridge = here->pipe / here->memory;
	bool right = k->verdict.leaf == LEAF_COMPUTE;
	double least = right ? ridge : 0, most = right ? INFINITY : ridge;
	double high = k->bytes.low > 0 ? k->flops.high / k->bytes.low : INFINITY;

	if (isinf(here->pipe))
		return measure_exact(0);
	return (struct measure){
		.known = true,
		.value = fmin(fmax(k->flops.value / k->bytes.value, least), most),
		.low = fmin(fmax(k->flops.low / k->bytes.high, least), most),
		.high = fmin(fmax(high, least), most),
	};
}

struct projection projection_of(const struct kernel_report *k, const struct ceilings *here,
				const struct ceilings *there)
{
	bool compute = k->verdict.leaf == LEAF_COMPUTE;
	bool arithmetic = k->flops.known && k->pipe != CEILING_COUNT;
	enum ceiling pipe = arithmetic ? k->pipe : CEILING_COUNT;
	struct roofs a = {value_of(here, pipe), value_of(here, CEILING_DRAM_READ)};
	struct roofs b = {value_of(there, pipe), value_of(there, CEILING_DRAM_READ)};
	struct measure intensity;
	double ends[2];

	if (!compute && k->verdict.leaf != LEAF_DRAM)
		return (struct projection){0};
	if (!k->bytes.known || k->bytes.value <= 0 || !a.memory || !b.memory)
		return (struct projection){0};
	if (arithmetic ? !a.pipe || !b.pipe : compute)
		return (struct projection){0};
	if (!arithmetic)
		a.pipe = b.pipe = INFINITY;
	intensity = intensity_of(k, &a);
	ends[0] = longer(&a, &b, intensity.low);
	ends[1] = longer(&a, &b, intensity.high);
	return (struct projection){
		.known = true,
		.here = compute ? pipe : CEILING_DRAM_READ,
		.there = intensity.value * b.memory > b.pipe ? pipe : CEILING_DRAM_READ,
		.time = {true, longer(&a, &b, intensity.value), fmin(ends[0], ends[1]),
			 fmax(ends[0], ends[1])},
	};
}

struct projection_sum projection_sum(const struct device_report *device,
				     const struct ceilings *there)
{
	double all = 0, covered = 0, moved = 0;
	struct measure sum = measure_exact(0);

	for (size_t i = 0; i < device->kernel_count; i++) {
		const struct kernel_report *k = &device->kernels[i];
		struct projection p = projection_of(k, &device->peaks, there);
		double busy = (double)k->busy_ns;

		all += busy;
		if (!p.known)
			continue;
		covered += busy;
		moved += p.here != p.there ? busy : 0;
		sum = measure_sum(sum, measure_scaled(p.time, busy));
	}
	if (covered <= 0)
		return (struct projection_sum){0};
	return (struct projection_sum){covered / all, moved / covered,
				       measure_scaled(sum, 1 / covered)};
}
