/* all_doors: calls every launch, copy, set and graph-launch name of libcudart exactly once, through
 * the dynamic linker. With "list" it prints the names only; a test compares them with the export
 * list. Built against CUDA 12 with APP_CUDART=12.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "app.h"

#define N 256

/* The twins have the types of the functions they are twins of. */
#define TWIN(name, suffix) extern __typeof__(name) name##suffix
TWIN(cudaLaunchKernel, _ptsz);
TWIN(cudaLaunchKernelExC, _ptsz);
TWIN(cudaLaunchCooperativeKernel, _ptsz);
TWIN(cudaLaunchHostFunc, _ptsz);
TWIN(cudaGraphLaunch, _ptsz);
TWIN(cudaMemcpy, _ptds);
TWIN(cudaMemcpyAsync, _ptsz);
TWIN(cudaMemcpy2D, _ptds);
TWIN(cudaMemcpy2DAsync, _ptsz);
TWIN(cudaMemcpy2DArrayToArray, _ptds);
TWIN(cudaMemcpy2DFromArray, _ptds);
TWIN(cudaMemcpy2DFromArrayAsync, _ptsz);
TWIN(cudaMemcpy2DToArray, _ptds);
TWIN(cudaMemcpy2DToArrayAsync, _ptsz);
TWIN(cudaMemcpy3D, _ptds);
TWIN(cudaMemcpy3DAsync, _ptsz);
TWIN(cudaMemcpy3DPeer, _ptds);
TWIN(cudaMemcpy3DPeerAsync, _ptsz);
TWIN(cudaMemcpyArrayToArray, _ptds);
TWIN(cudaMemcpyFromArray, _ptds);
TWIN(cudaMemcpyFromArrayAsync, _ptsz);
TWIN(cudaMemcpyFromSymbol, _ptds);
TWIN(cudaMemcpyFromSymbolAsync, _ptsz);
TWIN(cudaMemcpyToArray, _ptds);
TWIN(cudaMemcpyToArrayAsync, _ptsz);
TWIN(cudaMemcpyToSymbol, _ptds);
TWIN(cudaMemcpyToSymbolAsync, _ptsz);
TWIN(cudaMemset, _ptds);
TWIN(cudaMemset2D, _ptds);
TWIN(cudaMemset2DAsync, _ptsz);
TWIN(cudaMemset3D, _ptds);
TWIN(cudaMemset3DAsync, _ptsz);
TWIN(cudaMemsetAsync, _ptsz);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t, dim3, dim3, void **, size_t, cudaStream_t);
cudaError_t __cudaGetKernel(cudaKernel_t *, const void *);

/* CUDA 12's batch copies say which one failed. The symbols are declared under other names here. */
#if defined(APP_CUDART) && APP_CUDART == 12
typedef cudaError_t batch(const void *, const void *, const size_t *, size_t,
			  struct cudaMemcpyAttributes *, size_t *, size_t, size_t *, cudaStream_t);
typedef cudaError_t batch_3d(size_t, struct cudaMemcpy3DBatchOp *, size_t *, unsigned long long,
			     cudaStream_t);
#define FAILED , &failed
#else
typedef cudaError_t batch(const void *, const void *, const size_t *, size_t,
			  struct cudaMemcpyAttributes *, size_t *, size_t, cudaStream_t);
typedef cudaError_t batch_3d(size_t, struct cudaMemcpy3DBatchOp *, unsigned long long,
			     cudaStream_t);
#define FAILED
#endif
extern batch copy_batch __asm__("cudaMemcpyBatchAsync"), copy_batch_ptsz
	__asm__("cudaMemcpyBatchAsync_ptsz");
extern batch_3d copy_3d_batch __asm__("cudaMemcpy3DBatchAsync"), copy_3d_batch_ptsz
	__asm__("cudaMemcpy3DBatchAsync_ptsz");

static char *symbol;
static char *device, *other, *host, *back;
static cudaArray_t array, array2;
static cudaStream_t stream;
static cudaGraphExec_t exec;
static cudaKernel_t kernel;
static bool list;
static int doors;
static _Atomic int host_calls;

static void host_function(void *arg)
{
	(void)arg;
	host_calls++;
}

static void door(const char *name, cudaError_t err)
{
	doors++;
	printf("%s\n", name);
	app_check(err, 0, name, __FILE__, __LINE__);
}

/* Evaluates the call unless only names are wanted. */
#define DOOR(name, args)                                                                           \
	do {                                                                                       \
		if (list)                                                                          \
			door(#name, 0);                                                            \
		else                                                                               \
			door(#name, name args);                                                    \
	} while (0)
#define DOORS(name, suffix, args)                                                                  \
	DOOR(name, args);                                                                          \
	DOOR(name##suffix, args)

static void launches(void)
{
	const void *f = list ? NULL : app_kernel("all_doors_kernel");
	dim3 grid = {2, 1, 1}, block = {64, 1, 1};
	cudaLaunchConfig_t config = {.gridDim = grid, .blockDim = block, .stream = stream};

	DOORS(cudaLaunchKernel, _ptsz, (f, grid, block, NULL, 0, stream));
	DOORS(__cudaLaunchKernel, _ptsz, (kernel, grid, block, NULL, 0, stream));
	DOORS(cudaLaunchKernelExC, _ptsz, (&config, f, NULL));
	DOORS(cudaLaunchCooperativeKernel, _ptsz, (f, grid, block, NULL, 0, stream));
	DOORS(cudaLaunchHostFunc, _ptsz, (stream, host_function, NULL));
	DOORS(cudaGraphLaunch, _ptsz, (exec, stream));
}

static void linear_copies(void)
{
	DOORS(cudaMemcpy, _ptds, (device, host, N, cudaMemcpyHostToDevice));
	DOORS(cudaMemcpyAsync, _ptsz, (back, device, N, cudaMemcpyDeviceToHost, stream));
	DOORS(cudaMemcpy2D, _ptds, (other, 16, device, 16, 16, 16, cudaMemcpyDeviceToDevice));
	DOORS(cudaMemcpy2DAsync, _ptsz,
	      (back, 16, other, 16, 16, 16, cudaMemcpyDeviceToHost, stream));
	DOOR(cudaMemcpyPeer, (other, 0, device, 0, N));
	DOOR(cudaMemcpyPeerAsync, (other, 0, device, 0, N, stream));
	DOORS(cudaMemcpyToSymbol, _ptds, (symbol, host, N, 0, cudaMemcpyHostToDevice));
	DOORS(cudaMemcpyToSymbolAsync, _ptsz, (symbol, host, N, 0, cudaMemcpyHostToDevice, stream));
	DOORS(cudaMemcpyFromSymbol, _ptds, (back, symbol, N, 0, cudaMemcpyDeviceToHost));
	DOORS(cudaMemcpyFromSymbolAsync, _ptsz,
	      (back, symbol, N, 0, cudaMemcpyDeviceToHost, stream));
}

static void array_copies(void)
{
	const enum cudaMemcpyKind up = cudaMemcpyHostToDevice, down = cudaMemcpyDeviceToHost,
				  across = cudaMemcpyDeviceToDevice;

	DOORS(cudaMemcpyToArray, _ptds, (array, 0, 0, host, 64, up));
	DOORS(cudaMemcpyToArrayAsync, _ptsz, (array, 0, 0, host, 64, up, stream));
	DOORS(cudaMemcpyFromArray, _ptds, (back, array, 0, 0, 64, down));
	DOORS(cudaMemcpyFromArrayAsync, _ptsz, (back, array, 0, 0, 64, down, stream));
	DOORS(cudaMemcpyArrayToArray, _ptds, (array2, 0, 0, array, 0, 0, 64, across));
	DOORS(cudaMemcpy2DToArray, _ptds, (array, 0, 0, host, 64, 64, 2, up));
	DOORS(cudaMemcpy2DToArrayAsync, _ptsz, (array, 0, 0, host, 64, 64, 2, up, stream));
	DOORS(cudaMemcpy2DFromArray, _ptds, (back, 64, array, 0, 0, 64, 2, down));
	DOORS(cudaMemcpy2DFromArrayAsync, _ptsz, (back, 64, array, 0, 0, 64, 2, down, stream));
	DOORS(cudaMemcpy2DArrayToArray, _ptds, (array2, 0, 0, array, 0, 0, 64, 2, across));
}

static void volume_copies(void)
{
	struct cudaMemcpy3DParms volume = {
		.srcPtr = {device, 8, 8, 4},
		.dstPtr = {other, 8, 8, 4},
		.extent = {8, 4, 4},
		.kind = cudaMemcpyDeviceToDevice,
	};
	struct cudaMemcpy3DPeerParms peer = {
		.srcPtr = {device, 8, 8, 4},
		.dstPtr = {other, 8, 8, 4},
		.extent = {8, 4, 4},
	};
	struct cudaMemcpy3DBatchOp op = {
		.src = {cudaMemcpyOperandTypePointer, {.ptr = {.ptr = device}}},
		.dst = {cudaMemcpyOperandTypePointer, {.ptr = {.ptr = other}}},
		.extent = {8, 4, 4},
		.srcAccessOrder = cudaMemcpySrcAccessOrderStream,
	};
	struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
	void *dsts[] = {other}, *srcs[] = {device};
	size_t sizes[] = {N}, first = 0;
	__attribute__((unused)) size_t failed;

	DOORS(cudaMemcpy3D, _ptds, (&volume));
	DOORS(cudaMemcpy3DAsync, _ptsz, (&volume, stream));
	DOORS(cudaMemcpy3DPeer, _ptds, (&peer));
	DOORS(cudaMemcpy3DPeerAsync, _ptsz, (&peer, stream));
	door("cudaMemcpyBatchAsync",
	     list ? 0 : copy_batch(dsts, srcs, sizes, 1, &attributes, &first, 1 FAILED, stream));
	door("cudaMemcpyBatchAsync_ptsz",
	     list ? 0
		  : copy_batch_ptsz(dsts, srcs, sizes, 1, &attributes, &first, 1 FAILED, stream));
	door("cudaMemcpy3DBatchAsync", list ? 0 : copy_3d_batch(1, &op FAILED, 0, stream));
	door("cudaMemcpy3DBatchAsync_ptsz",
	     list ? 0 : copy_3d_batch_ptsz(1, &op FAILED, 0, stream));
}

static void sets(void)
{
	struct cudaPitchedPtr pitched = {device, 8, 8, 4};
	struct cudaExtent extent = {8, 4, 4};

	DOORS(cudaMemset, _ptds, (device, 1, N));
	DOORS(cudaMemsetAsync, _ptsz, (device, 2, N, stream));
	DOORS(cudaMemset2D, _ptds, (device, 16, 3, 16, 16));
	DOORS(cudaMemset2DAsync, _ptsz, (device, 16, 4, 16, 16, stream));
	DOORS(cudaMemset3D, _ptds, (pitched, 5, extent));
	DOORS(cudaMemset3DAsync, _ptsz, (pitched, 6, extent, stream));
}

/* A graph of nothing but an empty node: replaying it adds no operation of its own. */
static void make_graph(void)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
}

static void prepare(void)
{
	struct cudaChannelFormatDesc bytes =
		cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned);

	symbol = app_symbol();
	CHECK(cudaMalloc((void **)&device, N));
	CHECK(cudaMalloc((void **)&other, N));
	CHECK(cudaHostAlloc((void **)&host, N, 0));
	CHECK(cudaHostAlloc((void **)&back, N, 0));
	memset(host, 7, N);
	CHECK(cudaMallocArray(&array, &bytes, 64, 4, 0));
	CHECK(cudaMallocArray(&array2, &bytes, 64, 4, 0));
	CHECK(cudaStreamCreate(&stream));
	CHECK(__cudaGetKernel(&kernel, app_kernel("all_doors_kernel")));
	make_graph();
}

int main(int argc, char **argv)
{
	list = argc > 1 && !strcmp(argv[1], "list");
	if (!list)
		prepare();
	launches();
	linear_copies();
	array_copies();
	volume_copies();
	if (!list) {
		CHECK(cudaDeviceSynchronize());
		/* The bytes went host, device, other, back on every path. */
		CHECK(cudaMemcpy(back, other, N, cudaMemcpyDeviceToHost));
		EXPECT(memcmp(host, back, N), 0);
	}
	sets();
	if (list)
		return 0;
	CHECK(cudaDeviceSynchronize());
	EXPECT(host_calls, 2);
	CHECK(cudaMemcpy(back, device, N, cudaMemcpyDeviceToHost));
	EXPECT(back[0], 6);
	printf("all_doors: %d doors\n", doors);
	return 0;
}
