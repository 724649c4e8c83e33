/* Reads files of `boundshim calibrate`. */
#include "ceilings_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "boundshim.ceilings/1"
#define FILE_LIMIT (1 << 20)

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
		const json_t *entry = json_object_get(entries, ceiling_name((enum ceiling)i));
		struct measure measure = {0};
		const char *wrong;

		if (!entry || json_is_null(entry))
			continue;
		wrong = read_entry(entry, (enum ceiling)i, &measure);
		if (wrong) {
			say(words, "ceiling %s: %s", ceiling_name((enum ceiling)i), wrong);
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

/* Puts what the file has over `ceilings`; words with its path where that fails. */
static enum ceilings_status use_file(struct ceilings *ceilings, const char *path, const char *uuid,
				     struct ceilings_words *words)
{
	struct ceilings_words why = {""};
	enum ceilings_status status = ceilings_load(ceilings, path, uuid, &why);

	if (status != CEILINGS_OK)
		say(words, "%.600s: %s", path, why.text);
	return status;
}

bool ceilings_of(struct ceilings *ceilings, const struct device_attributes *attributes,
		 const char *uuid, const char *from, struct ceilings_words *words)
{
	enum ceilings_status status = CEILINGS_MISSING;
	char *kept;

	*ceilings = ceilings_derive(attributes);
	if (from && !strcmp(from, "none"))
		return true;
	if (from)
		return use_file(ceilings, from, uuid, words) == CEILINGS_OK;
	kept = ceilings_path(uuid);
	if (kept)
		status = use_file(ceilings, kept, uuid, words);
	free(kept);
	return status == CEILINGS_OK || status == CEILINGS_MISSING;
}
