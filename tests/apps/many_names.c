/* many_names: names [1000] kernels that each have a name of their own, launched once each, as a program
 * does that compiles its kernels as it runs. Through the driver: the runtime knows only what a binary
 * registered. */
#include <cuda.h>
#include <dlfcn.h>

#include "app.h"

#define OF_A_MODULE 100

static void *driver;

static void *by_name(const char *name)
{
	void *found = dlsym(driver, name);

	EXPECT(found != NULL, 1);
	return found;
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define D(function) ((__typeof__(&function))by_name(TEXT(function)))

int main(int argc, char **argv)
{
	long names = app_option(argc, argv, "names", 1000);
	CUcontext context;
	CUdevice device;
	CUmodule module;
	CUfunction f;

	driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	EXPECT(driver != NULL, 1);
	CHECK(D(cuInit)(0));
	CHECK(D(cuDeviceGet)(&device, 0));
	CHECK(D(cuDevicePrimaryCtxRetain)(&context, device));
	CHECK(D(cuCtxSetCurrent)(context));
	__typeof__(&cuModuleGetFunction) get = D(cuModuleGetFunction);
	__typeof__(&cuLaunchKernel) launch = D(cuLaunchKernel);
	for (long i = 0; i < names; i++) {
		char name[96];

		snprintf(name, sizeof(name), "triton_poi_fused_add_%ld<float, %ld>", i, i % 7);
		if (i % OF_A_MODULE == 0)
			CHECK(D(cuModuleLoadData)(&module, "image"));
		CHECK(get(&f, module, name));
		CHECK(launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		if (i % 1000 == 999)
			CHECK(D(cuCtxSynchronize)());
	}
	CHECK(D(cuCtxSynchronize)());
	printf("many_names: %ld names\n", names);
	return 0;
}
