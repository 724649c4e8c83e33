/* Driver API: copies and sets. */
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* One end of a copy. */
struct side {
	char *p;
	size_t pitch, slice;
	uint8_t kind; /* CUpti_ActivityMemoryKind */
	int device;
	bool on_device;
};

static int side_of(CUmemorytype type, const void *host, CUdeviceptr device, CUarray array,
		   struct side *side)
{
	struct allocation a;

	if (type == CU_MEMORYTYPE_ARRAY) {
		if (!array || array->magic != MAGIC_ARRAY)
			return CUDA_ERROR_INVALID_HANDLE;
		side->p = array->data;
		side->pitch = array->width * array->element_bytes;
		side->slice = side->pitch * array->height;
		side->kind = CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
		side->on_device = true;
		return 0;
	}
	side->p = type == CU_MEMORYTYPE_HOST ? (char *)host : (char *)device;
	if (!side->p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_find(side->p, &a)) {
		side->kind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
		return type == CU_MEMORYTYPE_DEVICE ? CUDA_ERROR_INVALID_VALUE : 0;
	}
	side->device = a.device;
	side->on_device = a.type == CU_MEMORYTYPE_DEVICE;
	side->kind = a.managed         ? CUPTI_ACTIVITY_MEMORY_KIND_MANAGED
		     : side->on_device ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
				       : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	return 0;
}

static uint8_t direction(const struct side *dst, const struct side *src)
{
	bool to_array = dst->kind == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;
	bool from_array = src->kind == CUPTI_ACTIVITY_MEMORY_KIND_ARRAY;

	if (to_array && from_array)
		return CUPTI_ACTIVITY_MEMCPY_KIND_ATOA;
	if (to_array)
		return src->on_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOA
				      : CUPTI_ACTIVITY_MEMCPY_KIND_HTOA;
	if (from_array)
		return dst->on_device ? CUPTI_ACTIVITY_MEMCPY_KIND_ATOD
				      : CUPTI_ACTIVITY_MEMCPY_KIND_ATOH;
	if (dst->on_device)
		return src->on_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
				      : CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	return src->on_device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOH : CUPTI_ACTIVITY_MEMCPY_KIND_HTOH;
}

static uint64_t travel_ns(enum script_link_id id, uint64_t bytes)
{
	const struct script_link *link = &script.links[id];

	return link->latency_ns +
	       (link->bytes_per_s ? (uint64_t)((double)bytes * 1e9 / (double)link->bytes_per_s)
				  : 0);
}

static void fill_work(struct work *work, const struct side *dst, const struct side *src)
{
	uint64_t bytes = work->box.width * work->box.height * work->box.depth;
	bool peer = dst->on_device && src->on_device && dst->device != src->device &&
		    dst->kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
		    src->kind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	bool pageable = dst->kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
			src->kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	enum script_link_id link;

	work->op.kind = peer ? SIM_PEER : SIM_COPY;
	work->op.bytes = bytes;
	work->op.dst_kind = dst->kind;
	work->op.src_kind = src->kind;
	work->op.copy_kind = peer ? CUPTI_ACTIVITY_MEMCPY_KIND_PTOP : direction(dst, src);
	work->op.src_device = (uint32_t)src->device;
	work->op.dst_device = (uint32_t)dst->device;
	if (peer) {
		link = LINK_P2P;
		work->engine = ENGINE_PEER;
	} else if (dst->on_device && src->on_device) {
		link = LINK_D2D;
	} else if (dst->on_device) {
		link = pageable ? LINK_H2D_PAGEABLE : LINK_H2D;
		work->engine = ENGINE_H2D;
	} else if (src->on_device) {
		link = pageable ? LINK_D2H_PAGEABLE : LINK_D2H;
		work->engine = ENGINE_D2H;
	} else {
		link = LINK_H2H;
	}
	work->duration_ns = travel_ns(link, bytes);
}

int copy_work(const CUDA_MEMCPY3D *c, struct work *work)
{
	struct side dst = {.pitch = c->dstPitch, .slice = c->dstPitch * c->dstHeight};
	struct side src = {.pitch = c->srcPitch, .slice = c->srcPitch * c->srcHeight};
	int err = side_of(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, &dst);

	if (!err)
		err = side_of(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, &src);
	if (err)
		return err;
	work->box = (struct box){
		.dst = dst.p + c->dstZ * dst.slice + c->dstY * dst.pitch + c->dstXInBytes,
		.src = src.p + c->srcZ * src.slice + c->srcY * src.pitch + c->srcXInBytes,
		.dst_pitch = dst.pitch,
		.dst_slice = dst.slice,
		.src_pitch = src.pitch,
		.src_slice = src.slice,
		.width = c->WidthInBytes,
		.height = c->Height,
		.depth = c->Depth,
	};
	fill_work(work, &dst, &src);
	return 0;
}

int set_work(const CUDA_MEMSET_NODE_PARAMS *set, struct work *work)
{
	struct side dst = {.pitch = set->pitch};
	int err = side_of(CU_MEMORYTYPE_UNIFIED, NULL, set->dst, NULL, &dst);

	if (err)
		return err;
	work->op.kind = SIM_SET;
	work->op.bytes = set->width * set->elementSize * set->height;
	work->op.value = set->value;
	work->op.dst_kind = dst.kind;
	work->box = (struct box){
		.dst = dst.p,
		.dst_pitch = set->pitch,
		.width = set->width * set->elementSize,
		.height = set->height,
		.depth = 1,
		.value = set->value,
		.value_bytes = (uint8_t)set->elementSize,
	};
	work->duration_ns = travel_ns(LINK_SET, work->op.bytes);
	return 0;
}

static bool blocks(const struct work *work, bool async)
{
	bool pageable = work->op.src_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE ||
			work->op.dst_kind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;

	switch (work->op.copy_kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
		/* Small pageable sources are staged: the call returns before the copy is done. */
		return pageable ? work->op.bytes > script.pageable_async_bytes : !async;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
	case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
		return pageable || !async;
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return true;
	default:
		return false;
	}
}

static int copy(const CUDA_MEMCPY3D *c, CUstream handle, bool async, struct sim_call *call)
{
	struct work work = {.op.async = async};
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);
	bool wait;

	if (err || !c->WidthInBytes || !c->Height || !c->Depth)
		return err;
	err = copy_work(c, &work);
	if (err)
		return err;
	wait = blocks(&work, async);
	if ((wait || !async) && !stream->capture && capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (wait && stream->capture)
		return capture_invalidate(stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	err = call_submit(stream, CU_GRAPH_NODE_TYPE_MEMCPY, &work, call);
	if (!err && wait)
		stream_wait(stream);
	return err;
}

static int copy_line(CUmemorytype dst_type, const void *dst, CUmemorytype src_type, const void *src,
		     size_t bytes, CUstream handle, bool async, struct sim_call *call)
{
	CUDA_MEMCPY3D c = {
		.dstMemoryType = dst_type,
		.dstHost = (void *)dst,
		.dstDevice = (CUdeviceptr)dst,
		.srcMemoryType = src_type,
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};

	return copy(&c, handle, async, call);
}

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED

IMPL(cuMemcpy)
{
	return copy_line(UNIFIED, (void *)p->dst, UNIFIED, (void *)p->src, p->ByteCount, NULL,
			 false, call);
}

IMPL(cuMemcpyAsync)
{
	return copy_line(UNIFIED, (void *)p->dst, UNIFIED, (void *)p->src, p->ByteCount, p->hStream,
			 true, call);
}

IMPL(cuMemcpyHtoD_v2)
{
	return copy_line(DEVICE, (void *)p->dstDevice, HOST, p->srcHost, p->ByteCount, NULL, false,
			 call);
}

IMPL(cuMemcpyHtoDAsync_v2)
{
	return copy_line(DEVICE, (void *)p->dstDevice, HOST, p->srcHost, p->ByteCount, p->hStream,
			 true, call);
}

IMPL(cuMemcpyDtoH_v2)
{
	return copy_line(HOST, p->dstHost, DEVICE, (void *)p->srcDevice, p->ByteCount, NULL, false,
			 call);
}

IMPL(cuMemcpyDtoHAsync_v2)
{
	return copy_line(HOST, p->dstHost, DEVICE, (void *)p->srcDevice, p->ByteCount, p->hStream,
			 true, call);
}

IMPL(cuMemcpyDtoD_v2)
{
	return copy_line(DEVICE, (void *)p->dstDevice, DEVICE, (void *)p->srcDevice, p->ByteCount,
			 NULL, false, call);
}

IMPL(cuMemcpyDtoDAsync_v2)
{
	return copy_line(DEVICE, (void *)p->dstDevice, DEVICE, (void *)p->srcDevice, p->ByteCount,
			 p->hStream, true, call);
}

IMPL(cuMemcpyPeer)
{
	return copy_line(DEVICE, (void *)p->dstDevice, DEVICE, (void *)p->srcDevice, p->ByteCount,
			 NULL, false, call);
}

IMPL(cuMemcpyPeerAsync)
{
	return copy_line(DEVICE, (void *)p->dstDevice, DEVICE, (void *)p->srcDevice, p->ByteCount,
			 p->hStream, true, call);
}

static CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D *c)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes,
		.srcY = c->srcY,
		.srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost,
		.srcDevice = c->srcDevice,
		.srcArray = c->srcArray,
		.srcPitch = c->srcPitch,
		.dstXInBytes = c->dstXInBytes,
		.dstY = c->dstY,
		.dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost,
		.dstDevice = c->dstDevice,
		.dstArray = c->dstArray,
		.dstPitch = c->dstPitch,
		.WidthInBytes = c->WidthInBytes,
		.Height = c->Height,
		.Depth = 1,
	};
}

IMPL(cuMemcpy2D_v2)
{
	CUDA_MEMCPY3D c = from_2d(p->pCopy);

	return copy(&c, NULL, false, call);
}

IMPL(cuMemcpy2DUnaligned_v2)
{
	CUDA_MEMCPY3D c = from_2d(p->pCopy);

	return copy(&c, NULL, false, call);
}

IMPL(cuMemcpy2DAsync_v2)
{
	CUDA_MEMCPY3D c = from_2d(p->pCopy);

	return copy(&c, p->hStream, true, call);
}

IMPL(cuMemcpy3D_v2)
{
	return copy(p->pCopy, NULL, false, call);
}

IMPL(cuMemcpy3DAsync_v2)
{
	return copy(p->pCopy, p->hStream, true, call);
}

static CUDA_MEMCPY3D from_peer(const CUDA_MEMCPY3D_PEER *c)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = c->srcXInBytes,
		.srcY = c->srcY,
		.srcZ = c->srcZ,
		.srcMemoryType = c->srcMemoryType,
		.srcHost = c->srcHost,
		.srcDevice = c->srcDevice,
		.srcArray = c->srcArray,
		.srcPitch = c->srcPitch,
		.srcHeight = c->srcHeight,
		.dstXInBytes = c->dstXInBytes,
		.dstY = c->dstY,
		.dstZ = c->dstZ,
		.dstMemoryType = c->dstMemoryType,
		.dstHost = c->dstHost,
		.dstDevice = c->dstDevice,
		.dstArray = c->dstArray,
		.dstPitch = c->dstPitch,
		.dstHeight = c->dstHeight,
		.WidthInBytes = c->WidthInBytes,
		.Height = c->Height,
		.Depth = c->Depth,
	};
}

IMPL(cuMemcpy3DPeer)
{
	CUDA_MEMCPY3D c = from_peer(p->pCopy);

	return copy(&c, NULL, false, call);
}

IMPL(cuMemcpy3DPeerAsync)
{
	CUDA_MEMCPY3D c = from_peer(p->pCopy);

	return copy(&c, p->hStream, true, call);
}

/* The batch of a call reaches CUPTI as one operation per copy. */
IMPL(cuMemcpyBatchAsync_v2)
{
	int err = 0;

	for (size_t i = 0; !err && i < p->count; i++)
		err = copy_line(UNIFIED, (void *)p->dsts[i], UNIFIED, (void *)p->srcs[i],
				p->sizes[i], p->hStream, true, call);
	return err;
}

IMPL(cuMemcpyBatchAsync)
{
	int err = 0;

	for (size_t i = 0; !err && i < p->count; i++) {
		err = copy_line(UNIFIED, (void *)p->dsts[i], UNIFIED, (void *)p->srcs[i],
				p->sizes[i], p->hStream, true, call);
		if (err && p->failIdx)
			*p->failIdx = i;
	}
	return err;
}

static int copy_batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP *ops, CUstream handle,
		      struct sim_call *call)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		const CUmemcpy3DOperand *dst = &ops[i].dst, *src = &ops[i].src;
		CUDA_MEMCPY3D c = {
			.WidthInBytes = ops[i].extent.width,
			.Height = ops[i].extent.height,
			.Depth = ops[i].extent.depth,
			.dstMemoryType = UNIFIED,
			.srcMemoryType = UNIFIED,
		};

		if (dst->type != CU_MEMCPY_OPERAND_TYPE_POINTER ||
		    src->type != CU_MEMCPY_OPERAND_TYPE_POINTER)
			return CUDA_ERROR_NOT_SUPPORTED;
		c.dstDevice = dst->op.ptr.ptr;
		c.dstPitch = dst->op.ptr.rowLength ? dst->op.ptr.rowLength : c.WidthInBytes;
		c.dstHeight = dst->op.ptr.layerHeight ? dst->op.ptr.layerHeight : c.Height;
		c.srcDevice = src->op.ptr.ptr;
		c.srcPitch = src->op.ptr.rowLength ? src->op.ptr.rowLength : c.WidthInBytes;
		c.srcHeight = src->op.ptr.layerHeight ? src->op.ptr.layerHeight : c.Height;
		err = copy(&c, handle, true, call);
	}
	return err;
}

IMPL(cuMemcpy3DBatchAsync)
{
	return copy_batch(p->numOps, p->opList, p->hStream, call);
}

IMPL(cuMemcpy3DBatchAsync_v2)
{
	return copy_batch(p->numOps, p->opList, p->hStream, call);
}

static int copy_array(CUarray dst_array, void *dst, size_t dst_at, CUarray src_array,
		      const void *src, size_t src_at, size_t bytes, bool on_host, CUstream handle,
		      bool async, struct sim_call *call)
{
	CUmemorytype other = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	CUDA_MEMCPY3D c = {
		.dstMemoryType = dst_array ? CU_MEMORYTYPE_ARRAY : other,
		.dstArray = dst_array,
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)dst,
		.dstXInBytes = dst_at,
		.srcMemoryType = src_array ? CU_MEMORYTYPE_ARRAY : other,
		.srcArray = src_array,
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.srcXInBytes = src_at,
		.WidthInBytes = bytes,
		.Height = 1,
		.Depth = 1,
	};

	return copy(&c, handle, async, call);
}

IMPL(cuMemcpyHtoA_v2)
{
	return copy_array(p->dstArray, NULL, p->dstOffset, NULL, p->srcHost, 0, p->ByteCount, true,
			  NULL, false, call);
}

IMPL(cuMemcpyAtoH_v2)
{
	return copy_array(NULL, p->dstHost, 0, p->srcArray, NULL, p->srcOffset, p->ByteCount, true,
			  NULL, false, call);
}

IMPL(cuMemcpyHtoAAsync_v2)
{
	return copy_array(p->dstArray, NULL, p->dstOffset, NULL, p->srcHost, 0, p->ByteCount, true,
			  p->hStream, true, call);
}

IMPL(cuMemcpyAtoHAsync_v2)
{
	return copy_array(NULL, p->dstHost, 0, p->srcArray, NULL, p->srcOffset, p->ByteCount, true,
			  p->hStream, true, call);
}

IMPL(cuMemcpyDtoA_v2)
{
	return copy_array(p->dstArray, NULL, p->dstOffset, NULL, (void *)p->srcDevice, 0,
			  p->ByteCount, false, NULL, false, call);
}

IMPL(cuMemcpyAtoD_v2)
{
	return copy_array(NULL, (void *)p->dstDevice, 0, p->srcArray, NULL, p->srcOffset,
			  p->ByteCount, false, NULL, false, call);
}

IMPL(cuMemcpyAtoA_v2)
{
	return copy_array(p->dstArray, NULL, p->dstOffset, p->srcArray, NULL, p->srcOffset,
			  p->ByteCount, false, NULL, false, call);
}

/* Sets of device memory do not block the host, in any form. */
static int set(CUdeviceptr dst, size_t pitch, unsigned int value, unsigned int element_bytes,
	       size_t width, size_t height, CUstream handle, bool async, struct sim_call *call)
{
	CUDA_MEMSET_NODE_PARAMS params = {dst, pitch, value, element_bytes, width, height};
	struct work work = {.op.async = async};
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (err || !width || !height)
		return err;
	err = set_work(&params, &work);
	if (err)
		return err;
	if (!async && capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return call_submit(stream, CU_GRAPH_NODE_TYPE_MEMSET, &work, call);
}

IMPL(cuMemsetD8_v2)
{
	return set(p->dstDevice, 0, p->uc, 1, p->N, 1, NULL, false, call);
}

IMPL(cuMemsetD16_v2)
{
	return set(p->dstDevice, 0, p->us, 2, p->N, 1, NULL, false, call);
}

IMPL(cuMemsetD32_v2)
{
	return set(p->dstDevice, 0, p->ui, 4, p->N, 1, NULL, false, call);
}

IMPL(cuMemsetD8Async)
{
	return set(p->dstDevice, 0, p->uc, 1, p->N, 1, p->hStream, true, call);
}

IMPL(cuMemsetD16Async)
{
	return set(p->dstDevice, 0, p->us, 2, p->N, 1, p->hStream, true, call);
}

IMPL(cuMemsetD32Async)
{
	return set(p->dstDevice, 0, p->ui, 4, p->N, 1, p->hStream, true, call);
}

IMPL(cuMemsetD2D8_v2)
{
	return set(p->dstDevice, p->dstPitch, p->uc, 1, p->Width, p->Height, NULL, false, call);
}

IMPL(cuMemsetD2D16_v2)
{
	return set(p->dstDevice, p->dstPitch, p->us, 2, p->Width, p->Height, NULL, false, call);
}

IMPL(cuMemsetD2D32_v2)
{
	return set(p->dstDevice, p->dstPitch, p->ui, 4, p->Width, p->Height, NULL, false, call);
}

IMPL(cuMemsetD2D8Async)
{
	return set(p->dstDevice, p->dstPitch, p->uc, 1, p->Width, p->Height, p->hStream, true,
		   call);
}

IMPL(cuMemsetD2D16Async)
{
	return set(p->dstDevice, p->dstPitch, p->us, 2, p->Width, p->Height, p->hStream, true,
		   call);
}

IMPL(cuMemsetD2D32Async)
{
	return set(p->dstDevice, p->dstPitch, p->ui, 4, p->Width, p->Height, p->hStream, true,
		   call);
}
