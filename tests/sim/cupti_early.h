/* What the files of the stand-in libcupti share. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>

int cupti_stub(const char *name, int code);

#include <cupti.h>
#include <cupti_activity_deprecated.h>

#include "sim.h"

/* The newest layouts of CUDA 12.9 and of CUDA 13.0. */
#if SIM_CUPTI == 12
#include "gen_cupti12.h"
#include "layout12.h"
typedef CUpti_ActivityKernel9 sim_kernel_record;
#define SIM_CUPTI_VERSION 28
_Static_assert(sizeof(CUpti_ActivityKernel9) == KERNEL12_BYTES, "12.9's kernel record");
_Static_assert(offsetof(CUpti_ActivityKernel9, graphId) == KERNEL12_GRAPH, "12.9's kernel record");
_Static_assert(sizeof(CUpti_ActivityMemcpy6) == COPY12_BYTES, "12.9's copy record");
_Static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == PEER12_BYTES, "12.9's peer copy record");
_Static_assert(sizeof(CUpti_ActivityMemset4) == SET12_BYTES, "12.9's set record");
_Static_assert(sizeof(CUpti_ActivityOverhead3) == OVERHEAD12_BYTES, "12.9's overhead record");
#else
#include "gen_cupti13.h"
typedef CUpti_ActivityKernel10 sim_kernel_record;
#define SIM_CUPTI_VERSION 130001
#endif

/* A kind that no client knows and cuptiActivityGetNextRecord steps over. */
#define SIM_FUTURE_KIND 4000
#define SIM_FUTURE_BYTES 64

/* cupti.c: NULL while there is no libcuda.so.1. */
const struct sim_core *cupti_core(void);
/* The scripted failure of this call, or CUPTI_ERROR_NOT_INITIALIZED without a driver. */
CUptiResult cupti_enter(const char *function);
void cupti_listen(void);

/* cupti_activity.c */
void activity_api(const struct sim_call *call);
void activity_record(const struct sim_op *op);
bool activity_wants(enum sim_op_kind kind);
void activity_lazy_load(uint64_t begin_ns, uint64_t end_ns, uint32_t correlation);

/* cupti_callback.c */
void callback_api(struct sim_call *call, bool exit);
void callback_resource(uint32_t cbid, const void *data);
void callback_synchronized(uint32_t cbid, const void *data);
