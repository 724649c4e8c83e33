/* nvtx_ranges: every way to say a range, around launches. Compiled by nvtx.py against NVIDIA's
 * header. */
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app.h"

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t early;

static void launch(void)
{
	dim3 one = {1, 1, 1};

	CHECK(cudaLaunchKernel(app_kernel("nvtx_kernel"), one, one, NULL, 0, NULL));
}

static nvtxEventAttributes_t event(void)
{
	nvtxEventAttributes_t e = {0};

	e.version = NVTX_VERSION;
	e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	return e;
}

static void *second_thread(void *unused)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "second thread");
	nvtxRangePushA("on the second thread");
	launch();
	nvtxRangePop();
	return unused;
}

static void ranges_of_the_domain(void)
{
	nvtxEventAttributes_t e = event();
	nvtxRangeId_t id;

	e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	e.message.registered = early;
	nvtxDomainRangePushEx(domain, &e);
	launch();
	nvtxDomainRangePop(domain);
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = "started in the domain";
	id = nvtxDomainRangeStartEx(domain, &e);
	nvtxDomainMarkEx(domain, &e);
	nvtxDomainRangeEnd(domain, id);
}

int main(void)
{
	nvtxEventAttributes_t e = event();
	char changing[16] = "changing";
	nvtxRangeId_t a, b;
	pthread_t thread;

	/* before any CUDA activity, as libraries do */
	domain = nvtxDomainCreateA("a domain");
	early = nvtxDomainRegisterStringA(domain, "registered early");
	CHECK(cudaFree(NULL));
	nvtxRangePushA("outer");
	nvtxRangePushA(changing);
	changing[0] = 'X';
	launch();
	nvtxRangePop();
	nvtxRangePushW(L"wide \x00e9");
	nvtxRangePop();
	nvtxRangePop();
	a = nvtxRangeStartA("a");
	b = nvtxRangeStartA("b");
	nvtxRangeEnd(a);
	nvtxRangeEnd(b);
	nvtxMarkA("mark");
	e.messageType = NVTX_MESSAGE_TYPE_ASCII;
	e.message.ascii = "with attributes";
	nvtxRangePushEx(&e);
	nvtxRangePop();
	e.messageType = NVTX_MESSAGE_UNKNOWN;
	nvtxRangePushEx(&e);
	nvtxRangePop();
	nvtxRangePop(); /* one too many */
	ranges_of_the_domain();
	CHECK(pthread_create(&thread, NULL, second_thread, NULL));
	CHECK(pthread_join(thread, NULL));
	CHECK(cudaDeviceSynchronize());
	puts("nvtx_ranges: done");
	return 0;
}
