/* The names and classes of API calls, from hooks.def and driver.def. */
#include "api.h"

#include <stddef.h>
#include <string.h>

#include "trace/format.h"

static const struct api_info hooks[API_HOOK_COUNT] = {
#define HOOK(name, CLASS, params, args, stream, bytes, object) \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS},
#define HOOK_PTSZ(name, CLASS, params, args, stream, bytes, object) \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS},             \
	[API_##name##_ptsz] = {#name "_ptsz", BST_ENUM_CLASS_##CLASS},
#define HOOK_PTDS(name, CLASS, params, args, stream, bytes, object) \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS},             \
	[API_##name##_ptds] = {#name "_ptds", BST_ENUM_CLASS_##CLASS},
#include "hooks.def"
#undef HOOK
#undef HOOK_PTSZ
#undef HOOK_PTDS
};

static const struct api_info wanted[] = {
#define DRIVER(name, CLASS) {#name, BST_ENUM_CLASS_##CLASS},
#include "driver.def"
#undef DRIVER
};

static struct api_info driver[API_DRIVER_LIMIT];

/* Length of a driver function's name without version and stream suffixes: cuMemcpyHtoDAsync_v2_ptsz is cuMemcpyHtoDAsync. */
static size_t stem(const char *name)
{
	size_t n = strcspn(name, "_");

	return n;
}

int api_learn_driver(uint32_t callback_id, const char *name)
{
	size_t n = stem(name);

	if (callback_id >= API_DRIVER_LIMIT)
		return -1;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		if (strlen(wanted[i].name) != n || strncmp(wanted[i].name, name, n) != 0)
			continue;
		driver[callback_id] = (struct api_info){name, wanted[i].class};
		return wanted[i].class;
	}
	return -1;
}

struct api_info api_info(uint16_t api)
{
	if (api < API_HOOK_COUNT)
		return hooks[api];
	if (api >= API_DRIVER_BASE && api < API_LIMIT)
		return driver[api - API_DRIVER_BASE];
	return (struct api_info){NULL, 0};
}

int api_is_device_operation(uint8_t class)
{
	return class == BST_ENUM_CLASS_LAUNCH || class == BST_ENUM_CLASS_GRAPH_LAUNCH ||
	       class == BST_ENUM_CLASS_COPY || class == BST_ENUM_CLASS_SET ||
	       class == BST_ENUM_CLASS_PREFETCH;
}
