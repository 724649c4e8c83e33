/* Shared by the files that implement driver functions. */
#pragma once

#include "gen_cuda.h"
#include "gpu.h"

/* The stream that a call's handle means; CUDA_ERROR_INVALID_CONTEXT or _HANDLE where there is none.
 */
int call_stream(CUstream handle, const struct sim_call *call, struct CUstream_st **stream);
/* Enqueues, or adds a node where the stream captures. */
int call_submit(struct CUstream_st *stream, CUgraphNodeType type, struct work *work,
		struct sim_call *call);
/* driver_copy.c: fills work from a driver copy, a set, for calls and graph nodes alike. */
int copy_work(const CUDA_MEMCPY3D *copy, struct work *work);
int set_work(const CUDA_MEMSET_NODE_PARAMS *set, struct work *work);
