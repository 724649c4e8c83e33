/* Runtime stand-in: copies, sets, arrays. */
#include <string.h>

#define HOST CU_MEMORYTYPE_HOST
#define DEVICE CU_MEMORYTYPE_DEVICE
#define UNIFIED CU_MEMORYTYPE_UNIFIED

static CUmemorytype dst_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return UNIFIED;
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice ? DEVICE : HOST;
}

static CUmemorytype src_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return UNIFIED;
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice ? DEVICE : HOST;
}

IMPL(cudaMemcpy)
{
	int err = runtime_ready();

	if (err)
		return err;
	switch (p->kind) {
	case cudaMemcpyHostToDevice:
		return DT(call, cuMemcpyHtoD, "_ptds")((CUdeviceptr)p->dst, p->src, p->count);
	case cudaMemcpyDeviceToHost:
		return DT(call, cuMemcpyDtoH, "_ptds")(p->dst, (CUdeviceptr)p->src, p->count);
	case cudaMemcpyDeviceToDevice:
		return DT(call, cuMemcpyDtoD, "_ptds")((CUdeviceptr)p->dst, (CUdeviceptr)p->src,
						       p->count);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return DT(call, cuMemcpy, "_ptds")((CUdeviceptr)p->dst, (CUdeviceptr)p->src,
						   p->count);
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

IMPL(cudaMemcpyAsync)
{
	int err = runtime_ready();

	if (err)
		return err;
	switch (p->kind) {
	case cudaMemcpyHostToDevice:
		return DT(call, cuMemcpyHtoDAsync, "_ptsz")((CUdeviceptr)p->dst, p->src, p->count,
							    p->stream);
	case cudaMemcpyDeviceToHost:
		return DT(call, cuMemcpyDtoHAsync, "_ptsz")(p->dst, (CUdeviceptr)p->src, p->count,
							    p->stream);
	case cudaMemcpyDeviceToDevice:
		return DT(call, cuMemcpyDtoDAsync,
			  "_ptsz")((CUdeviceptr)p->dst, (CUdeviceptr)p->src, p->count, p->stream);
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return DT(call, cuMemcpyAsync, "_ptsz")((CUdeviceptr)p->dst, (CUdeviceptr)p->src,
							p->count, p->stream);
	default:
		return cudaErrorInvalidMemcpyDirection;
	}
}

IMPL(cudaMemcpyPeer)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemcpyPeer, "_ptds")((CUdeviceptr)p->dst, NULL, (CUdeviceptr)p->src,
						     NULL, p->count);
}

IMPL(cudaMemcpyPeerAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemcpyPeerAsync, "_ptsz")((CUdeviceptr)p->dst, NULL,
							  (CUdeviceptr)p->src, NULL, p->count,
							  p->stream);
}

/* One two-dimensional copy between pointers and arrays; a missing array leaves the pointer. */
static int copy_2d(CUDA_MEMCPY2D *c, enum cudaMemcpyKind kind, cudaStream_t stream, bool async,
		   struct sim_call *call)
{
	int err = runtime_ready();

	c->dstMemoryType = c->dstArray ? CU_MEMORYTYPE_ARRAY : dst_type(kind);
	c->srcMemoryType = c->srcArray ? CU_MEMORYTYPE_ARRAY : src_type(kind);
	c->dstDevice = (CUdeviceptr)c->dstHost;
	c->srcDevice = (CUdeviceptr)c->srcHost;
	if (err)
		return err;
	return async ? DT(call, cuMemcpy2DAsync, "_ptsz")(c, stream)
		     : DT(call, cuMemcpy2DUnaligned, "_ptds")(c);
}

static int copy_plain(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
		      size_t height, enum cudaMemcpyKind kind, cudaStream_t stream, bool async,
		      struct sim_call *call)
{
	CUDA_MEMCPY2D c = {
		.dstHost = dst,
		.dstPitch = dpitch,
		.srcHost = src,
		.srcPitch = spitch,
		.WidthInBytes = width,
		.Height = height,
	};

	return copy_2d(&c, kind, stream, async, call);
}

IMPL(cudaMemcpy2D)
{
	return copy_plain(p->dst, p->dpitch, p->src, p->spitch, p->width, p->height, p->kind, NULL,
			  false, call);
}

IMPL(cudaMemcpy2DAsync)
{
	return copy_plain(p->dst, p->dpitch, p->src, p->spitch, p->width, p->height, p->kind,
			  p->stream, true, call);
}

static int copy_to_array(cudaArray_t dst, size_t x, size_t y, const void *src, size_t spitch,
			 size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
			 bool async, struct sim_call *call)
{
	CUDA_MEMCPY2D c = {
		.dstArray = (CUarray)dst,
		.dstXInBytes = x,
		.dstY = y,
		.srcHost = src,
		.srcPitch = spitch,
		.WidthInBytes = width,
		.Height = height,
	};

	return copy_2d(&c, kind, stream, async, call);
}

static int copy_from_array(void *dst, size_t dpitch, cudaArray_const_t src, size_t x, size_t y,
			   size_t width, size_t height, enum cudaMemcpyKind kind,
			   cudaStream_t stream, bool async, struct sim_call *call)
{
	CUDA_MEMCPY2D c = {
		.dstHost = dst,
		.dstPitch = dpitch,
		.srcArray = (CUarray)src,
		.srcXInBytes = x,
		.srcY = y,
		.WidthInBytes = width,
		.Height = height,
	};

	return copy_2d(&c, kind, stream, async, call);
}

IMPL(cudaMemcpy2DToArray)
{
	return copy_to_array(p->dst, p->wOffset, p->hOffset, p->src, p->spitch, p->width, p->height,
			     p->kind, NULL, false, call);
}

IMPL(cudaMemcpy2DToArrayAsync)
{
	return copy_to_array(p->dst, p->wOffset, p->hOffset, p->src, p->spitch, p->width, p->height,
			     p->kind, p->stream, true, call);
}

IMPL(cudaMemcpyToArray)
{
	return copy_to_array(p->dst, p->wOffset, p->hOffset, p->src, p->count, p->count, 1, p->kind,
			     NULL, false, call);
}

IMPL(cudaMemcpyToArrayAsync)
{
	return copy_to_array(p->dst, p->wOffset, p->hOffset, p->src, p->count, p->count, 1, p->kind,
			     p->stream, true, call);
}

IMPL(cudaMemcpy2DFromArray)
{
	return copy_from_array(p->dst, p->dpitch, p->src, p->wOffset, p->hOffset, p->width,
			       p->height, p->kind, NULL, false, call);
}

IMPL(cudaMemcpy2DFromArrayAsync)
{
	return copy_from_array(p->dst, p->dpitch, p->src, p->wOffset, p->hOffset, p->width,
			       p->height, p->kind, p->stream, true, call);
}

IMPL(cudaMemcpyFromArray)
{
	return copy_from_array(p->dst, p->count, p->src, p->wOffset, p->hOffset, p->count, 1,
			       p->kind, NULL, false, call);
}

IMPL(cudaMemcpyFromArrayAsync)
{
	return copy_from_array(p->dst, p->count, p->src, p->wOffset, p->hOffset, p->count, 1,
			       p->kind, p->stream, true, call);
}

static int copy_arrays(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src,
		       size_t src_x, size_t src_y, size_t width, size_t height,
		       struct sim_call *call)
{
	CUDA_MEMCPY2D c = {
		.dstArray = (CUarray)dst,
		.dstXInBytes = dst_x,
		.dstY = dst_y,
		.srcArray = (CUarray)src,
		.srcXInBytes = src_x,
		.srcY = src_y,
		.WidthInBytes = width,
		.Height = height,
	};

	return copy_2d(&c, cudaMemcpyDeviceToDevice, NULL, false, call);
}

IMPL(cudaMemcpy2DArrayToArray)
{
	return copy_arrays(p->dst, p->wOffsetDst, p->hOffsetDst, p->src, p->wOffsetSrc,
			   p->hOffsetSrc, p->width, p->height, call);
}

IMPL(cudaMemcpyArrayToArray)
{
	return copy_arrays(p->dst, p->wOffsetDst, p->hOffsetDst, p->src, p->wOffsetSrc,
			   p->hOffsetSrc, p->count, 1, call);
}

/* Widths are in elements where an array takes part, in bytes otherwise. */
static size_t element_bytes(cudaArray_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;

	if (!array || D(cuArray3DGetDescriptor)(&d, (CUarray)array))
		return 1;
	switch (d.Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return d.NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * d.NumChannels;
	default:
		return 4 * d.NumChannels;
	}
}

int runtime_copy_params(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c)
{
	size_t unit = element_bytes(p->dstArray ? p->dstArray : p->srcArray);

	*c = (CUDA_MEMCPY3D){
		.dstMemoryType = p->dstArray ? CU_MEMORYTYPE_ARRAY : dst_type(p->kind),
		.dstArray = (CUarray)p->dstArray,
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray ? unit : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.srcMemoryType = p->srcArray ? CU_MEMORYTYPE_ARRAY : src_type(p->kind),
		.srcArray = (CUarray)p->srcArray,
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.srcXInBytes = p->srcPos.x * (p->srcArray ? unit : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.WidthInBytes = p->extent.width * unit,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
	return 0;
}

IMPL(cudaMemcpy3D)
{
	CUDA_MEMCPY3D c;
	int err = runtime_ready();

	if (!err)
		err = runtime_copy_params(p->p, &c);
	return err ? err : DT(call, cuMemcpy3D, "_ptds")(&c);
}

IMPL(cudaMemcpy3DAsync)
{
	CUDA_MEMCPY3D c;
	int err = runtime_ready();

	if (!err)
		err = runtime_copy_params(p->p, &c);
	return err ? err : DT(call, cuMemcpy3DAsync, "_ptsz")(&c, p->stream);
}

static CUDA_MEMCPY3D_PEER peer_params(const struct cudaMemcpy3DPeerParms *p)
{
	return (CUDA_MEMCPY3D_PEER){
		.dstMemoryType = DEVICE,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.srcMemoryType = DEVICE,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.WidthInBytes = p->extent.width,
		.Height = p->extent.height,
		.Depth = p->extent.depth,
	};
}

IMPL(cudaMemcpy3DPeer)
{
	CUDA_MEMCPY3D_PEER c = peer_params(p->p);
	int err = runtime_ready();

	return err ? err : DT(call, cuMemcpy3DPeer, "_ptds")(&c);
}

IMPL(cudaMemcpy3DPeerAsync)
{
	CUDA_MEMCPY3D_PEER c = peer_params(p->p);
	int err = runtime_ready();

	return err ? err : DT(call, cuMemcpy3DPeerAsync, "_ptsz")(&c, p->stream);
}

static int copy_symbol(const void *symbol, size_t offset, void *dst, const void *src, size_t count,
		       enum cudaMemcpyKind kind, cudaStream_t stream, bool async,
		       struct sim_call *call)
{
	int err = runtime_ready();
	char *at = err ? NULL : runtime_symbol(symbol, NULL);

	if (!at)
		return err ? err : cudaErrorInvalidSymbol;
	at += offset;
	if (kind == cudaMemcpyHostToDevice)
		return async ? DT(call, cuMemcpyHtoDAsync, "_ptsz")((CUdeviceptr)at, src, count,
								    stream)
			     : DT(call, cuMemcpyHtoD, "_ptds")((CUdeviceptr)at, src, count);
	if (kind == cudaMemcpyDeviceToHost)
		return async ? DT(call, cuMemcpyDtoHAsync, "_ptsz")(dst, (CUdeviceptr)at, count,
								    stream)
			     : DT(call, cuMemcpyDtoH, "_ptds")(dst, (CUdeviceptr)at, count);
	return async ? DT(call, cuMemcpyAsync, "_ptsz")(src ? (CUdeviceptr)at : (CUdeviceptr)dst,
							src ? (CUdeviceptr)src : (CUdeviceptr)at,
							count, stream)
		     : DT(call, cuMemcpy, "_ptds")(src ? (CUdeviceptr)at : (CUdeviceptr)dst,
						   src ? (CUdeviceptr)src : (CUdeviceptr)at, count);
}

IMPL(cudaMemcpyToSymbol)
{
	return copy_symbol(p->symbol, p->offset, NULL, p->src, p->count, p->kind, NULL, false,
			   call);
}

IMPL(cudaMemcpyToSymbolAsync)
{
	return copy_symbol(p->symbol, p->offset, NULL, p->src, p->count, p->kind, p->stream, true,
			   call);
}

IMPL(cudaMemcpyFromSymbol)
{
	return copy_symbol(p->symbol, p->offset, p->dst, NULL, p->count, p->kind, NULL, false,
			   call);
}

IMPL(cudaMemcpyFromSymbolAsync)
{
	return copy_symbol(p->symbol, p->offset, p->dst, NULL, p->count, p->kind, p->stream, true,
			   call);
}

IMPL(cudaMemset)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemsetD8, "_ptds")((CUdeviceptr)p->devPtr, (unsigned char)p->value,
						   p->count);
}

IMPL(cudaMemsetAsync)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuMemsetD8Async, "_ptsz")(
			     (CUdeviceptr)p->devPtr, (unsigned char)p->value, p->count, p->stream);
}

static int set_2d(void *dst, size_t pitch, int value, size_t width, size_t height,
		  cudaStream_t stream, bool async, struct sim_call *call)
{
	int err = runtime_ready();

	if (err)
		return err;
	return async ? DT(call, cuMemsetD2D8Async, "_ptsz")(
			       (CUdeviceptr)dst, pitch, (unsigned char)value, width, height, stream)
		     : DT(call, cuMemsetD2D8, "_ptds")((CUdeviceptr)dst, pitch,
						       (unsigned char)value, width, height);
}

IMPL(cudaMemset2D)
{
	return set_2d(p->devPtr, p->pitch, p->value, p->width, p->height, NULL, false, call);
}

IMPL(cudaMemset2DAsync)
{
	return set_2d(p->devPtr, p->pitch, p->value, p->width, p->height, p->stream, true, call);
}

/* The layers of a pitched volume follow each other. */
IMPL(cudaMemset3D)
{
	return set_2d(p->pitchedDevPtr.ptr, p->pitchedDevPtr.pitch, p->value, p->extent.width,
		      p->extent.height * p->extent.depth, NULL, false, call);
}

IMPL(cudaMemset3DAsync)
{
	return set_2d(p->pitchedDevPtr.ptr, p->pitchedDevPtr.pitch, p->value, p->extent.width,
		      p->extent.height * p->extent.depth, p->stream, true, call);
}

static CUarray_format format_of(const struct cudaChannelFormatDesc *d)
{
	if (d->f == cudaChannelFormatKindFloat)
		return d->x == 16 ? CU_AD_FORMAT_HALF : CU_AD_FORMAT_FLOAT;
	if (d->f == cudaChannelFormatKindSigned)
		return d->x == 8    ? CU_AD_FORMAT_SIGNED_INT8
		       : d->x == 16 ? CU_AD_FORMAT_SIGNED_INT16
				    : CU_AD_FORMAT_SIGNED_INT32;
	return d->x == 8    ? CU_AD_FORMAT_UNSIGNED_INT8
	       : d->x == 16 ? CU_AD_FORMAT_UNSIGNED_INT16
			    : CU_AD_FORMAT_UNSIGNED_INT32;
}

static int new_array(cudaArray_t *array, const struct cudaChannelFormatDesc *d, size_t width,
		     size_t height, size_t depth)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = {
		.Width = width,
		.Height = height,
		.Depth = depth,
		.Format = format_of(d),
		.NumChannels = 1u + (d->y > 0) + (d->z > 0) + (d->w > 0),
	};
	int err = runtime_ready();

	return err ? err : D(cuArray3DCreate)((CUarray *)array, &desc);
}

IMPL(cudaMallocArray)
{
	return new_array(p->array, p->desc, p->width, p->height, 0);
}

IMPL(cudaMalloc3DArray)
{
	return new_array(p->array, p->desc, p->extent.width, p->extent.height, p->extent.depth);
}

IMPL(cudaFreeArray)
{
	int err = runtime_ready();

	return err || !p->array ? err : D(cuArrayDestroy)((CUarray)p->array);
}

EXPORTED(cudaCreateChannelDesc)
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
