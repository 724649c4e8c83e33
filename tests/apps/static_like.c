/* static_like: uses the driver only, found by dlopen and dlsym or cuGetProcAddress, as a program
 * with static cudart does: no hook of a preload library can see it. Every driver launch function
 * once, twins included, then launches [100] by cuLaunchKernel. */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#include "app.h"

static void *driver;
static CUresult (*get)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static void *by_dlsym(const char *name)
{
	void *found = dlsym(driver, name);

	EXPECT(found != NULL, 1);
	return found;
}

static void *by_query(const char *name)
{
	CUdriverProcAddressQueryResult result;
	void *found = NULL;

	CHECK(get(name, &found, 13000, 0, &result));
	EXPECT(found != NULL, 1);
	return found;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define S(function) ((__typeof__(&function))by_dlsym(TEXT(function)))
#define T(function, suffix) ((__typeof__(&function))by_dlsym(TEXT(function) suffix))
#define Q(function) ((__typeof__(&function))by_query(#function))

static void every_launch(CUfunction f, CUstream stream)
{
	CUlaunchConfig config = {
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = stream,
	};
	CUgraphExec exec;
	CUgraph graph;

	CHECK(S(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(T(cuLaunchKernel, "_ptsz")(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(S(cuLaunchKernelEx)(&config, f, NULL, NULL));
	CHECK(T(cuLaunchKernelEx, "_ptsz")(&config, f, NULL, NULL));
	CHECK(S(cuLaunchCooperativeKernel)(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL));
	CHECK(T(cuLaunchCooperativeKernel, "_ptsz")(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL));
	CHECK(S(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(S(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(S(cuStreamEndCapture)(stream, &graph));
	CHECK(S(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	CHECK(S(cuGraphLaunch)(exec, stream));
	CHECK(T(cuGraphLaunch, "_ptsz")(exec, stream));
}

static void copies(CUstream stream)
{
	char text[64] = "there and back";
	char back[64] = {0};
	CUdeviceptr p;

	CHECK(S(cuMemAlloc)(&p, sizeof(text)));
	CHECK(S(cuMemcpyHtoD)(p, text, sizeof(text)));
	CHECK(S(cuMemcpyDtoHAsync)(back, p, sizeof(back), stream));
	CHECK(S(cuStreamSynchronize)(stream));
	EXPECT(strcmp(text, back), 0);
	CHECK(S(cuMemsetD8)(p, 0, sizeof(text)));
	CHECK(S(cuMemFree)(p));
}

int main(int argc, char **argv)
{
	long launches = app_option(argc, argv, "launches", 100);
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUfunction f;
	CUstream stream;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!driver) {
		printf("static_like: %s\n", dlerror());
		return 1;
	}
	get = S(cuGetProcAddress);
	CHECK(Q(cuInit)(0));
	CHECK(Q(cuDeviceGet)(&device, 0));
	CHECK(Q(cuDevicePrimaryCtxRetain)(&context, device));
	CHECK(Q(cuCtxSetCurrent)(context));
	CHECK(Q(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(Q(cuModuleLoadData)(&module, "image"));
	CHECK(Q(cuModuleGetFunction)(&f, module, "static_kernel"));
	every_launch(f, stream);
	copies(stream);
	for (long i = 0; i < launches; i++)
		CHECK(Q(cuLaunchKernel)(f, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	CHECK(Q(cuCtxSynchronize)());
	printf("static_like: %ld launches\n", launches);
	return 0;
}
