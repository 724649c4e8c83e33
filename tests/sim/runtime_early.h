/* What the files of the stand-in libcudart share. It calls the driver as the real one does. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>

struct sim_api;
struct sim_call;
int runtime_invoke(const struct sim_api *api, const void *params,
		   int (*impl)(const void *params, struct sim_call *call));
int runtime_stub(const char *name, int code);

#if SIM_CUDART == 12
#include "gen_cudart12.h"
#else
#include "gen_cudart13.h"
#endif

#define RT_STRING_(x) #x
#define RT_STRING(x) RT_STRING_(x)
/* The driver function that cuda.h's name means, e.g. D(cuMemAlloc) is cuMemAlloc_v2. */
#define D(function)                                                                                \
	({                                                                                         \
		static void *slot_;                                                                \
		(__typeof__(&function))runtime_driver(&slot_, RT_STRING(function), "");            \
	})
/* The same, or its per-thread twin when the running call is one. */
#define DT(call, function, twin)                                                                   \
	({                                                                                         \
		static void *plain_, *twin_;                                                       \
		(call)->api->per_thread                                                            \
			? (__typeof__(&function))runtime_driver(&twin_, RT_STRING(function), twin) \
			: (__typeof__(&function))runtime_driver(&plain_, RT_STRING(function), ""); \
	})

void *runtime_driver(void **slot, const char *name, const char *suffix);
const struct sim_core *runtime_core(void);
/* Makes the thread's device current, initialising what is not yet. */
int runtime_ready(void);
int runtime_device(void);
/* The driver's kernel behind a host function or a cudaKernel_t; NULL when nobody registered it. */
CUfunction runtime_function(const void *func);
const char *runtime_name(const void *func);
void *runtime_symbol(const void *symbol, size_t *bytes);
void runtime_know(CUfunction f);
int runtime_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
		   cudaStream_t stream, struct sim_call *call);
/* runtime_copy.c */
int runtime_copy_params(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);
