/* nvtx_training: a training loop with ranges as people write them, its backward pass on a thread of its own. Compiled by ranges.py
 * against NVIDIA's header. */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>

#include "app.h"

#define ROUNDS 60
#define LAYERS 2
#define US 1000ull

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t optimizer;

static void launch(const char *name, unsigned blocks)
{
	dim3 grid = {blocks, 1, 1}, block = {256, 1, 1};

	CHECK(cudaLaunchKernel(app_kernel(name), grid, block, NULL, 0, NULL));
}

/* Autograd's: it opens no range. */
static void *backward(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		app_barrier(0, 2);
		for (int k = 0; k < 3; k++) {
			app_work(10 * US);
			launch("backward", 32);
		}
		app_barrier(1, 2);
	}
	return unused;
}

static void forward(void)
{
	nvtxRangePushA("forward");
	for (int i = 0; i < LAYERS; i++) {
		nvtxRangePushA("layer");
		app_work(5 * US);
		launch("layer_a", 32);
		launch("layer_b", 32);
		nvtxRangePop();
	}
	launch("loss", 32);
	nvtxRangePop();
}

static void step(void)
{
	nvtxEventAttributes_t e = {0};

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = optimizer;
	nvtxRangePushA("data");
	app_work(300 * US);
	nvtxRangePop();
	forward();
	nvtxRangePushA("backward");
	app_barrier(0, 2);
	app_barrier(1, 2);
	nvtxRangePop();
	nvtxDomainRangePushEx(domain, &e);
	launch("optimizer", 20000);
	nvtxDomainRangePop(domain);
}

int main(void)
{
	pthread_t thread;

	domain = nvtxDomainCreateA("optim");
	optimizer = nvtxDomainRegisterStringA(domain, "Adam.step");
	CHECK(cudaFree(NULL));
	CHECK(pthread_create(&thread, NULL, backward, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		nvtxRangeId_t id = nvtxRangeStartA("step");

		step();
		nvtxRangeEnd(id);
		launch("log", 32);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(pthread_join(thread, NULL));
	puts("nvtx_training: done");
	return 0;
}
