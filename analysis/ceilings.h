/* What a device reaches at most: measured by `boundshim calibrate`, else derived from its
 * attributes. */
#ifndef CEILINGS_H
#define CEILINGS_H

#include <stddef.h>
#include <stdint.h>

#include "measure.h"
#include "quantity.h"

struct vocabulary;

enum ceiling {
#define CEILING(NAME, name, UNIT, words) CEILING_##NAME,
#include "ceilings.def"
#undef CEILING
	CEILING_COUNT
};

enum ceiling_unit {
	CEILING_UNIT_BYTES,      /* a second */
	CEILING_UNIT_OPERATIONS, /* a second, an FMA is two */
	CEILING_UNIT_NS,
};

enum ceiling_source {
	CEILING_UNKNOWN,
	CEILING_DERIVED,
	CEILING_CALIBRATED,
};

struct ceiling_value {
	enum ceiling_source source;
	struct measure measure; /* known unless the source is CEILING_UNKNOWN */
};

#define CEILINGS_TEXT 64

struct ceilings {
	struct ceiling_value of[CEILING_COUNT];
	bool in_force; /* peaks at a clock that was measured */
	/* Of the calibration; "" where nothing is calibrated. */
	char date[CEILINGS_TEXT], driver[CEILINGS_TEXT];
};

/* 0 = not known. As in the trace: table device of shim/trace/FORMAT.md. */
struct device_attributes {
	uint64_t cc_major, cc_minor, sm_count, clock_khz, memory_clock_khz, memory_bus_bits;
	uint64_t l2_bytes;
};

/* "dram_read", "bytes/s" and "device memory, reads" for CEILING_DRAM_READ; static. */
const char *ceiling_name(enum ceiling ceiling);
const char *ceiling_words(enum ceiling ceiling);
enum ceiling_unit ceiling_unit(enum ceiling ceiling);
/* "4.49 TB/s", "673 TFLOP/s", "2.05 us". */
struct quantity ceiling_quantity(enum ceiling ceiling, double value);
/* "calibrated", "derived" or "unknown"; static. */
const char *ceiling_source_name(enum ceiling_source source);

struct device_attributes device_attributes_of(const struct vocabulary *v, uint32_t device);

/*
 * Peaks by attributes and peaks.def: `high` is the hardware's peak, which no program passes;
 * `value` the peak that data sheets state; `low` what real programs were seen to reach (ceilings.c
 * has the sources). What attributes cannot tell (L2, launches, the link) is unknown, and so is all
 * arithmetic of an architecture that is not in the table.
 */
struct ceilings ceilings_derive(const struct device_attributes *attributes);

/*
 * Peaks at an SM clock that was measured (Hz): `value` at its mean, bounds at its bounds. A GPU at its power
 * limit runs products at two thirds of its highest clock, and utilisations are of cycles. Where the clock is
 * not known: those of ceilings_derive.
 */
struct ceilings ceilings_in_force(const struct device_attributes *attributes,
				  const struct measure *sm_clock_hz);

/* What is odd about a measured value, beside the derived one; static words, or NULL if nothing is.
 */
const char *ceiling_doubt(enum ceiling ceiling, const struct ceilings *measured,
			  const struct ceilings *derived);

#endif
