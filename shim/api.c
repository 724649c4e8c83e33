/* The names, classes and libraries of API calls, from hooks.def, library.def and driver.def. */
#include "api.h"

#include <stddef.h>
#include <string.h>

#include "trace/format.h"

static const struct api_info hooks[API_HOOK_COUNT] = {
#define HOOK(name, CLASS, params, args, stream, bytes, object)                                     \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},
#define HOOK_PTSZ(name, CLASS, params, args, stream, bytes, object)                                \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},                   \
	[API_##name##_ptsz] = {#name "_ptsz", BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},
#define HOOK_PTDS(name, CLASS, params, args, stream, bytes, object)                                \
	[API_##name] = {#name, BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},                   \
	[API_##name##_ptds] = {#name "_ptds", BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},
#include "hooks.def"
#undef HOOK
#undef HOOK_PTSZ
#undef HOOK_PTDS
#define CALL(name, LIBRARY, FAMILY, TYPE)                                                          \
	[API_##name] = {#name, BST_ENUM_CLASS_LIBRARY, BST_ENUM_LIBRARY_##LIBRARY},
#define CALL_64(name, LIBRARY, FAMILY, TYPE)                                                       \
	[API_##name] = {#name, BST_ENUM_CLASS_LIBRARY, BST_ENUM_LIBRARY_##LIBRARY},                \
	[API_##name##_64] = {#name "_64", BST_ENUM_CLASS_LIBRARY, BST_ENUM_LIBRARY_##LIBRARY},
#define OWN(name, LIBRARY)                                                                         \
	[API_##name] = {#name, BST_ENUM_CLASS_LIBRARY, BST_ENUM_LIBRARY_##LIBRARY},
#define GETTER(name, LIBRARY)                                                                      \
	[API_##name] = {#name, BST_ENUM_CLASS_QUERY, BST_ENUM_LIBRARY_##LIBRARY},
#include "library.def"
#undef CALL
#undef CALL_64
#undef OWN
#undef GETTER
};

static const struct api_info wanted[] = {
#define DRIVER(name, CLASS) {#name, BST_ENUM_CLASS_##CLASS, BST_ENUM_LIBRARY_CUDART},
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
		driver[callback_id] = (struct api_info){.name = name, .class = wanted[i].class};
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
	return (struct api_info){.name = NULL};
}

const char *api_library_stem(uint8_t library)
{
	static const char *const stems[] = {
		[BST_ENUM_LIBRARY_CUDART] = "libcudart",
		[BST_ENUM_LIBRARY_CUBLAS] = "libcublas",
		[BST_ENUM_LIBRARY_CUBLASLT] = "libcublasLt",
		[BST_ENUM_LIBRARY_CUDNN] = "libcudnn",
		[BST_ENUM_LIBRARY_NCCL] = "libnccl",
	};

	return library < sizeof(stems) / sizeof(stems[0]) ? stems[library] : NULL;
}

int api_is_device_operation(uint8_t class)
{
	return class == BST_ENUM_CLASS_LAUNCH || class == BST_ENUM_CLASS_GRAPH_LAUNCH ||
	       class == BST_ENUM_CLASS_COPY || class == BST_ENUM_CLASS_SET ||
	       class == BST_ENUM_CLASS_PREFETCH;
}
