/* The driver API alone: cuLaunchKernel, cuLaunchKernelEx, a kernel of a library, functions found by dlsym and by cuGetProcAddress,
 * and with `contexts` kernels in three contexts of one device. The kernel is PTX, which the driver compiles. */
#include <cstring>
#include <thread>
#include <vector>

#include <cuda.h>
#include <dlfcn.h>

#include "door.h"

constexpr int N = 1 << 12, BLOCK = 256;

static const char ptx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry bump(.param .u64 array)
{
	.reg .u32 %r<5>;
	.reg .u64 %d<4>;
	ld.param.u64 %d1, [array];
	cvta.to.global.u64 %d1, %d1;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r1, %r1, %r2, %r3;
	mul.wide.u32 %d2, %r1, 4;
	add.u64 %d1, %d1, %d2;
	ld.global.u32 %r4, [%d1];
	add.u32 %r4, %r4, 1;
	st.global.u32 [%d1], %r4;
	ret;
}
)";

typedef CUresult (*launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
				    unsigned, unsigned, CUstream, void **, void **);

struct array {
	CUdeviceptr data;
	CUfunction bump;
	CUstream stream;
};

static struct array array_create(void)
{
	struct array a;
	CUmodule module;

	CHECK(cuMemAlloc(&a.data, N * sizeof(int)));
	CHECK(cuMemsetD32(a.data, 0, N));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&a.bump, module, "bump"));
	CHECK(cuStreamCreate(&a.stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuCtxSynchronize());
	return a;
}

static void launch(launch_function call, CUfunction function, struct array *a, int count)
{
	void *args[] = {&a->data};

	for (int i = 0; i < count; i++)
		CHECK(call(function, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, a->stream, args, NULL));
	launched("bump", count);
}

static void launch_ex(struct array *a, int count)
{
	CUlaunchConfig config;
	void *args[] = {&a->data};

	memset(&config, 0, sizeof(config));
	config.gridDimX = N / BLOCK;
	config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
	config.blockDimX = BLOCK;
	config.hStream = a->stream;
	for (int i = 0; i < count; i++)
		CHECK(cuLaunchKernelEx(&config, a->bump, args, NULL));
	launched("bump", count);
}

static void array_print(struct array *a)
{
	std::vector<int> out(N);

	CHECK(cuStreamSynchronize(a->stream));
	CHECK(cuMemcpyDtoH(out.data(), a->data, N * sizeof(int)));
	print_checksum("array", out.data(), N * sizeof(int));
}

static void every_way(void)
{
	struct array a = array_create();
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *by_address = NULL;
	CUdriverProcAddressQueryResult found;
	CUlibrary library;
	CUkernel kernel;

	launch(cuLaunchKernel, a.bump, &a, 100);
	launch_ex(&a, 50);
	CHECK(!driver);
	launch((launch_function)dlsym(driver, "cuLaunchKernel"), a.bump, &a, 25);
	CHECK(cuGetProcAddress("cuLaunchKernel", &by_address, 7000, CU_GET_PROC_ADDRESS_DEFAULT,
			       &found));
	launch((launch_function)by_address, a.bump, &a, 25);
	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "bump"));
	launch(cuLaunchKernel, (CUfunction)kernel, &a, 25);
	array_print(&a);
}

static void in_a_context(CUcontext context, int count)
{
	struct array a;

	CHECK(cuCtxSetCurrent(context));
	a = array_create();
	launch(cuLaunchKernel, a.bump, &a, count);
	array_print(&a);
}

/* Two contexts of its own and the primary one, one after the other and then at the same time. */
static void in_contexts(CUdevice device)
{
	CUcontext contexts[3];
	std::vector<std::thread> threads;
	struct array arrays[3];

	CHECK(cuCtxCreate(&contexts[0], NULL, 0, device));
	CHECK(cuCtxCreate(&contexts[1], NULL, 0, device));
	CHECK(cuDevicePrimaryCtxRetain(&contexts[2], device));
	for (int i = 0; i < 3; i++)
		in_a_context(contexts[i], 50);
	for (int i = 0; i < 3; i++)
		threads.emplace_back([&, i] {
			CHECK(cuCtxSetCurrent(contexts[i]));
			arrays[i] = array_create();
			launch(cuLaunchKernel, arrays[i].bump, &arrays[i], 100);
			CHECK(cuStreamSynchronize(arrays[i].stream));
		});
	for (std::thread &thread : threads)
		thread.join();
	for (int i = 0; i < 3; i++) {
		CHECK(cuCtxSetCurrent(contexts[i]));
		array_print(&arrays[i]);
	}
	CHECK(cuCtxDestroy(contexts[0]));
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUdevice device;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	if (argc > 1 && strcmp(argv[1], "contexts") == 0) {
		in_contexts(device);
	} else {
		CHECK(cuDevicePrimaryCtxRetain(&context, device));
		CHECK(cuCtxSetCurrent(context));
		every_way();
	}
	print_launches();
	return 0;
}
