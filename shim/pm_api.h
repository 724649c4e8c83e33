/* CUPTI's PM sampling as a table of functions; absent before CUDA 12.6. */
#ifndef PM_API_H
#define PM_API_H

#include <cupti_target.h>

#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>

struct pm_api {
#define CUPTI(name) __typeof__(&name) name;
#include "cupti_pm.def"
#undef CUPTI
};

/* Fills the table from the loaded libcupti. NULL, or the name of a function that it lacks. */
const char *pm_load(struct pm_api *api, void *libcupti);

/* A parameter struct of PM sampling, its size set as CUPTI wants it. */
#define PM_PARAMS(type, variable) type variable = {.structSize = type##_STRUCT_SIZE}

#endif
