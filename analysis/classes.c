/* Sums over a device's kernels. */
#include "classes.h"

#include <string.h>

#include "report.h"

static const struct {
	const char *name, *words;
} infos[CLASS_COUNT] = {
	[CLASS_CONTRACTION] = {"contraction", "matrix products, convolutions"},
	[CLASS_NORMALISATION] = {"normalisation", "normalisation, softmax"},
	[CLASS_POINTWISE] = {"pointwise", "pointwise"},
	[CLASS_REST] = {"rest", "the rest"},
};

const char *class_name(enum kernel_class class)
{
	return infos[class].name;
}

const char *class_words(enum kernel_class class)
{
	return infos[class].words;
}

/* What is known of some is the sum of those: the share of the time says of how many. */
static void add(struct measure *sum, const struct measure *per_launch, uint64_t launches)
{
	struct measure all = measure_scaled(*per_launch, (double)launches);

	if (all.known)
		*sum = sum->known ? measure_sum(*sum, all) : all;
}

static void add_kernel(struct class_report *c, const struct kernel_report *k)
{
	c->launches += k->launches;
	c->time_ns += k->busy_ns;
	add(&c->flops, &k->flops, k->launches);
	add(&c->bytes, &k->bytes, k->launches);
	/* Times until shares_of divides them. */
	c->known_share += k->flops.known ? (double)k->busy_ns : 0;
	c->bytes_known_share += k->bytes.known ? (double)k->busy_ns : 0;
}

static double share(double part, double rest)
{
	return part + rest > 0 ? part / (part + rest) : 0;
}

/* Bound by bound: the lowest share is that of few FLOPs here and many elsewhere. */
static struct measure flops_share(const struct class_report *classes, unsigned of)
{
	const struct measure *here = &classes[of].flops;
	double value = 0, low = 0, high = 0;

	for (unsigned i = 0; i < CLASS_COUNT; i++) {
		if (i == of || !classes[i].flops.known)
			continue;
		value += classes[i].flops.value;
		low += classes[i].flops.low;
		high += classes[i].flops.high;
	}
	if (!here->known || here->value + value <= 0)
		return (struct measure){0};
	return (struct measure){true, share(here->value, value), share(here->low, high),
				share(here->high, low)};
}

void classes_fill(struct device_report *device)
{
	struct class_report *classes = device->classes;
	double time = 0;

	memset(device->classes, 0, sizeof(device->classes));
	for (size_t i = 0; i < device->kernel_count; i++)
		add_kernel(&classes[device->kernels[i].class], &device->kernels[i]);
	for (unsigned i = 0; i < CLASS_COUNT; i++)
		time += (double)classes[i].time_ns;
	for (unsigned i = 0; i < CLASS_COUNT; i++) {
		double own = (double)classes[i].time_ns;

		classes[i].time_share = time > 0 ? own / time : 0;
		classes[i].known_share = own > 0 ? classes[i].known_share / own : 0;
		classes[i].bytes_known_share = own > 0 ? classes[i].bytes_known_share / own : 0;
		classes[i].flops_share = flops_share(classes, i);
	}
}

double classes_known_share(const struct device_report *device)
{
	double known = 0;

	for (unsigned i = 0; i < CLASS_COUNT; i++)
		known += device->classes[i].time_share * device->classes[i].known_share;
	return known;
}
