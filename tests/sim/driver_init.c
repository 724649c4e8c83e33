/* Driver API: initialisation, devices, contexts, errors, entry points. */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

/* As the real driver: the library named in the environment is loaded by the first cuInit. */
static void load_injection(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *lib = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*start)(void) = lib ? (int (*)(void))dlsym(lib, "InitializeInjection") : NULL;

	if (start)
		start();
}

IMPL(cuInit)
{
	static bool injected;

	(void)call;
	if (p->Flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!injected) {
		injected = true;
		load_injection();
	}
	if (!device_count())
		return CUDA_ERROR_NO_DEVICE;
	if (!gpu_is_up()) {
		CUpti_ResourceData data = {0};

		gpu_set_up();
		tell_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &data);
	}
	return 0;
}

IMPL(cuDriverGetVersion)
{
	(void)call;
	if (!p->driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*p->driverVersion = (int)script.driver_version;
	return 0;
}

static int device_error(CUdevice device)
{
	if (!gpu_is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	return device_at(device) ? 0 : CUDA_ERROR_INVALID_DEVICE;
}

IMPL(cuDeviceGet)
{
	int err = device_error(p->ordinal);

	(void)call;
	if (!err)
		*p->device = p->ordinal;
	return err;
}

IMPL(cuDeviceGetCount)
{
	(void)call;
	if (!gpu_is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	*p->count = (int)device_count();
	return 0;
}

IMPL(cuDeviceGetName)
{
	int err = device_error(p->dev);

	(void)call;
	if (!err && p->len > 0)
		snprintf(p->name, (size_t)p->len, "%s", device_at(p->dev)->name);
	return err;
}

IMPL(cuDeviceGetUuid_v2)
{
	int err = device_error(p->dev);

	(void)call;
	if (err)
		return err;
	memset(p->uuid, 0x5a, sizeof(*p->uuid));
	p->uuid->bytes[15] = (char)p->dev;
	return 0;
}

IMPL(cuDeviceTotalMem_v2)
{
	int err = device_error(p->dev);

	(void)call;
	if (!err)
		*p->bytes = device_at(p->dev)->memory_bytes;
	return err;
}

IMPL(cuDeviceComputeCapability)
{
	int err = device_error(p->dev);

	(void)call;
	if (err)
		return err;
	*p->major = (int)device_at(p->dev)->cc_major;
	*p->minor = (int)device_at(p->dev)->cc_minor;
	return 0;
}

IMPL(cuDeviceGetPCIBusId)
{
	int err = device_error(p->dev);

	(void)call;
	if (!err && p->len > 0)
		snprintf(p->pciBusId, (size_t)p->len, "0000:%02X:00.0", p->dev + 1);
	return err;
}

IMPL(cuDeviceGetAttribute)
{
	int err = device_error(p->dev);
	const struct script_device *d = device_at(p->dev);
	int value = 0;

	(void)call;
	if (err)
		return err;
	switch (p->attrib) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
		value = 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
		value = 64;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
		value = 2147483647;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
		value = 65535;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		value = 49152;
		break;
	case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY:
		value = 65536;
		break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
		value = 32;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
		value = 65536;
		break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
		value = (int)(d->clock_hz / 1000);
		break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		value = (int)(d->memory_clock_hz / 1000);
		break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		value = (int)d->bus_bits;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		value = (int)d->sms;
		break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		value = (int)d->l2_bytes;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		value = 2048;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		value = 32;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		value = 233472;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		value = 232448;
		break;
	case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
		value = 1024;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		value = (int)d->cc_major;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		value = (int)d->cc_minor;
		break;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		value = p->dev + 1;
		break;
	case 133: /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED */
		value = d->mps;
		break;
	case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
		value = 3;
		break;
	case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
	case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
	case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
		value = 1;
		break;
	default:
		break;
	}
	*p->pi = value;
	return 0;
}

IMPL(cuDeviceCanAccessPeer)
{
	(void)call;
	*p->canAccessPeer = p->dev != p->peerDev;
	return device_error(p->dev);
}

IMPL(cuCtxEnablePeerAccess)
{
	(void)call;
	return context_ok(p->peerContext) ? 0 : CUDA_ERROR_INVALID_CONTEXT;
}

IMPL(cuCtxDisablePeerAccess)
{
	(void)call;
	return context_ok(p->peerContext) ? 0 : CUDA_ERROR_INVALID_CONTEXT;
}

IMPL(cuDevicePrimaryCtxRetain)
{
	int err = device_error(p->dev);
	struct CUctx_st *context;

	(void)call;
	if (err)
		return err;
	context = context_primary(p->dev);
	if (!context)
		context = context_create(p->dev, 0, true);
	context->retained++;
	*p->pctx = context;
	return 0;
}

IMPL(cuDevicePrimaryCtxRelease_v2)
{
	int err = device_error(p->dev);
	struct CUctx_st *context = err ? NULL : context_primary(p->dev);

	(void)call;
	if (err)
		return err;
	if (!context || !context->retained)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!--context->retained)
		context_destroy(context);
	return 0;
}

IMPL(cuDevicePrimaryCtxReset_v2)
{
	int err = device_error(p->dev);
	struct CUctx_st *context = err ? NULL : context_primary(p->dev);

	if (!err && capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (context)
		context_destroy(context);
	return err;
}

IMPL(cuDevicePrimaryCtxSetFlags_v2)
{
	(void)call;
	return device_error(p->dev);
}

IMPL(cuDevicePrimaryCtxGetState)
{
	int err = device_error(p->dev);
	struct CUctx_st *context = err ? NULL : context_primary(p->dev);

	(void)call;
	if (err)
		return err;
	*p->flags = context ? context->flags : 0;
	*p->active = context != NULL;
	return 0;
}

static int create(CUcontext *out, unsigned int flags, CUdevice device)
{
	int err = device_error(device);

	if (err)
		return err;
	*out = context_create(device, flags, false);
	return context_push(*out);
}

IMPL(cuCtxCreate_v2)
{
	(void)call;
	return create(p->pctx, p->flags, p->dev);
}

IMPL(cuCtxCreate_v4)
{
	(void)call;
	return create(p->pctx, p->flags, p->dev);
}

IMPL(cuCtxDestroy_v2)
{
	(void)call;
	if (!context_ok(p->ctx) || p->ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (context_current() == p->ctx)
		context_pop(NULL);
	context_destroy(p->ctx);
	return 0;
}

IMPL(cuCtxPushCurrent_v2)
{
	(void)call;
	return context_ok(p->ctx) ? context_push(p->ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

IMPL(cuCtxPopCurrent_v2)
{
	(void)call;
	return context_pop(p->pctx);
}

IMPL(cuCtxSetCurrent)
{
	(void)call;
	return gpu_is_up() ? context_set(p->ctx) : CUDA_ERROR_NOT_INITIALIZED;
}

IMPL(cuCtxGetCurrent)
{
	(void)call;
	if (!gpu_is_up())
		return CUDA_ERROR_NOT_INITIALIZED;
	*p->pctx = context_current();
	return 0;
}

IMPL(cuCtxGetDevice)
{
	struct CUctx_st *context = context_current();

	(void)call;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->device = context->device;
	return 0;
}

IMPL(cuCtxGetFlags)
{
	struct CUctx_st *context = context_current();

	(void)call;
	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->flags = context->flags;
	return 0;
}

IMPL(cuCtxGetId)
{
	struct CUctx_st *context = p->ctx ? p->ctx : context_current();

	(void)call;
	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->ctxId = context->id;
	return 0;
}

IMPL(cuCtxGetApiVersion)
{
	(void)call;
	*p->version = 3020;
	return 0;
}

IMPL(cuCtxGetStreamPriorityRange)
{
	(void)call;
	if (p->leastPriority)
		*p->leastPriority = 0;
	if (p->greatestPriority)
		*p->greatestPriority = -5;
	return 0;
}

IMPL(cuCtxGetLimit)
{
	(void)call;
	*p->pvalue = p->limit == CU_LIMIT_STACK_SIZE ? 1024 : 8u << 20;
	return 0;
}

IMPL(cuCtxSetLimit)
{
	(void)p;
	(void)call;
	return context_current() ? 0 : CUDA_ERROR_INVALID_CONTEXT;
}

IMPL(cuCtxGetCacheConfig)
{
	(void)call;
	*p->pconfig = CU_FUNC_CACHE_PREFER_NONE;
	return 0;
}

IMPL(cuCtxSetCacheConfig)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuCtxSynchronize)
{
	struct CUctx_st *context = context_current();
	uint64_t tail;

	(void)p;
	(void)call;
	if (!context_ok(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	tail = context_tail(context);
	if (tail > sim_clock->now())
		wait_until(tail + script.sync_latency_ns);
	host_drain();
	tell_synchronized(CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED, context, NULL);
	return 0;
}

IMPL(cuProfilerStart)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuProfilerStop)
{
	(void)p;
	(void)call;
	return 0;
}

static const struct {
	int code;
	const char *name, *text;
} errors[] = {
	{0, "CUDA_SUCCESS", "no error"},
	{1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{600, "CUDA_ERROR_NOT_READY", "device not ready"},
	{700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
	{701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	{719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	{801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
	{901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
	 "operation failed due to a previous error during capture"},
};

IMPL(cuGetErrorName)
{
	(void)call;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == (int)p->error) {
			*p->pStr = errors[i].name;
			return 0;
		}
	}
	*p->pStr = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

IMPL(cuGetErrorString)
{
	(void)call;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == (int)p->error) {
			*p->pStr = errors[i].text;
			return 0;
		}
	}
	*p->pStr = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

static void *address_of(const char *name)
{
	for (const struct sim_export *e = sim_exports; e->name; e++)
		if (!strcmp(e->name, name))
			return e->address;
	return NULL;
}

/* Finds the newest variant of a plain name, preferring its per-thread twin when asked to. */
static void *proc_address(const char *symbol, bool per_thread)
{
	static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
	static const char *const twins[] = {"_ptsz", "_ptds", ""};
	char name[128];

	/* Where the number belongs to another function or a rename. */
	if (!strcmp(symbol, "cuGraphInstantiate"))
		symbol = "cuGraphInstantiateWithFlags";
	if (!strcmp(symbol, "cuCtxGetDevice") || !strcmp(symbol, "cuCtxSynchronize"))
		return address_of(symbol);
	for (size_t v = 0; v < 4; v++) {
		for (size_t t = per_thread ? 0 : 2; t < 3; t++) {
			void *address;

			snprintf(name, sizeof(name), "%s%s%s", symbol, versions[v], twins[t]);
			address = address_of(name);
			if (address)
				return address;
		}
	}
	return NULL;
}

IMPL(cuGetProcAddress_v2)
{
	(void)call;
	*p->pfn = proc_address(p->symbol,
			       (p->flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
	if (p->symbolStatus)
		*p->symbolStatus = *p->pfn ? CU_GET_PROC_ADDRESS_SUCCESS
					   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *p->pfn ? 0 : CUDA_ERROR_NOT_FOUND;
}

IMPL(cuGetProcAddress)
{
	(void)call;
	*p->pfn = proc_address(p->symbol,
			       (p->flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
	return *p->pfn ? 0 : CUDA_ERROR_NOT_FOUND;
}
