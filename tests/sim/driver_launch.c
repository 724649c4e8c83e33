/* Driver API: modules, libraries, kernels, launches, occupancy. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"

IMPL(cuModuleLoadData)
{
	(void)call;
	if (!context_ok(context_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->module = module_create();
	return 0;
}

IMPL(cuModuleLoadDataEx)
{
	(void)call;
	if (!context_ok(context_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->module = module_create();
	return 0;
}

IMPL(cuModuleLoadFatBinary)
{
	(void)call;
	if (!context_ok(context_current()))
		return CUDA_ERROR_INVALID_CONTEXT;
	*p->module = module_create();
	return 0;
}

IMPL(cuModuleUnload)
{
	(void)call;
	return p->hmod && p->hmod->magic == MAGIC_MODULE ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

IMPL(cuModuleGetLoadingMode)
{
	(void)call;
	*p->mode = script.lazy_loading ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
	return 0;
}

IMPL(cuModuleGetFunction)
{
	(void)call;
	if (!p->hmod || p->hmod->magic != MAGIC_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	*p->hfunc = module_function(p->hmod, p->name);
	return 0;
}

IMPL(cuLibraryLoadData)
{
	(void)call;
	*p->library = (CUlibrary)module_create();
	return 0;
}

IMPL(cuLibraryUnload)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuLibraryGetKernel)
{
	struct CUmod_st *module = (struct CUmod_st *)p->library;

	(void)call;
	if (!module || module->magic != MAGIC_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	*p->pKernel = (CUkernel)module_function(module, p->name);
	return 0;
}

/* A kernel and its function are the same object here. */
IMPL(cuKernelGetFunction)
{
	(void)call;
	*p->pFunc = (CUfunction)p->kernel;
	return p->kernel ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

static int function_name(const char **name, CUfunction f)
{
	if (!f || f->magic != MAGIC_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = f->name;
	return 0;
}

IMPL(cuKernelGetName)
{
	(void)call;
	return function_name(p->name, (CUfunction)p->hfunc);
}

IMPL(cuFuncGetName)
{
	(void)call;
	return function_name(p->name, p->hfunc);
}

IMPL(cuFuncGetModule)
{
	(void)call;
	if (!p->hfunc || p->hfunc->magic != MAGIC_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	*p->hmod = p->hfunc->module;
	return 0;
}

IMPL(cuFuncLoad)
{
	if (!p->function || p->function->magic != MAGIC_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	function_load(p->function, call);
	return 0;
}

IMPL(cuFuncIsLoaded)
{
	(void)call;
	*p->state = p->function->loaded ? CU_FUNCTION_LOADING_STATE_LOADED
					: CU_FUNCTION_LOADING_STATE_UNLOADED;
	return 0;
}

static int function_attribute(int *out, CUfunction_attribute attribute, CUfunction f)
{
	if (!f || f->magic != MAGIC_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = (int)f->script->max_threads;
		return 0;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*out = (int)f->script->static_shared;
		return 0;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = (int)f->script->registers;
		return 0;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*out = 90;
		return 0;
	default:
		*out = 0;
		return 0;
	}
}

IMPL(cuFuncGetAttribute)
{
	(void)call;
	return function_attribute(p->pi, p->attrib, p->hfunc);
}

IMPL(cuKernelGetAttribute)
{
	(void)call;
	return function_attribute(p->pi, p->attrib, (CUfunction)p->kernel);
}

IMPL(cuFuncSetAttribute)
{
	(void)call;
	return p->hfunc && p->hfunc->magic == MAGIC_FUNCTION ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

IMPL(cuKernelSetAttribute)
{
	(void)p;
	(void)call;
	return 0;
}

IMPL(cuFuncSetCacheConfig)
{
	(void)p;
	(void)call;
	return 0;
}

static int launch(CUfunction f, const unsigned int grid[3], const unsigned int block[3],
		  unsigned int shared, CUstream handle, struct work *work, struct sim_call *call)
{
	struct CUstream_st *stream;
	int err = call_stream(handle, call, &stream);

	if (!err)
		err = function_work(f, grid, block, shared, work);
	if (err)
		return err;
	function_load(f, call);
	return call_submit(stream, CU_GRAPH_NODE_TYPE_KERNEL, work, call);
}

static const char *name_of(CUfunction f)
{
	return f && f->magic == MAGIC_FUNCTION ? f->name : NULL;
}

SYMBOL(cuLaunchKernel)
{
	return name_of(((const cuLaunchKernel_args *)params)->f);
}

IMPL(cuLaunchKernel)
{
	struct work work = {0};

	return launch(p->f, (unsigned int[]){p->gridDimX, p->gridDimY, p->gridDimZ},
		      (unsigned int[]){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes,
		      p->hStream, &work, call);
}

SYMBOL(cuLaunchCooperativeKernel)
{
	return name_of(((const cuLaunchCooperativeKernel_args *)params)->f);
}

IMPL(cuLaunchCooperativeKernel)
{
	struct work work = {.op.cooperative = true};

	return launch(p->f, (unsigned int[]){p->gridDimX, p->gridDimY, p->gridDimZ},
		      (unsigned int[]){p->blockDimX, p->blockDimY, p->blockDimZ}, p->sharedMemBytes,
		      p->hStream, &work, call);
}

SYMBOL(cuLaunchKernelEx)
{
	return name_of(((const cuLaunchKernelEx_args *)params)->f);
}

IMPL(cuLaunchKernelEx)
{
	const CUlaunchConfig *c = p->config;
	struct work work = {0};

	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			work.op.cluster[0] = (int32_t)a->value.clusterDim.x;
			work.op.cluster[1] = (int32_t)a->value.clusterDim.y;
			work.op.cluster[2] = (int32_t)a->value.clusterDim.z;
		} else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
			work.op.cooperative = a->value.cooperative != 0;
		} else if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
			   a->value.programmaticStreamSerializationAllowed && name_of(p->f)) {
			work.overlap_ns = p->f->script->overlap_ns;
		}
	}
	return launch(p->f, (unsigned int[]){c->gridDimX, c->gridDimY, c->gridDimZ},
		      (unsigned int[]){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes,
		      c->hStream, &work, call);
}

static int blocks_per_sm(CUfunction f, int block, size_t shared)
{
	int by_threads = block > 0 ? 2048 / block : 0;
	int by_shared = shared + f->script->static_shared
				? (int)(233472 / (shared + f->script->static_shared))
				: 32;
	int by_registers =
		block > 0 ? (int)(65536 / (f->script->registers * (unsigned int)block)) : 0;
	int least = by_threads < by_shared ? by_threads : by_shared;

	if (by_registers < least)
		least = by_registers;
	return least < 32 ? least : 32;
}

IMPL(cuOccupancyMaxActiveBlocksPerMultiprocessor)
{
	(void)call;
	if (!name_of(p->func))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->numBlocks = blocks_per_sm(p->func, p->blockSize, p->dynamicSMemSize);
	return 0;
}

IMPL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
{
	(void)call;
	if (!name_of(p->func))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->numBlocks = blocks_per_sm(p->func, p->blockSize, p->dynamicSMemSize);
	return 0;
}

IMPL(cuOccupancyMaxPotentialBlockSize)
{
	(void)call;
	if (!name_of(p->func))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->blockSize = 256;
	*p->minGridSize =
		blocks_per_sm(p->func, 256, p->dynamicSMemSize) * (int)script.devices[0].sms;
	return 0;
}

IMPL(cuOccupancyAvailableDynamicSMemPerBlock)
{
	(void)call;
	*p->dynamicSmemSize = 232448 / (size_t)(p->numBlocks > 0 ? p->numBlocks : 1);
	return 0;
}
