/* Runtime stand-in: the way to the driver, errors, devices, memory, streams, events. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *_Atomic driver;
static const struct sim_core *_Atomic core;
static __thread cudaError_t last_error;
static __thread int device;
static CUcontext retained[64];
static pthread_mutex_t retain_lock = PTHREAD_MUTEX_INITIALIZER;

/* By name and late, as the real one: a program may run without any driver. */
static void *driver_library(void)
{
	if (!atomic_load(&driver))
		atomic_store(&driver, dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
	return atomic_load(&driver);
}

void *runtime_driver(void **slot, const char *name, const char *suffix)
{
	void *found = __atomic_load_n(slot, __ATOMIC_RELAXED);
	char full[128];

	if (found)
		return found;
	snprintf(full, sizeof(full), "%s%s", name, suffix);
	found = driver_library() ? dlsym(driver_library(), full) : NULL;
	if (!found) {
		fprintf(stderr, "sim: libcuda.so.1 lacks %s\n", full);
		abort();
	}
	__atomic_store_n(slot, found, __ATOMIC_RELAXED);
	return found;
}

const struct sim_core *runtime_core(void)
{
	const struct sim_core *(*get)(void);

	if (atomic_load(&core))
		return atomic_load(&core);
	get = driver_library()
		      ? (const struct sim_core *(*)(void))dlsym(driver_library(), SIM_CORE_SYMBOL)
		      : NULL;
	if (get)
		atomic_store(&core, get());
	return atomic_load(&core);
}

int runtime_device(void)
{
	return device;
}

static int ready(void)
{
	CUcontext current = runtime_core()->current_context();
	CUdevice dev;
	int err;

	if (current && runtime_core()->context_id(current))
		return 0;
	err = D(cuInit)(0);
	if (!err)
		err = D(cuDeviceGet)(&dev, device);
	if (err)
		return err;
	pthread_mutex_lock(&retain_lock);
	if (!retained[device] || !runtime_core()->context_id(retained[device]))
		err = D(cuDevicePrimaryCtxRetain)(&retained[device], dev);
	pthread_mutex_unlock(&retain_lock);
	return err ? err : D(cuCtxSetCurrent)(retained[device]);
}

/* The first call's own cost is not spent in what it had to initialise. */
int runtime_ready(void)
{
	struct sim_call *call = runtime_core()->current_call();
	uint64_t cost = call ? call->cost_ns : 0;
	int err;

	if (call)
		call->cost_ns = 0;
	err = ready();
	if (call)
		call->cost_ns = cost;
	return err;
}

static int fail(int err)
{
	if (err)
		last_error = (cudaError_t)err;
	return err;
}

int runtime_invoke(const struct sim_api *api, const void *params, sim_impl impl)
{
	int err;

	if (!runtime_core())
		return fail(cudaErrorInsufficientDriver);
	err = runtime_core()->invoke(api, params, impl);
	/* These two report an error, they do not make one. */
	if (!strcmp(api->name, "cudaGetLastError") || !strcmp(api->name, "cudaPeekAtLastError"))
		return err;
	return fail(err);
}

int runtime_stub(const char *name, int code)
{
	int fault = runtime_core() ? runtime_core()->fault(name) : 0;

	return fail(fault ? fault : code);
}

IMPL(cudaGetLastError)
{
	cudaError_t err = last_error;

	last_error = cudaSuccess;
	return err;
}

IMPL(cudaPeekAtLastError)
{
	return last_error;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
#define E(name, text)                                                                              \
	{                                                                                          \
		name, #name, text                                                                  \
	}
	E(cudaSuccess, "no error"),
	E(cudaErrorInvalidValue, "invalid argument"),
	E(cudaErrorMemoryAllocation, "out of memory"),
	E(cudaErrorInitializationError, "initialization error"),
	E(cudaErrorCudartUnloading, "driver shutting down"),
	E(cudaErrorInvalidConfiguration, "invalid configuration argument"),
	E(cudaErrorInsufficientDriver,
	  "CUDA driver version is insufficient for CUDA runtime version"),
	E(cudaErrorInvalidDeviceFunction, "invalid device function"),
	E(cudaErrorNoDevice, "no CUDA-capable device is detected"),
	E(cudaErrorInvalidDevice, "invalid device ordinal"),
	E(cudaErrorInvalidResourceHandle, "invalid resource handle"),
	E(cudaErrorNotReady, "device not ready"),
	E(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
	E(cudaErrorLaunchFailure, "unspecified launch failure"),
	E(cudaErrorNotSupported, "operation not supported"),
	E(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"),
	E(cudaErrorStreamCaptureInvalidated,
	  "operation failed due to a previous error during capture"),
#undef E
};

EXPORTED(cudaGetErrorName)
const char *cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == (int)error)
			return errors[i].name;
	return "unrecognized error code";
}

EXPORTED(cudaGetErrorString)
const char *cudaGetErrorString(cudaError_t error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].code == (int)error)
			return errors[i].text;
	return "unrecognized error code";
}

IMPL(cudaDriverGetVersion)
{
	return D(cuDriverGetVersion)(p->driverVersion);
}

IMPL(cudaRuntimeGetVersion)
{
	*p->runtimeVersion = SIM_CUDART == 12 ? 12090 : 13000;
	return 0;
}

IMPL(cudaGetDeviceCount)
{
	int err = D(cuInit)(0);

	*p->count = 0;
	return err ? err : D(cuDeviceGetCount)(p->count);
}

IMPL(cudaGetDevice)
{
	*p->device = device;
	return 0;
}

static int set_device(int want)
{
	CUdevice dev;
	int err = D(cuInit)(0);

	if (!err)
		err = D(cuDeviceGet)(&dev, want);
	if (err)
		return err;
	device = want;
	pthread_mutex_lock(&retain_lock);
	if (!retained[device] || !runtime_core()->context_id(retained[device]))
		err = D(cuDevicePrimaryCtxRetain)(&retained[device], dev);
	pthread_mutex_unlock(&retain_lock);
	return err ? err : D(cuCtxSetCurrent)(retained[device]);
}

IMPL(cudaSetDevice)
{
	return set_device(p->device);
}

IMPL(cudaInitDevice)
{
	return set_device(p->device);
}

IMPL(cudaSetDeviceFlags)
{
	return 0;
}

IMPL(cudaGetDeviceFlags)
{
	*p->flags = 0;
	return 0;
}

IMPL(cudaDeviceSynchronize)
{
	int err = runtime_ready();

	return err ? err : D(cuCtxSynchronize)();
}

IMPL(cudaDeviceReset)
{
	CUdevice dev;
	int err = D(cuInit)(0);

	if (!err)
		err = D(cuDeviceGet)(&dev, device);
	return err ? err : D(cuDevicePrimaryCtxReset)(dev);
}

IMPL(cudaDeviceGetAttribute)
{
	int err = D(cuInit)(0);

	return err ? err
		   : D(cuDeviceGetAttribute)(p->value, (CUdevice_attribute)p->attr, p->device);
}

IMPL(cudaDeviceGetPCIBusId)
{
	int err = D(cuInit)(0);

	return err ? err : D(cuDeviceGetPCIBusId)(p->pciBusId, p->len, p->device);
}

IMPL(cudaDeviceCanAccessPeer)
{
	int err = D(cuInit)(0);

	return err ? err : D(cuDeviceCanAccessPeer)(p->canAccessPeer, p->device, p->peerDevice);
}

IMPL(cudaDeviceEnablePeerAccess)
{
	return runtime_ready();
}

IMPL(cudaDeviceDisablePeerAccess)
{
	return runtime_ready();
}

IMPL(cudaDeviceGetStreamPriorityRange)
{
	int err = runtime_ready();

	return err ? err : D(cuCtxGetStreamPriorityRange)(p->leastPriority, p->greatestPriority);
}

IMPL(cudaDeviceGetLimit)
{
	int err = runtime_ready();

	return err ? err : D(cuCtxGetLimit)(p->pValue, (CUlimit)p->limit);
}

IMPL(cudaDeviceSetLimit)
{
	int err = runtime_ready();

	return err ? err : D(cuCtxSetLimit)((CUlimit)p->limit, p->value);
}

IMPL(cudaDeviceGetDefaultMemPool)
{
	int err = D(cuInit)(0);

	return err ? err : D(cuDeviceGetDefaultMemPool)((CUmemoryPool *)p->memPool, p->device);
}

IMPL(cudaDeviceGetMemPool)
{
	int err = D(cuInit)(0);

	return err ? err : D(cuDeviceGetMemPool)((CUmemoryPool *)p->memPool, p->device);
}

IMPL(cudaMemPoolSetAttribute)
{
	return D(cuMemPoolSetAttribute)((CUmemoryPool)p->memPool, (CUmemPool_attribute)p->attr,
					p->value);
}

IMPL(cudaMemPoolGetAttribute)
{
	return D(cuMemPoolGetAttribute)((CUmemoryPool)p->memPool, (CUmemPool_attribute)p->attr,
					p->value);
}

IMPL(cudaMemPoolTrimTo)
{
	return D(cuMemPoolTrimTo)((CUmemoryPool)p->memPool, p->minBytesToKeep);
}

IMPL(cudaProfilerStart)
{
	return 0;
}

IMPL(cudaProfilerStop)
{
	return 0;
}

IMPL(cudaMalloc)
{
	int err = runtime_ready();

	if (err)
		return err;
	if (!p->devPtr)
		return cudaErrorInvalidValue;
	if (!p->size) {
		*p->devPtr = NULL;
		return 0;
	}
	return D(cuMemAlloc)((CUdeviceptr *)p->devPtr, p->size);
}

IMPL(cudaMallocManaged)
{
	int err = runtime_ready();

	return err ? err : D(cuMemAllocManaged)((CUdeviceptr *)p->devPtr, p->size, p->flags);
}

IMPL(cudaMallocPitch)
{
	int err = runtime_ready();

	return err ? err
		   : D(cuMemAllocPitch)((CUdeviceptr *)p->devPtr, p->pitch, p->width, p->height,
					16);
}

IMPL(cudaMalloc3D)
{
	size_t pitch;
	CUdeviceptr base;
	int err = runtime_ready();

	if (!err)
		err = D(cuMemAllocPitch)(&base, &pitch, p->extent.width,
					 p->extent.height * p->extent.depth, 16);
	if (err)
		return err;
	p->pitchedDevPtr->ptr = (void *)base;
	p->pitchedDevPtr->pitch = pitch;
	p->pitchedDevPtr->xsize = p->extent.width;
	p->pitchedDevPtr->ysize = p->extent.height;
	return 0;
}

IMPL(cudaFree)
{
	int err = runtime_ready();

	if (err || !p->devPtr)
		return err;
	return D(cuMemFree)((CUdeviceptr)p->devPtr);
}

IMPL(cudaMallocAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemAllocAsync, "_ptsz")((CUdeviceptr *)p->devPtr, p->size,
							p->hStream);
}

IMPL(cudaMallocFromPoolAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemAllocFromPoolAsync, "_ptsz")(
			     (CUdeviceptr *)p->ptr, p->size, (CUmemoryPool)p->memPool, p->stream);
}

IMPL(cudaFreeAsync)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuMemFreeAsync, "_ptsz")((CUdeviceptr)p->devPtr, p->hStream);
}

IMPL(cudaMallocHost)
{
	int err = runtime_ready();

	return err ? err : D(cuMemHostAlloc)(p->ptr, p->size, 0);
}

IMPL(cudaHostAlloc)
{
	int err = runtime_ready();

	return err ? err : D(cuMemHostAlloc)(p->pHost, p->size, p->flags);
}

IMPL(cudaFreeHost)
{
	int err = runtime_ready();

	return err ? err : D(cuMemFreeHost)(p->ptr);
}

IMPL(cudaHostRegister)
{
	int err = runtime_ready();

	return err ? err : D(cuMemHostRegister)(p->ptr, p->size, p->flags);
}

IMPL(cudaHostUnregister)
{
	int err = runtime_ready();

	return err ? err : D(cuMemHostUnregister)(p->ptr);
}

IMPL(cudaHostGetDevicePointer)
{
	int err = runtime_ready();

	return err ? err
		   : D(cuMemHostGetDevicePointer)((CUdeviceptr *)p->pDevice, p->pHost, p->flags);
}

IMPL(cudaHostGetFlags)
{
	int err = runtime_ready();

	return err ? err : D(cuMemHostGetFlags)(p->pFlags, p->pHost);
}

IMPL(cudaMemGetInfo)
{
	int err = runtime_ready();

	return err ? err : D(cuMemGetInfo)(p->free, p->total);
}

IMPL(cudaPointerGetAttributes)
{
	unsigned int type = 0, managed = 0;
	int where = 0;
	int err = runtime_ready();

	if (err)
		return err;
	memset(p->attributes, 0, sizeof(*p->attributes));
	/* Host memory nobody registered is a valid question. */
	if (D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				     (CUdeviceptr)p->ptr)) {
		p->attributes->type = cudaMemoryTypeUnregistered;
		p->attributes->device = -2;
		return 0;
	}
	D(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)p->ptr);
	D(cuPointerGetAttribute)(&where, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)p->ptr);
	p->attributes->type = managed                      ? cudaMemoryTypeManaged
			      : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
							   : cudaMemoryTypeDevice;
	p->attributes->device = where;
	p->attributes->devicePointer = (void *)p->ptr;
	p->attributes->hostPointer = type == CU_MEMORYTYPE_HOST || managed ? (void *)p->ptr : NULL;
	return 0;
}

IMPL(cudaStreamCreate)
{
	int err = runtime_ready();

	return err ? err : D(cuStreamCreate)(p->pStream, 0);
}

IMPL(cudaStreamCreateWithFlags)
{
	int err = runtime_ready();

	return err ? err : D(cuStreamCreate)(p->pStream, p->flags);
}

IMPL(cudaStreamCreateWithPriority)
{
	int err = runtime_ready();

	return err ? err : D(cuStreamCreateWithPriority)(p->pStream, p->flags, p->priority);
}

IMPL(cudaStreamDestroy)
{
	int err = runtime_ready();

	return err ? err : D(cuStreamDestroy)(p->stream);
}

IMPL(cudaStreamSynchronize)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamSynchronize, "_ptsz")(p->stream);
}

IMPL(cudaStreamQuery)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamQuery, "_ptsz")(p->stream);
}

IMPL(cudaStreamGetFlags)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamGetFlags, "_ptsz")(p->hStream, p->flags);
}

IMPL(cudaStreamGetPriority)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamGetPriority, "_ptsz")(p->hStream, p->priority);
}

IMPL(cudaStreamGetId)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamGetId, "_ptsz")(p->hStream, p->streamId);
}

IMPL(cudaStreamGetDevice)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamGetDevice, "_ptsz")(p->hStream, p->device);
}

IMPL(cudaStreamWaitEvent)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamWaitEvent, "_ptsz")(p->stream, p->event, p->flags);
}

IMPL(cudaStreamAddCallback)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamAddCallback,
			"_ptsz")(p->stream, (CUstreamCallback)p->callback, p->userData, p->flags);
}

IMPL(cudaLaunchHostFunc)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuLaunchHostFunc, "_ptsz")(p->stream, p->fn, p->userData);
}

IMPL(cudaStreamAttachMemAsync)
{
	return runtime_ready();
}

IMPL(cudaEventCreate)
{
	int err = runtime_ready();

	return err ? err : D(cuEventCreate)(p->event, 0);
}

IMPL(cudaEventCreateWithFlags)
{
	int err = runtime_ready();

	return err ? err : D(cuEventCreate)(p->event, p->flags);
}

IMPL(cudaEventDestroy)
{
	int err = runtime_ready();

	return err ? err : D(cuEventDestroy)(p->event);
}

IMPL(cudaEventRecord)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuEventRecord, "_ptsz")(p->event, p->stream);
}

IMPL(cudaEventRecordWithFlags)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuEventRecordWithFlags, "_ptsz")(p->event, p->stream, p->flags);
}

IMPL(cudaEventQuery)
{
	int err = runtime_ready();

	return err ? err : D(cuEventQuery)(p->event);
}

IMPL(cudaEventSynchronize)
{
	int err = runtime_ready();

	return err ? err : D(cuEventSynchronize)(p->event);
}

IMPL(cudaEventElapsedTime)
{
	int err = runtime_ready();

	return err ? err : D(cuEventElapsedTime)(p->ms, p->start, p->end);
}

IMPL(cudaStreamSetAttribute)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamSetAttribute, "_ptsz")(p->stream, (CUstreamAttrID)p->attr,
							     (const CUstreamAttrValue *)p->param);
}

IMPL(cudaStreamGetAttribute)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamGetAttribute, "_ptsz")(p->stream, (CUstreamAttrID)p->attr,
							     (CUstreamAttrValue *)p->value);
}

IMPL(cudaStreamCopyAttributes)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamCopyAttributes, "_ptsz")(p->dstStream, p->srcStream);
}

IMPL(cudaDeviceSetMemPool)
{
	return D(cuDeviceSetMemPool)(p->device, (CUmemoryPool)p->memPool);
}

IMPL(cudaMemPoolCreate)
{
	int err = D(cuInit)(0);

	return err ? err
		   : D(cuMemPoolCreate)((CUmemoryPool *)p->memPool,
					(const CUmemPoolProps *)p->poolProps);
}

IMPL(cudaMemPoolDestroy)
{
	return D(cuMemPoolDestroy)((CUmemoryPool)p->memPool);
}

IMPL(cudaMemPoolSetAccess)
{
	return runtime_ready();
}
