/* Files of `boundshim calibrate`: where they are kept, and what they say of a device. */
#ifndef CEILINGS_FILE_H
#define CEILINGS_FILE_H

#include "ceilings.h"

enum ceilings_status {
	CEILINGS_OK,
	CEILINGS_MISSING,      /* there is no such file */
	CEILINGS_UNREADABLE,   /* there is, and it cannot be read */
	CEILINGS_BROKEN,       /* it is no JSON, or an entry makes no sense */
	CEILINGS_FOREIGN,      /* it is JSON of another kind or version */
	CEILINGS_OTHER_DEVICE, /* it does not have this device */
};

/* What is wrong, in words; of a file by ceilings_of "PATH: why". */
struct ceilings_words {
	char text[1024];
};

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
 * Ceilings of the device with these attributes and this uuid: derived ones, and over them what a
 * file has. `from` is its path, "none" for derived ones only, or NULL for the file that calibrate
 * keeps, which may be missing. False, after words on why, where a file that is there (or was asked
 * for) cannot be used: then they are the derived ones.
 */
bool ceilings_of(struct ceilings *ceilings, const struct device_attributes *attributes,
		 const char *uuid, const char *from, struct ceilings_words *words);

#endif
