/* Runtime stand-in: the functions whose CUDA 12 form differs from CUDA 13's, and those 13 dropped.
 */
#include <string.h>

#include "layout12.h"

/* cudaDeviceProp of CUDA 12.9, with what nobody fills as gaps. Its size and offsets are part of
 * that ABI; layout12.c compares them with the real header where there is one. */
struct device_prop12 {
	char name[256];
	char uuid[16], luid[8];
	unsigned int luid_mask;
	size_t total_global_mem, shared_per_block;
	int regs_per_block, warp_size;
	size_t mem_pitch;
	int max_threads_per_block, max_threads_dim[3], max_grid_size[3], clock_rate;
	size_t total_const_mem;
	int major, minor;
	size_t texture_alignment, texture_pitch_alignment;
	int device_overlap, multi_processor_count, timeout, integrated, can_map_host_memory,
		compute_mode;
	int textures_and_surfaces[40];
	size_t surface_alignment;
	int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, async_engines,
		unified_addressing;
	int memory_clock_rate, memory_bus_width, l2_bytes, persisting_l2, max_threads_per_sm;
	int stream_priorities, global_l1, local_l1;
	size_t shared_per_sm;
	int regs_per_sm, managed, multi_gpu, multi_gpu_group, atomics, double_ratio, pageable,
		concurrent_managed;
	int preemption, host_pointer, cooperative, cooperative_multi;
	size_t shared_per_block_optin;
	int page_tables, direct_managed, max_blocks_per_sm, access_window;
	size_t reserved_shared;
	int rest[8];
	unsigned int handle_types;
	int more[4];
	int reserved[63];
};
_Static_assert(sizeof(struct device_prop12) == PROP12_BYTES, "CUDA 12.9");
_Static_assert(offsetof(struct device_prop12, major) == PROP12_MAJOR, "CUDA 12.9");
_Static_assert(offsetof(struct device_prop12, multi_processor_count) == PROP12_SMS, "CUDA 12.9");
_Static_assert(offsetof(struct device_prop12, l2_bytes) == PROP12_L2, "CUDA 12.9");
_Static_assert(offsetof(struct device_prop12, shared_per_sm) == PROP12_SM_SHARED, "CUDA 12.9");
_Static_assert(offsetof(struct device_prop12, max_blocks_per_sm) == PROP12_BLOCKS_PER_SM,
	       "CUDA 12.9");

static int properties(void *out, int device)
{
	struct device_prop12 *prop = out;
	int err = D(cuInit)(0), value = 0;

	if (!prop)
		return cudaErrorInvalidValue;
	memset(prop, 0, sizeof(*prop));
	if (!err)
		err = D(cuDeviceGetName)(prop->name, sizeof(prop->name), device);
	if (err)
		return err;
	D(cuDeviceTotalMem)(&prop->total_global_mem, device);
#define GET(field, attribute)                                                                      \
	D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_##attribute, device);                  \
	prop->field = (__typeof__(prop->field))value
	GET(shared_per_block, MAX_SHARED_MEMORY_PER_BLOCK);
	GET(regs_per_block, MAX_REGISTERS_PER_BLOCK);
	GET(warp_size, WARP_SIZE);
	GET(max_threads_per_block, MAX_THREADS_PER_BLOCK);
	GET(clock_rate, CLOCK_RATE);
	GET(major, COMPUTE_CAPABILITY_MAJOR);
	GET(minor, COMPUTE_CAPABILITY_MINOR);
	GET(multi_processor_count, MULTIPROCESSOR_COUNT);
	GET(memory_clock_rate, MEMORY_CLOCK_RATE);
	GET(memory_bus_width, GLOBAL_MEMORY_BUS_WIDTH);
	GET(l2_bytes, L2_CACHE_SIZE);
	GET(max_threads_per_sm, MAX_THREADS_PER_MULTIPROCESSOR);
	GET(shared_per_sm, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	GET(regs_per_sm, MAX_REGISTERS_PER_MULTIPROCESSOR);
	GET(shared_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	GET(max_blocks_per_sm, MAX_BLOCKS_PER_MULTIPROCESSOR);
	GET(concurrent_kernels, CONCURRENT_KERNELS);
	GET(async_engines, ASYNC_ENGINE_COUNT);
#undef GET
	return 0;
}

IMPL(cudaGetDeviceProperties_v2)
{
	return properties(p->prop, p->device);
}

/* cuda.h of CUDA 13 declares the newest forms; the older ones are looked up by name. */
static void *older(void **slot, const struct sim_call *call, const char *name)
{
	return runtime_driver(slot, name, call->api->per_thread ? "_ptsz" : "");
}

static int capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
			unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **deps,
			const cudaGraphEdgeData **edges, size_t *count, struct sim_call *call)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamGetCaptureInfo,
			"_ptsz")(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph,
				 deps, (const CUgraphEdgeData **)edges, count);
}

IMPL(cudaStreamGetCaptureInfo)
{
	return capture_info(p->stream, p->captureStatus_out, p->id_out, NULL, NULL, NULL, NULL,
			    call);
}

IMPL(cudaStreamGetCaptureInfo_v2)
{
	return capture_info(p->stream, p->captureStatus_out, p->id_out, p->graph_out,
			    p->dependencies_out, NULL, p->numDependencies_out, call);
}

IMPL(cudaStreamGetCaptureInfo_v3)
{
	return capture_info(p->stream, p->captureStatus_out, p->id_out, p->graph_out,
			    p->dependencies_out, p->edgeData_out, p->numDependencies_out, call);
}

IMPL(cudaStreamUpdateCaptureDependencies)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamUpdateCaptureDependencies,
			"_ptsz")(p->stream, p->dependencies, NULL, p->numDependencies, p->flags);
}

IMPL(cudaStreamUpdateCaptureDependencies_v2)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamUpdateCaptureDependencies, "_ptsz")(
			     p->stream, p->dependencies, (const CUgraphEdgeData *)p->dependencyData,
			     p->numDependencies, p->flags);
}

IMPL(cudaMemPrefetchAsync)
{
	static void *plain, *twin;
	int (*prefetch)(CUdeviceptr, size_t, CUdevice, CUstream) =
		(int (*)(CUdeviceptr, size_t, CUdevice, CUstream))older(
			call->api->per_thread ? &twin : &plain, call, "cuMemPrefetchAsync");
	int err = runtime_ready();

	return err ? err : prefetch((CUdeviceptr)p->devPtr, p->count, p->dstDevice, p->stream);
}

IMPL(cudaMemPrefetchAsync_v2)
{
	CUmemLocation where = {(CUmemLocationType)p->location.type, p->location.id};
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemPrefetchAsync, "_ptsz")((CUdeviceptr)p->devPtr, p->count, where,
							   p->flags, p->stream);
}

IMPL(cudaMemAdvise)
{
	return runtime_ready();
}

IMPL(cudaMemAdvise_v2)
{
	return runtime_ready();
}

IMPL(cudaMemcpyBatchAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemcpyBatchAsync,
			"_ptsz")((CUdeviceptr *)p->dsts, (CUdeviceptr *)p->srcs, (size_t *)p->sizes,
				 p->count, (CUmemcpyAttributes *)p->attrs, p->attrsIdxs,
				 p->numAttrs, p->stream);
}

IMPL(cudaMemcpy3DBatchAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemcpy3DBatchAsync, "_ptsz")(
			     p->numOps, (CUDA_MEMCPY3D_BATCH_OP *)p->opList, p->flags, p->stream);
}

IMPL(cudaGraphAddDependencies)
{
	return D(cuGraphAddDependencies)(p->graph, p->from, p->to, NULL, p->numDependencies);
}

IMPL(cudaGraphAddDependencies_v2)
{
	return D(cuGraphAddDependencies)(p->graph, p->from, p->to,
					 (const CUgraphEdgeData *)p->edgeData, p->numDependencies);
}

IMPL(cudaGraphNodeGetDependencies)
{
	return D(cuGraphNodeGetDependencies)(p->node, p->pDependencies, NULL, p->pNumDependencies);
}

IMPL(cudaEventElapsedTime_v2)
{
	int err = runtime_ready();

	return err ? err : D(cuEventElapsedTime)(p->ms, p->start, p->end);
}

IMPL(cudaThreadSynchronize)
{
	int err = runtime_ready();

	return err ? err : D(cuCtxSynchronize)();
}

IMPL(cudaThreadExit)
{
	CUdevice dev;
	int err = runtime_ready();

	if (!err)
		err = D(cuDeviceGet)(&dev, runtime_device());
	return err ? err : D(cuDevicePrimaryCtxReset)(dev);
}
