/* Ceilings from attributes and the table of architectures. */
#include "ceilings.h"

#include <stdio.h>

#include "vocabulary.h"

/*
 * What programs reach of the peak of device memory: streaming copies 88 to 93 % of HBM (H200: 4.3
 * of 4.81 TB/s, DESIGN section 2 and research/regime.md section 6), rounded down.
 */
#define DRAM_REACHED 0.85
/* cuBLAS, 8192 x 8192 x 8192 in bf16 on random data: 769 to 798 TFLOP/s of 989 on H200s, under the
 * power limit. */
#define TENSOR_REACHED 0.70
/* Bytes for each SM and clock: 32 banks of 4 bytes, all capabilities since 5.0 (CUDA C++
 * Programming Guide). */
#define SHARED_BYTES 128.0

static const struct {
	const char *name;
	enum ceiling_unit unit;
	const char *words;
} infos[CEILING_COUNT] = {
#define CEILING(NAME, name, UNIT, words) {name, CEILING_UNIT_##UNIT, words},
#include "ceilings.def"
#undef CEILING
};

static const struct {
	unsigned major, minor;
	double fp32, tensor16, sheet, fp64, tensor64, tensor32, tensor8f, tensor8i;
} peaks[] = {
#define PEAK(...) {__VA_ARGS__},
#include "peaks.def"
#undef PEAK
};

const char *ceiling_name(enum ceiling ceiling)
{
	return infos[ceiling].name;
}

const char *ceiling_words(enum ceiling ceiling)
{
	return infos[ceiling].words;
}

enum ceiling_unit ceiling_unit(enum ceiling ceiling)
{
	return infos[ceiling].unit;
}

struct quantity ceiling_quantity(enum ceiling ceiling, double value)
{
	switch (ceiling_unit(ceiling)) {
	case CEILING_UNIT_BYTES:
		return quantity_rate(value);
	case CEILING_UNIT_NS:
		return quantity_time(value);
	case CEILING_UNIT_OPERATIONS:
		break;
	}
	return quantity_operations(value, ceiling == CEILING_TENSOR_INT8 ? "OP/s" : "FLOP/s");
}

const char *ceiling_source_name(enum ceiling_source source)
{
	static const char *const names[] = {
		[CEILING_UNKNOWN] = "unknown",
		[CEILING_DERIVED] = "derived",
		[CEILING_CALIBRATED] = "calibrated",
	};

	return names[source];
}

static uint64_t number_of(const struct vocabulary *v, uint32_t device, const char *key)
{
	uint64_t value;

	return vocabulary_number(v, device, key, &value) ? value : 0;
}

struct device_attributes device_attributes_of(const struct vocabulary *v, uint32_t device)
{
	return (struct device_attributes){
		.cc_major = number_of(v, device, "cc_major"),
		.cc_minor = number_of(v, device, "cc_minor"),
		.sm_count = number_of(v, device, "sm_count"),
		.clock_khz = number_of(v, device, "clock_khz"),
		.memory_clock_khz = number_of(v, device, "memory_clock_khz"),
		.memory_bus_bits = number_of(v, device, "memory_bus_bits"),
		.l2_bytes = number_of(v, device, "l2_bytes"),
	};
}

/* Nothing where the table has 0. */
static void derive(struct ceilings *c, enum ceiling ceiling, double low, double value, double high)
{
	if (value > 0)
		c->of[ceiling] = (struct ceiling_value){CEILING_DERIVED, {true, value, low, high}};
}

/* `hz`: clocks of all SMs together, in a second. */
static void derive_tensor(struct ceilings *c, enum ceiling ceiling, double hz, double operations,
			  double sheet)
{
	double peak = hz * operations;

	derive(c, ceiling, TENSOR_REACHED * sheet * peak, sheet * peak, peak);
}

static void derive_arithmetic(struct ceilings *c, const struct device_attributes *a, double hz)
{
	for (unsigned i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		double sheet = peaks[i].sheet;
		double fp32 = hz * peaks[i].fp32, fp64 = hz * peaks[i].fp64;

		if (peaks[i].major != a->cc_major || peaks[i].minor != a->cc_minor)
			continue;
		derive_tensor(c, CEILING_TENSOR_BF16, hz, a->cc_major >= 8 ? peaks[i].tensor16 : 0,
			      sheet);
		derive_tensor(c, CEILING_TENSOR_FP16, hz, peaks[i].tensor16, sheet);
		derive_tensor(c, CEILING_TENSOR_TF32, hz, peaks[i].tensor32, sheet);
		derive_tensor(c, CEILING_TENSOR_FP8, hz, peaks[i].tensor8f, sheet);
		derive_tensor(c, CEILING_TENSOR_INT8, hz, peaks[i].tensor8i, sheet);
		derive_tensor(c, CEILING_TENSOR_FP64, hz, peaks[i].tensor64, 1);
		derive(c, CEILING_FP32, sheet * fp32, fp32, fp32);
		derive(c, CEILING_FP64, sheet * fp64, fp64, fp64);
		derive(c, CEILING_SHARED_READ, sheet * hz * SHARED_BYTES, hz * SHARED_BYTES,
		       hz * SHARED_BYTES);
	}
}

struct ceilings ceilings_derive(const struct device_attributes *a)
{
	/* Two transfers a clock (CUDA's deviceQuery). H200: 2 x 3.201 GHz x 6016 / 8 = 4.81 TB/s,
	 * data sheet 4.8. */
	double dram = 2e3 * (double)a->memory_clock_khz * (double)a->memory_bus_bits / 8;
	struct ceilings c = {0};

	derive(&c, CEILING_DRAM_READ, DRAM_REACHED * dram, dram, dram);
	derive(&c, CEILING_DRAM_WRITE, DRAM_REACHED * dram, dram, dram);
	derive(&c, CEILING_DRAM_COPY, DRAM_REACHED * dram, dram, dram);
	derive_arithmetic(&c, a, 1e3 * (double)a->clock_khz * (double)a->sm_count);
	return c;
}

/* By SM clocks, not by memory's. */
static bool goes_by_sm_clock(enum ceiling ceiling)
{
	return ceiling_unit(ceiling) == CEILING_UNIT_OPERATIONS || ceiling == CEILING_SHARED_READ;
}

struct ceilings ceilings_in_force(const struct device_attributes *a, const struct measure *hz)
{
	struct ceilings c = ceilings_derive(a);

	if (!hz->known || !a->clock_khz)
		return c;
	c.in_force = true;
	for (unsigned i = 0; i < CEILING_COUNT; i++) {
		struct measure *m = &c.of[i].measure;
		/* operations for each clock */
		double each = m->high / (1e3 * (double)a->clock_khz);

		if (m->known && goes_by_sm_clock((enum ceiling)i))
			*m = measure_scaled(*hz, each);
	}
	return c;
}

static double value_of(const struct ceilings *c, enum ceiling ceiling)
{
	return c->of[ceiling].measure.known ? c->of[ceiling].measure.value : 0;
}

/* The first of each must not lie below the second, measured on the same device. */
static const struct {
	enum ceiling ceiling, least;
	const char *words;
} orders[] = {
	{CEILING_L2_READ, CEILING_DRAM_READ, "below device memory"},
	{CEILING_H2D_PINNED, CEILING_H2D_PAGEABLE, "below pageable memory"},
	{CEILING_D2H_PINNED, CEILING_D2H_PAGEABLE, "below pageable memory"},
	{CEILING_TENSOR_BF16, CEILING_FP32, "below fp32 FMA"},
};

const char *ceiling_doubt(enum ceiling ceiling, const struct ceilings *measured,
			  const struct ceilings *derived)
{
	const struct measure *m = &measured->of[ceiling].measure;
	const struct measure *d = &derived->of[ceiling].measure;

	if (!m->known)
		return NULL;
	/* Clocks read a per mille or two off; 2 % above the peak is no reading error. */
	if (d->known && m->value > 1.02 * d->high)
		return "above the derived peak";
	if (d->known && m->value < 0.8 * d->low)
		return "far below what such a device reaches: is it shared, or its clock held down?";
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (orders[i].ceiling == ceiling && m->value < value_of(measured, orders[i].least))
			return orders[i].words;
	if (ceiling_unit(ceiling) != CEILING_UNIT_NS && m->high - m->low > 0.2 * m->value)
		return "unsteady: low and high are over 20 % apart";
	return NULL;
}
