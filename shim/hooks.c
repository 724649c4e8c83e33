/* The wrappers: record around the real function, return what it returned. One body for all, from hooks.def. */
#include <stdint.h>

#include "api.h"
#include "cuda_abi.h"
#include "real.h"
#include "recorder.h"

/*
 * A breakpoint on cudaLaunchKernel stops here. When the call is not recorded (tracing off, or made inside another hooked one) it
 * goes straight through. A function that nobody provides cannot have been meant to work: the error says so.
 */
#define WRAPPER(name, params, args, stream_, bytes_, object_)                                      \
	int name params;                                                                           \
	int name params                                                                            \
	{                                                                                          \
		int(*real) params =                                                                \
			(int(*) params)real_function(API_##name, __builtin_return_address(0));     \
		struct call_result result;                                                         \
		struct call call;                                                                  \
                                                                                                   \
		if (!real)                                                                         \
			return CUDA_SYMBOL_NOT_FOUND;                                              \
		if (!recorder_begin(&call, API_##name))                                            \
			return real args;                                                          \
		result.error = real args;                                                          \
		result.stream = (uint64_t)(uintptr_t)(stream_);                                    \
		result.bytes = (uint64_t)(bytes_);                                                 \
		result.object = (uint64_t)(uintptr_t)(object_);                                    \
		recorder_end(&call, &result);                                                      \
		return result.error;                                                               \
	}

#define HOOK(name, CLASS, params, args, stream, bytes, object)                                     \
	WRAPPER(name, params, args, stream, bytes, object)
#define HOOK_PTSZ(name, CLASS, params, args, stream, bytes, object)                                \
	WRAPPER(name, params, args, stream, bytes, object)                                         \
	WRAPPER(name##_ptsz, params, args, stream, bytes, object)
#define HOOK_PTDS(name, CLASS, params, args, stream, bytes, object)                                \
	WRAPPER(name, params, args, stream, bytes, object)                                         \
	WRAPPER(name##_ptds, params, args, stream, bytes, object)

#pragma GCC visibility push(default)
#include "hooks.def"
#pragma GCC visibility pop
