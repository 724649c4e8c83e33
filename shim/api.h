/* Numbers of the API calls that the shim knows: hooks from hooks.def and library.def, driver functions by their CUPTI callback id. */
#ifndef API_H
#define API_H

#include <stdint.h>

enum api {
	API_NONE,
#define HOOK(name, CLASS, params, args, stream, bytes, object) API_##name,
#define HOOK_PTSZ(name, CLASS, params, args, stream, bytes, object) API_##name, API_##name##_ptsz,
#define HOOK_PTDS(name, CLASS, params, args, stream, bytes, object) API_##name, API_##name##_ptds,
#include "hooks.def"
#undef HOOK
#undef HOOK_PTSZ
#undef HOOK_PTDS
#define CALL(name, LIBRARY, FAMILY, TYPE) API_##name,
#define CALL_64(name, LIBRARY, FAMILY, TYPE) API_##name, API_##name##_64,
#define OWN(name, LIBRARY) API_##name,
#define GETTER(name, LIBRARY) API_##name,
#include "library.def"
#undef CALL
#undef CALL_64
#undef OWN
#undef GETTER
	API_HOOK_COUNT,
	API_DRIVER_BASE = 1024,
	API_DRIVER_LIMIT = 2048, /* CUPTI 13.0 has 800 driver callback ids */
	API_LIMIT = API_DRIVER_BASE + API_DRIVER_LIMIT,
};

_Static_assert(API_HOOK_COUNT <= API_DRIVER_BASE, "hooks and driver calls have numbers apart");

struct api_info {
	const char *name;
	uint8_t class;   /* BST_ENUM_CLASS_* */
	uint8_t library; /* BST_ENUM_LIBRARY_*: which one has the function; of hooks */
};

/* Name and class of a call; name NULL if unknown. */
struct api_info api_info(uint16_t api);

/* A driver function as CUPTI names it: remembers the name (which must stay valid) and returns its class, or -1 if not wanted. */
int api_learn_driver(uint32_t callback_id, const char *name);

/* What the file name of a library (BST_ENUM_LIBRARY_*) begins with: "libcublas". NULL if there is no such library. */
const char *api_library_stem(uint8_t library);

/* Does a call of this class put work on a device? */
int api_is_device_operation(uint8_t class);

#endif
