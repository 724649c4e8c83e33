/* What a device reaches at most: measured by `boundshim calibrate`, else derived from its
 * attributes. */
#ifndef CEILINGS_H
#define CEILINGS_H

#include "report.h"
#include "vocabulary.h"

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
	/* Of the calibration; "" where nothing is calibrated. */
	char date[CEILINGS_TEXT], driver[CEILINGS_TEXT];
};

/* 0 = not known. As in the trace: table device of shim/trace/FORMAT.md. */
struct device_attributes {
	uint64_t cc_major, cc_minor, sm_count, clock_khz, memory_clock_khz, memory_bus_bits;
};

enum ceilings_status {
	CEILINGS_OK,
	CEILINGS_MISSING,      /* there is no such file */
	CEILINGS_UNREADABLE,   /* there is, and it cannot be read */
	CEILINGS_BROKEN,       /* it is no JSON, or an entry makes no sense */
	CEILINGS_FOREIGN,      /* it is JSON of another kind or version */
	CEILINGS_OTHER_DEVICE, /* it does not have this device */
};

/* What is wrong, in words. */
struct ceilings_words {
	char text[256];
};

/* "dram_read", "bytes/s" and "device memory, reads" for CEILING_DRAM_READ; static. */
const char *ceiling_name(enum ceiling ceiling);
const char *ceiling_words(enum ceiling ceiling);
enum ceiling_unit ceiling_unit(enum ceiling ceiling);
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
 * Puts what `text` (JSON, schema boundshim.ceilings/1) has for the device `uuid` over what
 * `ceilings` holds. Entries with unknown names are passed over. Anything but CEILINGS_OK leaves
 * `ceilings` as it was and says why in `words`.
 */
enum ceilings_status ceilings_parse(struct ceilings *ceilings, const char *text, size_t size,
				    const char *uuid, struct ceilings_words *words);

/* The same from a file. */
enum ceilings_status ceilings_load(struct ceilings *ceilings, const char *path, const char *uuid,
				   struct ceilings_words *words);

/*
 * Where `boundshim calibrate` keeps a device's ceilings:
 * $XDG_DATA_HOME/boundshim/ceilings/UUID.json, else below
 * ~/.local/share. NULL without a home, memory or a uuid that can name a file. The caller frees it.
 */
char *ceilings_path(const char *uuid);

/*
 * Ceilings of a device of a trace. `from` is a file, "none" for derived ones only, or NULL for the
 * file that calibrate keeps, which may be missing. False, after words on why, where a file that is
 * there (or was asked for) cannot be used: then they are the derived ones.
 */
bool ceilings_of(struct ceilings *ceilings, const struct vocabulary *v, uint32_t device,
		 const char *from, struct ceilings_words *words);

/* What is odd about a measured value, beside the derived one; static words, or NULL if nothing is.
 */
const char *ceiling_doubt(enum ceiling ceiling, const struct ceilings *measured,
			  const struct ceilings *derived);

#endif
