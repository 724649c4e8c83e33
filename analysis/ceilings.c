/* Ceilings from attributes, and from files of `boundshim calibrate` over them. */
#include "ceilings.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "boundshim.ceilings/1"
#define FILE_LIMIT (1 << 20)

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

__attribute__((format(printf, 2, 3))) static void say(struct ceilings_words *words,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(words->text, sizeof(words->text), format, args);
	va_end(args);
}

static bool number(const json_t *entry, const char *key, double *out)
{
	const json_t *value = json_object_get(entry, key);

	if (!json_is_number(value))
		return false;
	*out = json_number_value(value);
	return isfinite(*out);
}

/* NULL, or why the entry makes no sense. */
static const char *read_entry(const json_t *entry, enum ceiling ceiling, struct measure *out)
{
	static const char *const units[] = {
		[CEILING_UNIT_BYTES] = "bytes/s",
		[CEILING_UNIT_OPERATIONS] = "op/s",
		[CEILING_UNIT_NS] = "ns",
	};
	const char *unit = json_string_value(json_object_get(entry, "unit"));

	if (!number(entry, "value", &out->value) || !number(entry, "low", &out->low) ||
	    !number(entry, "high", &out->high))
		return "value, low or high is not a number";
	if (!unit || strcmp(unit, units[ceiling_unit(ceiling)]) != 0)
		return "its unit is another";
	/* A time may round to nothing, a rate of zero would be divided by. */
	if (out->low < 0 || (out->low == 0 && ceiling_unit(ceiling) != CEILING_UNIT_NS))
		return "it is not positive";
	if (out->low > out->value || out->value > out->high)
		return "value is not between low and high";
	out->known = true;
	return NULL;
}

static enum ceilings_status read_device(struct ceilings *ceilings, const json_t *device,
					struct ceilings_words *words)
{
	const json_t *entries = json_object_get(device, "ceilings");
	const char *date = json_string_value(json_object_get(device, "date"));
	const char *driver = json_string_value(json_object_get(device, "driver"));
	struct ceilings read = *ceilings;

	if (!json_is_object(entries)) {
		say(words, "the device has no ceilings");
		return CEILINGS_BROKEN;
	}
	for (unsigned i = 0; i < CEILING_COUNT; i++) {
		const json_t *entry = json_object_get(entries, infos[i].name);
		struct measure measure = {0};
		const char *wrong;

		if (!entry || json_is_null(entry))
			continue;
		wrong = read_entry(entry, (enum ceiling)i, &measure);
		if (wrong) {
			say(words, "ceiling %s: %s", infos[i].name, wrong);
			return CEILINGS_BROKEN;
		}
		read.of[i] = (struct ceiling_value){CEILING_CALIBRATED, measure};
	}
	snprintf(read.date, sizeof(read.date), "%s", date ? date : "");
	snprintf(read.driver, sizeof(read.driver), "%s", driver ? driver : "");
	*ceilings = read;
	return CEILINGS_OK;
}

static enum ceilings_status read_document(struct ceilings *ceilings, const json_t *document,
					  const char *uuid, struct ceilings_words *words)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));
	const json_t *devices = json_object_get(document, "devices"), *device;
	size_t i;

	if (!schema || strcmp(schema, SCHEMA) != 0) {
		say(words, "not of schema %s", SCHEMA);
		return CEILINGS_FOREIGN;
	}
	if (!json_is_array(devices)) {
		say(words, "no list of devices");
		return CEILINGS_BROKEN;
	}
	json_array_foreach(devices, i, device) {
		const char *name = json_string_value(json_object_get(device, "uuid"));

		if (name && uuid && !strcmp(name, uuid))
			return read_device(ceilings, device, words);
	}
	say(words, "it has no device %s", uuid ? uuid : "without a uuid");
	return CEILINGS_OTHER_DEVICE;
}

enum ceilings_status ceilings_parse(struct ceilings *ceilings, const char *text, size_t size,
				    const char *uuid, struct ceilings_words *words)
{
	json_error_t error;
	json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
	enum ceilings_status status;

	if (!document) {
		say(words, "no JSON: line %d: %s", error.line, error.text);
		return CEILINGS_BROKEN;
	}
	status = read_document(ceilings, document, uuid, words);
	json_decref(document);
	return status;
}

enum ceilings_status ceilings_load(struct ceilings *ceilings, const char *path, const char *uuid,
				   struct ceilings_words *words)
{
	enum ceilings_status status = CEILINGS_UNREADABLE;
	char *text = malloc(FILE_LIMIT + 1);
	FILE *file = fopen(path, "re");
	size_t size;

	if (!file) {
		status = errno == ENOENT ? CEILINGS_MISSING : CEILINGS_UNREADABLE;
		say(words, "%s", strerror(errno));
		goto out;
	}
	if (!text) {
		say(words, "out of memory");
		goto out;
	}
	size = fread(text, 1, FILE_LIMIT + 1, file);
	if (ferror(file))
		say(words, "%s", strerror(errno));
	else if (size > FILE_LIMIT)
		say(words, "larger than ceilings ever are (1 MiB)");
	else
		status = ceilings_parse(ceilings, text, size, uuid, words);
out:
	if (file)
		fclose(file);
	free(text);
	return status;
}

/* It comes from a trace and becomes a file's name. */
static bool can_name_file(const char *uuid)
{
	size_t size =
		strspn(uuid, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");

	return size > 0 && size <= 64 && !uuid[size];
}

char *ceilings_path(const char *uuid)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	char *path;

	if (!uuid || !can_name_file(uuid))
		return NULL;
	/* A relative one is to be ignored (XDG Base Directory Specification). */
	if (data && *data == '/')
		return asprintf(&path, "%s/boundshim/ceilings/%s.json", data, uuid) < 0 ? NULL
											: path;
	if (!home || !*home)
		return NULL;
	return asprintf(&path, "%s/.local/share/boundshim/ceilings/%s.json", home, uuid) < 0 ? NULL
											     : path;
}

bool ceilings_of(struct ceilings *ceilings, const struct vocabulary *v, uint32_t device,
		 const char *from, struct ceilings_words *words)
{
	const char *uuid = vocabulary_text(v, device, "uuid");
	struct device_attributes attributes = device_attributes_of(v, device);
	enum ceilings_status status = CEILINGS_MISSING;
	char *kept;

	*ceilings = ceilings_derive(&attributes);
	if (from && !strcmp(from, "none"))
		return true;
	if (from)
		return ceilings_load(ceilings, from, uuid, words) == CEILINGS_OK;
	kept = ceilings_path(uuid);
	if (kept)
		status = ceilings_load(ceilings, kept, uuid, words);
	free(kept);
	return status == CEILINGS_OK || status == CEILINGS_MISSING;
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
