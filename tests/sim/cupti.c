/* CUPTI stand-in: the way to the driver, ids, time, results. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sim_core *_Atomic core;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct sim_core *cupti_core(void)
{
	const struct sim_core *found = atomic_load(&core);
	const struct sim_core *(*get)(void);
	void *lib;

	if (found)
		return found;
	lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	get = lib ? (const struct sim_core *(*)(void))dlsym(lib, SIM_CORE_SYMBOL) : NULL;
	if (get)
		atomic_store(&core, get());
	return atomic_load(&core);
}

CUptiResult cupti_enter(const char *function)
{
	const struct sim_core *c = cupti_core();

	return c ? (CUptiResult)c->fault(function) : CUPTI_ERROR_NOT_INITIALIZED;
}

static void on_api(struct sim_call *call, bool exit)
{
	if (exit)
		activity_api(call);
	callback_api(call, exit);
}

void cupti_listen(void)
{
	static const struct sim_listener listener = {
		.api = on_api,
		.resource = callback_resource,
		.synchronized = callback_synchronized,
		.record = activity_record,
		.wants_record = activity_wants,
		.lazy_load = activity_lazy_load,
	};
	static bool listening;

	pthread_mutex_lock(&lock);
	if (!listening && cupti_core())
		cupti_core()->attach(&listener);
	listening = true;
	pthread_mutex_unlock(&lock);
}

int cupti_stub(const char *name, int code)
{
	CUptiResult fault = cupti_enter(name);

	return fault ? (int)fault : code;
}

EXPORTED(cuptiGetVersion)
CUptiResult cuptiGetVersion(uint32_t *version)
{
	const struct sim_core *c = cupti_core();
	int fault = c ? c->fault("cuptiGetVersion") : 0;

	if (fault)
		return (CUptiResult)fault;
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = c && c->cupti->version ? c->cupti->version : SIM_CUPTI_VERSION;
	return CUPTI_SUCCESS;
}

static __thread CUptiResult last_error;

EXPORTED(cuptiGetLastError)
CUptiResult cuptiGetLastError(void)
{
	CUptiResult error = last_error;

	last_error = CUPTI_SUCCESS;
	return error;
}

EXPORTED(cuptiGetResultString)
CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	static const struct {
		CUptiResult result;
		const char *name;
	} names[] = {
		{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
		{CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"},
		{CUPTI_ERROR_INVALID_DEVICE, "CUPTI_ERROR_INVALID_DEVICE"},
		{CUPTI_ERROR_INVALID_CONTEXT, "CUPTI_ERROR_INVALID_CONTEXT"},
		{CUPTI_ERROR_INVALID_OPERATION, "CUPTI_ERROR_INVALID_OPERATION"},
		{CUPTI_ERROR_OUT_OF_MEMORY, "CUPTI_ERROR_OUT_OF_MEMORY"},
		{CUPTI_ERROR_MAX_LIMIT_REACHED, "CUPTI_ERROR_MAX_LIMIT_REACHED"},
		{CUPTI_ERROR_NOT_INITIALIZED, "CUPTI_ERROR_NOT_INITIALIZED"},
		{CUPTI_ERROR_NOT_SUPPORTED, "CUPTI_ERROR_NOT_SUPPORTED"},
		{CUPTI_ERROR_HARDWARE_BUSY, "CUPTI_ERROR_HARDWARE_BUSY"},
		{CUPTI_ERROR_INVALID_KIND, "CUPTI_ERROR_INVALID_KIND"},
		{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
		{CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
		 "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
	};
	static const char unknown[] = "CUPTI_ERROR_UNKNOWN";

	if (!text)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*text = unknown;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].result == result)
			*text = names[i].name;
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiGetErrorMessage)
CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return cuptiGetResultString(result, text);
}

EXPORTED(cuptiGetContextId)
CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetContextId");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*id = cupti_core()->context_id(context);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_CONTEXT;
}

EXPORTED(cuptiGetDeviceId)
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetDeviceId");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!context)
		context = cupti_core()->current_context();
	if (!cupti_core()->context_id(context))
		return CUPTI_ERROR_INVALID_CONTEXT;
	*id = cupti_core()->context_device(context);
	return CUPTI_SUCCESS;
}

EXPORTED(cuptiGetStreamIdEx)
CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetStreamIdEx");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return cupti_core()->stream_id(context, stream, per_thread, id) ? CUPTI_ERROR_INVALID_STREAM
									: CUPTI_SUCCESS;
}

EXPORTED(cuptiGetStreamId)
CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(context, stream, 0, id);
}

EXPORTED(cuptiGetGraphId)
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetGraphId");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*id = cupti_core()->graph_id(graph);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORTED(cuptiGetGraphExecId)
CUptiResult cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetGraphExecId");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*id = cupti_core()->graph_exec_id(exec);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

EXPORTED(cuptiGetGraphNodeId)
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	CUptiResult err = cupti_enter("cuptiGetGraphNodeId");

	if (err)
		return err;
	if (!id)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*id = cupti_core()->graph_node_id(node);
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUpti_ActivityThreadIdType thread_id_type;

EXPORTED(cuptiSetThreadIdType)
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	CUptiResult err = cupti_enter("cuptiSetThreadIdType");

	if (!err)
		thread_id_type = type;
	return err;
}

EXPORTED(cuptiGetThreadIdType)
CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	CUptiResult err = cupti_enter("cuptiGetThreadIdType");

	if (!err)
		*type = thread_id_type;
	return err;
}

EXPORTED(cuptiDeviceSupported)
CUptiResult cuptiDeviceSupported(CUdevice device, int *support)
{
	CUptiResult err = cupti_enter("cuptiDeviceSupported");

	(void)device;
	if (!err)
		*support = 1;
	return err;
}

EXPORTED(cuptiComputeCapabilitySupported)
CUptiResult cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
	CUptiResult err = cupti_enter("cuptiComputeCapabilitySupported");

	(void)minor;
	if (!err)
		*support = major >= 7;
	return err;
}

EXPORTED(cuptiDeviceVirtualizationMode)
CUptiResult cuptiDeviceVirtualizationMode(CUdevice device, CUpti_DeviceVirtualizationMode *mode)
{
	CUptiResult err = cupti_enter("cuptiDeviceVirtualizationMode");

	(void)device;
	if (!err)
		*mode = CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE;
	return err;
}

/* No tracer that runs to the end of a process may call this: see pitfalls D1. The test must fail.
 */
EXPORTED(cuptiFinalize)
CUptiResult cuptiFinalize(void)
{
	static const char text[] = "sim: cuptiFinalize was called\n";

	if (write(2, text, sizeof(text) - 1) < 0)
		abort();
	if (cupti_core())
		cupti_core()->truth("{\"t\":\"cupti\",\"call\":\"cuptiFinalize\"}");
	abort();
}
