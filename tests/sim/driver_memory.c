/* Driver API: allocation, pinned memory, pools, pointers, prefetch. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static int current(struct CUctx_st **context)
{
	*context = context_current();
	if (!gpu_is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	return context_ok(*context) ? 0 : CUDA_ERROR_INVALID_CONTEXT;
}

static int allocate(CUdeviceptr *out, size_t bytes, bool managed)
{
	struct CUctx_st *context;
	int err = current(&context);
	char *base;

	if (!err && (!out || !bytes))
		err = CUDA_ERROR_INVALID_VALUE;
	if (!err && capture_forbids())
		err = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (err)
		return err;
	base = memory_allocate(bytes, CU_MEMORYTYPE_DEVICE, managed, 0, context->device);
	if (!base)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUdeviceptr)base;
	return 0;
}

IMPL(cuMemAlloc_v2)
{
	(void)call;
	return allocate(p->dptr, p->bytesize, false);
}

IMPL(cuMemAllocManaged)
{
	(void)call;
	return allocate(p->dptr, p->bytesize, true);
}

IMPL(cuMemAllocPitch_v2)
{
	size_t pitch = (p->WidthInBytes + 511) & ~(size_t)511;
	int err = allocate(p->dptr, pitch * p->Height, false);

	(void)call;
	if (!err)
		*p->pPitch = pitch;
	return err;
}

/* The real cuMemFree waits for the device to be idle. */
IMPL(cuMemFree_v2)
{
	struct CUctx_st *context;
	int err = current(&context);
	struct allocation a;

	(void)call;
	if (err || !p->dptr)
		return err;
	if (!memory_find((void *)p->dptr, &a) || a.type != CU_MEMORYTYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	wait_until(context_tail(context));
	return memory_free((void *)p->dptr, false);
}

static int allocate_on(CUdeviceptr *out, size_t bytes, CUstream handle, struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);
	char *base;

	if (err)
		return err;
	if (!out || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->capture) {
		err = capture_add(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, NULL, call, NULL);
		if (err)
			return err;
	}
	base = memory_allocate(bytes, CU_MEMORYTYPE_DEVICE, false, 0, stream->context->device);
	if (!base)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUdeviceptr)base;
	return 0;
}

IMPL(cuMemAllocAsync)
{
	return allocate_on(p->dptr, p->bytesize, p->hStream, call);
}

IMPL(cuMemAllocFromPoolAsync)
{
	return allocate_on(p->dptr, p->bytesize, p->hStream, call);
}

IMPL(cuMemFreeAsync)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	/* A graph's memory is freed by its launches: the simulation keeps it. */
	if (stream->capture)
		return capture_add(stream, CU_GRAPH_NODE_TYPE_MEM_FREE, NULL, call, NULL);
	return memory_free((void *)p->dptr, false);
}

static int allocate_host(void **out, size_t bytes, unsigned int flags)
{
	struct CUctx_st *context;
	int err = current(&context);

	if (err)
		return err;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	*out = memory_allocate(bytes ? bytes : 1, CU_MEMORYTYPE_HOST, false, flags,
			       context->device);
	return *out ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

IMPL(cuMemHostAlloc)
{
	(void)call;
	return allocate_host(p->pp, p->bytesize, p->Flags);
}

IMPL(cuMemAllocHost_v2)
{
	(void)call;
	return allocate_host(p->pp, p->bytesize, 0);
}

IMPL(cuMemFreeHost)
{
	struct CUctx_st *context;
	int err = current(&context);

	(void)call;
	if (err || !p->p)
		return err;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	wait_until(context_tail(context));
	return memory_free(p->p, false);
}

IMPL(cuMemHostRegister_v2)
{
	struct CUctx_st *context;
	int err = current(&context);

	(void)call;
	return err ? err : memory_register(p->p, p->bytesize, p->Flags);
}

IMPL(cuMemHostUnregister)
{
	(void)call;
	return memory_free(p->p, true) ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : 0;
}

IMPL(cuMemHostGetDevicePointer_v2)
{
	struct allocation a;

	(void)call;
	if (!memory_find(p->p, &a) || a.type != CU_MEMORYTYPE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*p->pdptr = (CUdeviceptr)p->p;
	return 0;
}

IMPL(cuMemHostGetFlags)
{
	struct allocation a;

	(void)call;
	if (!memory_find(p->p, &a) || a.type != CU_MEMORYTYPE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*p->pFlags = a.flags;
	return 0;
}

IMPL(cuMemGetInfo_v2)
{
	struct CUctx_st *context;
	int err = current(&context);

	(void)call;
	if (err)
		return err;
	*p->total = script.devices[context->device].memory_bytes;
	*p->free = *p->total - memory_used(context->device);
	return 0;
}

IMPL(cuMemGetAddressRange_v2)
{
	struct allocation a;

	(void)call;
	if (!memory_find((void *)p->dptr, &a))
		return CUDA_ERROR_NOT_FOUND;
	if (p->pbase)
		*p->pbase = (CUdeviceptr)a.base;
	if (p->psize)
		*p->psize = a.bytes;
	return 0;
}

static int attribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct allocation a;

	if (!memory_find((void *)ptr, &a))
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = a.type;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = a.device;
		return 0;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned int *)data = a.managed;
		return 0;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*(CUdeviceptr *)data = ptr;
		return 0;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = context_primary(a.device);
		return 0;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

IMPL(cuPointerGetAttribute)
{
	(void)call;
	return attribute(p->data, p->attribute, p->ptr);
}

IMPL(cuPointerGetAttributes)
{
	(void)call;
	for (unsigned int i = 0; i < p->numAttributes; i++)
		attribute(p->data[i], p->attributes[i], p->ptr);
	return 0;
}

/* Pools are handles only. */
static CUmemoryPool pool_handle(void)
{
	static int pool;

	return (CUmemoryPool)&pool;
}

IMPL(cuDeviceGetDefaultMemPool)
{
	(void)call;
	*p->pool_out = pool_handle();
	return 0;
}

IMPL(cuDeviceGetMemPool)
{
	(void)call;
	*p->pool = pool_handle();
	return 0;
}

IMPL(cuDeviceSetMemPool)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuMemPoolCreate)
{
	(void)call;
	*p->pool = pool_handle();
	return 0;
}

IMPL(cuMemPoolDestroy)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuMemPoolSetAttribute)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuMemPoolGetAttribute)
{
	(void)call;
	if (p->attr <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
		*(int *)p->value = 1;
	else
		*(cuuint64_t *)p->value = 0;
	return 0;
}

IMPL(cuMemPoolTrimTo)
{
	(void)p;
	(void)call;
	return 0;
}

static int prefetch(CUdeviceptr ptr, CUstream handle, struct sim_call *call)
{
	struct CUstream_st *stream;
	struct allocation a;
	int err = call_stream(handle, call, &stream);

	if (err)
		return err;
	return memory_find((void *)ptr, &a) && a.managed ? 0 : CUDA_ERROR_INVALID_VALUE;
}

IMPL(cuMemPrefetchAsync)
{
	return prefetch(p->devPtr, p->hStream, call);
}

IMPL(cuMemPrefetchAsync_v2)
{
	return prefetch(p->devPtr, p->hStream, call);
}

IMPL(cuMemAdvise_v2)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuArray3DCreate_v2)
{
	static const unsigned int sizes[] = {
		[CU_AD_FORMAT_UNSIGNED_INT8] = 1,  [CU_AD_FORMAT_UNSIGNED_INT16] = 2,
		[CU_AD_FORMAT_UNSIGNED_INT32] = 4, [CU_AD_FORMAT_SIGNED_INT8] = 1,
		[CU_AD_FORMAT_SIGNED_INT16] = 2,   [CU_AD_FORMAT_SIGNED_INT32] = 4,
		[CU_AD_FORMAT_HALF] = 2,           [CU_AD_FORMAT_FLOAT] = 4,
	};
	const CUDA_ARRAY3D_DESCRIPTOR *d = p->pAllocateArray;
	struct CUctx_st *context;
	int err = current(&context);
	struct CUarray_st *array;

	(void)call;
	if (!err &&
	    (d->Format >= sizeof(sizes) / sizeof(sizes[0]) || !sizes[d->Format] || !d->Width))
		err = CUDA_ERROR_INVALID_VALUE;
	if (err)
		return err;
	array = calloc(1, sizeof(*array));
	if (!array)
		abort();
	array->magic = MAGIC_ARRAY;
	array->descriptor = *d;
	array->width = d->Width;
	array->height = d->Height ? d->Height : 1;
	array->depth = d->Depth ? d->Depth : 1;
	array->element_bytes = sizes[d->Format] * d->NumChannels;
	array->data = calloc(array->width * array->height * array->depth, array->element_bytes);
	if (!array->data)
		abort();
	*p->pHandle = array;
	return 0;
}

IMPL(cuArray3DGetDescriptor_v2)
{
	(void)call;
	if (!p->hArray || p->hArray->magic != MAGIC_ARRAY)
		return CUDA_ERROR_INVALID_HANDLE;
	*p->pArrayDescriptor = p->hArray->descriptor;
	return 0;
}

IMPL(cuArrayDestroy)
{
	(void)call;
	if (!p->hArray || p->hArray->magic != MAGIC_ARRAY)
		return CUDA_ERROR_INVALID_HANDLE;
	p->hArray->magic = 0;
	free(p->hArray->data);
	free(p->hArray);
	return 0;
}
