/* CUPTI as a table of functions, found in this process or loaded late. */
#ifndef CUPTI_API_H
#define CUPTI_API_H

#include <cupti.h>
#include <stddef.h>
#include <stdint.h>

struct cupti_api {
#define CUPTI(name, needed) __typeof__(&name) name;
#include "cupti_api.def"
#undef CUPTI
	void *handle;     /* of dlopen */
	uint32_t version; /* as cuptiGetVersion says: 28 = 12.9, 130001 = 13.0 update 1 */
	char path[4096];
};

/* dlopen's handle of the libcupti that the program has loaded; NULL if it has none. Any thread. */
void *cupti_loaded(void);

/*
 * Fills the table: the libcupti that the program has loaded, else `wanted` (BOUNDSHIM_CUPTI, may be NULL), else the one beside the
 * CUDA libraries in use. 0, or -1 with a sentence in `reason`. Loads a library at most once and never unloads it.
 */
int cupti_load(struct cupti_api *api, const char *wanted, char *reason, size_t size);

#endif
