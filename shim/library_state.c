/* Looking which libraries are loaded. */
#define _GNU_SOURCE
#include "library_state.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "api.h"
#include "real.h"
#include "trace/schema.h"

_Atomic uint8_t library_seen[LIBRARIES];

enum state {
	ABSENT,
	LOADED,
	SEEN,
};

static enum state told[LIBRARIES];

/* dl_iterate_phdr callback: marks the libraries whose names these are. */
static int mark_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	enum state *now = data;

	(void)size;
	for (uint8_t i = BST_ENUM_LIBRARY_CUBLAS; i < LIBRARIES && info->dlpi_name; i++)
		if (real_is_library(info->dlpi_name, api_library_stem(i)))
			now[i] = LOADED;
	return 0;
}

void library_state_describe(struct output *output)
{
	static const char *const words[] = {
		[LOADED] = "loaded, no call seen", [SEEN] = "calls seen"};
	enum state now[LIBRARIES] = {ABSENT};
	char key[64];

	dl_iterate_phdr(mark_loaded, now);
	for (uint8_t i = BST_ENUM_LIBRARY_CUBLAS; i < LIBRARIES; i++) {
		if (atomic_load_explicit(&library_seen[i], memory_order_relaxed))
			now[i] = SEEN;
		if (now[i] <= told[i])
			continue;
		told[i] = now[i];
		snprintf(key, sizeof(key), "library.state.%s", bst_enum_name("library", i));
		output_meta(output, key, words[now[i]]);
	}
}

void library_state_reset(void)
{
	memset(told, 0, sizeof(told));
	for (unsigned i = 0; i < LIBRARIES; i++)
		atomic_store_explicit(&library_seen[i], 0, memory_order_relaxed);
}
