/* Runtime stand-in: kernels and variables that compiled code registers, and launching them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	const void *host; /* the host function's address */
	char *name;
	void **binary;
	CUfunction function;
};

struct variable {
	struct variable *next;
	const void *host;
	size_t bytes;
	void *device;
};

/* Open addressing by host address. */
static struct entry *table;
static size_t table_count, table_room;
static struct variable *variables;
/* Kernels of cudaLibraryGetKernel, which no host function stands for. */
static CUfunction *known;
static size_t known_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct binary {
	CUlibrary library;
};

static struct entry *slot(struct entry *entries, size_t room, const void *host)
{
	size_t at = ((uintptr_t)host >> 4) * 11400714819323198485u % room;

	while (entries[at].host && entries[at].host != host)
		at = (at + 1) % room;
	return &entries[at];
}

static void grow(void)
{
	size_t room = table_room ? table_room * 2 : 256;
	struct entry *bigger = calloc(room, sizeof(*bigger));

	if (!bigger)
		abort();
	for (size_t i = 0; i < table_room; i++)
		if (table[i].host)
			*slot(bigger, room, table[i].host) = table[i];
	free(table);
	table = bigger;
	table_room = room;
}

EXPORTED(__cudaRegisterFatBinary)
void **__cudaRegisterFatBinary(void *image)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	(void)image;
	if (!binary)
		abort();
	return (void **)binary;
}

EXPORTED(__cudaRegisterFatBinaryEnd)
void __cudaRegisterFatBinaryEnd(void **binary)
{
	(void)binary;
}

EXPORTED(__cudaUnregisterFatBinary)
void __cudaUnregisterFatBinary(void **binary)
{
	(void)binary;
}

EXPORTED(__cudaInitModule)
char __cudaInitModule(void **binary)
{
	(void)binary;
	return 1;
}

EXPORTED(__cudaRegisterFunction)
void __cudaRegisterFunction(void **binary, const char *host, char *device_function,
			    const char *device_name, int thread_limit, uint3 *tid, uint3 *bid,
			    dim3 *block, dim3 *grid, int *warp)
{
	struct entry *e;

	(void)device_function;
	pthread_mutex_lock(&lock);
	if ((table_count + 1) * 2 > table_room)
		grow();
	e = slot(table, table_room, host);
	if (!e->host) {
		e->host = host;
		e->name = strdup(device_name);
		e->binary = binary;
		table_count++;
	}
	pthread_mutex_unlock(&lock);
}

static void add_variable(const void *host, size_t bytes)
{
	struct variable *v = calloc(1, sizeof(*v));

	if (!v)
		abort();
	v->host = host;
	v->bytes = bytes;
	pthread_mutex_lock(&lock);
	v->next = variables;
	variables = v;
	pthread_mutex_unlock(&lock);
}

EXPORTED(__cudaRegisterVar)
void __cudaRegisterVar(void **binary, char *host, char *device_address, const char *device_name,
		       int ext, size_t bytes, int constant, int global)
{
	add_variable(host, bytes);
}

EXPORTED(__cudaRegisterManagedVar)
void __cudaRegisterManagedVar(void **binary, void **host, char *device_address,
			      const char *device_name, int ext, size_t bytes, int constant,
			      int global)
{
	*host = calloc(1, bytes);
}

EXPORTED(__cudaRegisterHostVar)
void __cudaRegisterHostVar(void **binary, const char *device_name, char *host, size_t bytes)
{
}

/* What <<<>>> keeps between pushing its configuration and the stub's launch. */
static __thread struct {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} pushed[16];
static __thread unsigned int pushed_count;

EXPORTED(__cudaPushCallConfiguration)
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
					 struct CUstream_st *stream)
{
	if (pushed_count == sizeof(pushed) / sizeof(pushed[0]))
		return 1;
	pushed[pushed_count].grid = grid;
	pushed[pushed_count].block = block;
	pushed[pushed_count].shared = shared;
	pushed[pushed_count++].stream = stream;
	return 0;
}

EXPORTED(__cudaPopCallConfiguration)
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!pushed_count)
		return cudaErrorMissingConfiguration;
	pushed_count--;
	*grid = pushed[pushed_count].grid;
	*block = pushed[pushed_count].block;
	*shared = pushed[pushed_count].shared;
	*(cudaStream_t *)stream = pushed[pushed_count].stream;
	return cudaSuccess;
}

static struct entry *find(const void *func)
{
	struct entry *e = table_room ? slot(table, table_room, func) : NULL;

	return e && e->host ? e : NULL;
}

const char *runtime_name(const void *func)
{
	struct entry *e;
	const char *name = NULL;

	pthread_mutex_lock(&lock);
	e = find(func);
	if (e)
		name = e->name;
	pthread_mutex_unlock(&lock);
	return name;
}

static bool is_known(CUfunction f)
{
	bool hit = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; !hit && i < known_count; i++)
		hit = known[i] == f;
	pthread_mutex_unlock(&lock);
	return hit;
}

void runtime_know(CUfunction f)
{
	if (is_known(f))
		return;
	pthread_mutex_lock(&lock);
	known = realloc(known, (known_count + 1) * sizeof(CUfunction));
	if (!known)
		abort();
	known[known_count++] = f;
	pthread_mutex_unlock(&lock);
}

static CUfunction load(struct entry *e)
{
	struct binary *binary = (struct binary *)e->binary;
	CUkernel kernel;

	if (!binary->library &&
	    D(cuLibraryLoadData)(&binary->library, NULL, NULL, NULL, 0, NULL, NULL, 0))
		return NULL;
	if (D(cuLibraryGetKernel)(&kernel, binary->library, e->name))
		return NULL;
	return (CUfunction)kernel;
}

CUfunction runtime_function(const void *func)
{
	struct sim_call *call = runtime_core()->current_call();
	uint64_t cost = call ? call->cost_ns : 0;
	struct entry *e;
	CUfunction f = NULL;

	pthread_mutex_lock(&lock);
	e = find(func);
	if (e && e->function)
		f = e->function;
	pthread_mutex_unlock(&lock);
	if (f || !e)
		return f ? f : is_known((CUfunction)func) ? (CUfunction)func : NULL;
	if (call)
		call->cost_ns = 0;
	f = load(e);
	if (call)
		call->cost_ns = cost;
	if (!f)
		return NULL;
	runtime_know(f);
	pthread_mutex_lock(&lock);
	find(func)->function = f;
	pthread_mutex_unlock(&lock);
	return f;
}

void *runtime_symbol(const void *symbol, size_t *bytes)
{
	struct variable *v;
	CUdeviceptr p;

	pthread_mutex_lock(&lock);
	for (v = variables; v && v->host != symbol; v = v->next)
		;
	pthread_mutex_unlock(&lock);
	if (!v)
		return NULL;
	if (!v->device && !D(cuMemAlloc)(&p, v->bytes))
		v->device = (void *)p;
	if (bytes)
		*bytes = v->bytes;
	return v->device;
}

static int get_kernel(cudaKernel_t *out, const void *func)
{
	CUfunction f = runtime_ready() ? NULL : runtime_function(func);

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	*out = (cudaKernel_t)f;
	return 0;
}

EXPORTED(__cudaGetKernel)
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	return runtime_core() ? (cudaError_t)get_kernel(kernel, func) : cudaErrorInsufficientDriver;
}

IMPL(cudaGetKernel)
{
	return get_kernel(p->kernelPtr, p->entryFuncAddr);
}

static int check(dim3 grid, dim3 block)
{
	uint64_t threads = (uint64_t)block.x * block.y * block.z;

	return !grid.x || !grid.y || !grid.z || !threads || threads > 1024
		       ? cudaErrorInvalidConfiguration
		       : 0;
}

static int launch(CUfunction f, dim3 grid, dim3 block, void **args, size_t shared,
		  cudaStream_t stream, struct sim_call *call)
{
	int err = check(grid, block);

	if (err)
		return err;
	return DT(call, cuLaunchKernel, "_ptsz")(f, grid.x, grid.y, grid.z, block.x, block.y,
						 block.z, (unsigned int)shared, stream, args, NULL);
}

int runtime_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
		   cudaStream_t stream, struct sim_call *call)
{
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(func);

	if (err)
		return err;
	return f ? launch(f, grid, block, args, shared, stream, call)
		 : cudaErrorInvalidDeviceFunction;
}

SYMBOL(cudaLaunchKernel)
{
	return runtime_name(((const cudaLaunchKernel_args *)params)->func);
}

IMPL(cudaLaunchKernel)
{
	return runtime_launch(p->func, p->gridDim, p->blockDim, p->args, p->sharedMem, p->stream,
			      call);
}

IMPL(__cudaLaunchKernel)
{
	int err = runtime_ready();

	if (err)
		return err;
	if (!is_known((CUfunction)p->kernel))
		return cudaErrorInvalidResourceHandle;
	return launch((CUfunction)p->kernel, p->gridDim, p->blockDim, p->args, p->sharedMem,
		      p->stream, call);
}

SYMBOL(cudaLaunchCooperativeKernel)
{
	return runtime_name(((const cudaLaunchCooperativeKernel_args *)params)->func);
}

IMPL(cudaLaunchCooperativeKernel)
{
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(p->func);

	if (!err)
		err = f ? check(p->gridDim, p->blockDim) : cudaErrorInvalidDeviceFunction;
	if (err)
		return err;
	return DT(call, cuLaunchCooperativeKernel, "_ptsz")(
		f, p->gridDim.x, p->gridDim.y, p->gridDim.z, p->blockDim.x, p->blockDim.y,
		p->blockDim.z, (unsigned int)p->sharedMem, p->stream, p->args);
}

SYMBOL(cudaLaunchKernelExC)
{
	return runtime_name(((const cudaLaunchKernelExC_args *)params)->func);
}

IMPL(cudaLaunchKernelExC)
{
	const cudaLaunchConfig_t *c = p->config;
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(p->func);
	CUlaunchConfig config;

	if (!err && !c)
		err = cudaErrorInvalidValue;
	if (!err)
		err = f ? check(c->gridDim, c->blockDim) : cudaErrorInvalidDeviceFunction;
	if (err)
		return err;
	config = (CUlaunchConfig){
		.gridDimX = c->gridDim.x,
		.gridDimY = c->gridDim.y,
		.gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x,
		.blockDimY = c->blockDim.y,
		.blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned int)c->dynamicSmemBytes,
		.hStream = c->stream,
		.attrs = (CUlaunchAttribute *)c->attrs,
		.numAttrs = c->numAttrs,
	};
	return DT(call, cuLaunchKernelEx, "_ptsz")(&config, f, p->args, NULL);
}

IMPL(cudaFuncGetAttributes)
{
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(p->func);
	int threads = 0, shared = 0, registers = 0;

	if (!f)
		return err ? err : cudaErrorInvalidDeviceFunction;
	memset(p->attr, 0, sizeof(*p->attr));
	D(cuFuncGetAttribute)(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f);
	D(cuFuncGetAttribute)(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f);
	D(cuFuncGetAttribute)(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
	p->attr->maxThreadsPerBlock = threads;
	p->attr->sharedSizeBytes = (size_t)shared;
	p->attr->numRegs = registers;
	p->attr->binaryVersion = p->attr->ptxVersion = 90;
	return 0;
}

IMPL(cudaFuncSetAttribute)
{
	int err = runtime_ready();

	return err ? err : runtime_function(p->func) ? 0 : cudaErrorInvalidDeviceFunction;
}

IMPL(cudaFuncGetName)
{
	const char *name = runtime_name(p->func);

	if (!name)
		return cudaErrorInvalidDeviceFunction;
	*p->name = name;
	return 0;
}

IMPL(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
{
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(p->func);

	if (!f)
		return err ? err : cudaErrorInvalidDeviceFunction;
	return D(cuOccupancyMaxActiveBlocksPerMultiprocessor)(p->numBlocks, f, p->blockSize,
							      p->dynamicSMemSize);
}

IMPL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
{
	int err = runtime_ready();
	CUfunction f = err ? NULL : runtime_function(p->func);

	if (!f)
		return err ? err : cudaErrorInvalidDeviceFunction;
	return D(cuOccupancyMaxActiveBlocksPerMultiprocessor)(p->numBlocks, f, p->blockSize,
							      p->dynamicSMemSize);
}

IMPL(cudaLibraryLoadData)
{
	int err = runtime_ready();

	return err ? err
		   : D(cuLibraryLoadData)((CUlibrary *)p->library, p->code, NULL, NULL, 0, NULL,
					  NULL, 0);
}

IMPL(cudaLibraryGetKernel)
{
	int err = runtime_ready();

	if (!err)
		err = D(cuLibraryGetKernel)((CUkernel *)p->pKernel, (CUlibrary)p->library, p->name);
	if (!err)
		runtime_know((CUfunction)*p->pKernel);
	return err;
}

IMPL(cudaLibraryUnload)
{
	return D(cuLibraryUnload)((CUlibrary)p->library);
}

IMPL(cudaGetSymbolAddress)
{
	int err = runtime_ready();

	if (err)
		return err;
	*p->devPtr = runtime_symbol(p->symbol, NULL);
	return *p->devPtr ? 0 : cudaErrorInvalidSymbol;
}

IMPL(cudaGetSymbolSize)
{
	int err = runtime_ready();

	if (err)
		return err;
	return runtime_symbol(p->symbol, p->size) ? 0 : cudaErrorInvalidSymbol;
}

static int entry_point(const char *symbol, void **out, unsigned int version,
		       unsigned long long flags, enum cudaDriverEntryPointQueryResult *result,
		       const struct sim_call *call)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	int err = D(cuInit)(0);

	if (err)
		return err;
	if (call->api->per_thread && !flags)
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	err = D(cuGetProcAddress)(symbol, out, (int)version, flags, &status);
	if (result)
		*result = (enum cudaDriverEntryPointQueryResult)status;
	/* A symbol that is not there is not an error of the call, when the caller can see it. */
	return result && err == CUDA_ERROR_NOT_FOUND ? 0 : err;
}

IMPL(cudaGetDriverEntryPointByVersion)
{
	return entry_point(p->symbol, p->funcPtr, p->cudaVersion, p->flags, p->driverStatus, call);
}

IMPL(cudaGetDriverEntryPoint)
{
	return entry_point(p->symbol, p->funcPtr, 13000, p->flags, p->driverStatus, call);
}
