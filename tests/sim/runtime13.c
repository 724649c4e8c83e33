/* Runtime stand-in: the functions whose CUDA 13 form differs from CUDA 12's. */
#include <string.h>

IMPL(cudaGetDeviceProperties)
{
	struct cudaDeviceProp *prop = p->prop;
	int err = D(cuInit)(0), value = 0;

	if (!prop)
		return cudaErrorInvalidValue;
	memset(prop, 0, sizeof(*prop));
	if (!err)
		err = D(cuDeviceGetName)(prop->name, sizeof(prop->name), p->device);
	if (err)
		return err;
	D(cuDeviceTotalMem)(&prop->totalGlobalMem, p->device);
#define GET(field, attribute)                                                                      \
	D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_##attribute, p->device);               \
	prop->field = (__typeof__(prop->field))value
	GET(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK);
	GET(regsPerBlock, MAX_REGISTERS_PER_BLOCK);
	GET(warpSize, WARP_SIZE);
	GET(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK);
	GET(major, COMPUTE_CAPABILITY_MAJOR);
	GET(minor, COMPUTE_CAPABILITY_MINOR);
	GET(multiProcessorCount, MULTIPROCESSOR_COUNT);
	GET(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH);
	GET(l2CacheSize, L2_CACHE_SIZE);
	GET(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR);
	GET(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	GET(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
	GET(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	GET(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
	GET(concurrentKernels, CONCURRENT_KERNELS);
	GET(asyncEngineCount, ASYNC_ENGINE_COUNT);
	GET(unifiedAddressing, UNIFIED_ADDRESSING);
	GET(managedMemory, MANAGED_MEMORY);
	GET(cooperativeLaunch, COOPERATIVE_LAUNCH);
	GET(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED);
	GET(pciBusID, PCI_BUS_ID);
#undef GET
	return 0;
}

IMPL(cudaStreamGetCaptureInfo)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamGetCaptureInfo,
			"_ptsz")(p->stream, (CUstreamCaptureStatus *)p->captureStatus_out,
				 (cuuint64_t *)p->id_out, p->graph_out, p->dependencies_out,
				 (const CUgraphEdgeData **)p->edgeData_out, p->numDependencies_out);
}

IMPL(cudaStreamUpdateCaptureDependencies)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamUpdateCaptureDependencies, "_ptsz")(
			     p->stream, p->dependencies, (const CUgraphEdgeData *)p->dependencyData,
			     p->numDependencies, p->flags);
}

IMPL(cudaMemPrefetchAsync)
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
	return D(cuGraphAddDependencies)(p->graph, p->from, p->to,
					 (const CUgraphEdgeData *)p->edgeData, p->numDependencies);
}

IMPL(cudaGraphNodeGetDependencies)
{
	return D(cuGraphNodeGetDependencies)(p->node, p->pDependencies, NULL, p->pNumDependencies);
}

IMPL(cudaMemPrefetchBatchAsync)
{
	return runtime_ready();
}

IMPL(cudaMemDiscardBatchAsync)
{
	return runtime_ready();
}

IMPL(cudaMemDiscardAndPrefetchBatchAsync)
{
	return runtime_ready();
}
