/* Modules and kernels: any name that is asked for exists, and does what the script says. */
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

static uint32_t next_module_id = 1;

static void load_module(struct CUmod_st *module)
{
	static const char cubin[16] = "\177ELF sim cubin";
	CUpti_ModuleResourceData data = {module->id, sizeof(cubin), cubin};
	CUpti_ResourceData resource = {.context = context_current(), .resourceDescriptor = &data};

	uint64_t begin = sim_clock->now();

	if (module->loaded)
		return;
	module->loaded = true;
	charge(script.module_load_ns);
	truth_load(begin, sim_clock->now());
	tell_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, &resource);
	if (script.module_load_ns)
		tell_load(begin, sim_clock->now());
}

struct CUmod_st *module_create(void)
{
	struct CUmod_st *module = calloc(1, sizeof(*module));

	if (!module)
		abort();
	module->magic = MAGIC_MODULE;
	gpu_lock();
	module->id = next_module_id++;
	gpu_unlock();
	if (!script.lazy_loading)
		load_module(module);
	return module;
}

struct CUfunc_st *module_function(struct CUmod_st *module, const char *name)
{
	struct CUfunc_st *f;

	gpu_lock();
	for (f = module->functions; f; f = f->next)
		if (!strcmp(f->name, name))
			break;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f || !(f->name = strdup(name)))
			abort();
		f->magic = MAGIC_FUNCTION;
		f->script = script_kernel(name);
		f->module = module;
		f->loaded = !script.lazy_loading;
		f->next = module->functions;
		module->functions = f;
	}
	gpu_unlock();
	return f;
}

/* Lazy loading happens inside the first launch of each function and blocks it. */
void function_load(struct CUfunc_st *f, struct sim_call *call)
{
	(void)call;
	if (f->loaded)
		return;
	f->loaded = true;
	load_module(f->module);
}

int function_work(CUfunction f, const unsigned int grid[3], const unsigned int block[3],
		  unsigned int shared, struct work *work)
{
	uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

	if (!f || f->magic != MAGIC_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!blocks || !threads || threads > 1024 || shared > 232448)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > f->script->max_threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	work->op.kind = SIM_KERNEL;
	work->op.name = f->name;
	for (int i = 0; i < 3; i++) {
		work->op.grid[i] = (int32_t)grid[i];
		work->op.block[i] = (int32_t)block[i];
	}
	work->op.registers = f->script->registers;
	work->op.static_shared = f->script->static_shared;
	work->op.dynamic_shared = shared;
	work->function = f;
	return 0;
}
