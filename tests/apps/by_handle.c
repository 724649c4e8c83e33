/*
 * by_handle: has a profiler of its own that looks CUPTI up by handle, as Proton and XLA do, so that no stand-in is reached. Launches
 * `launches` [400] kernels, profiles as many, launches as many again, and prints how many its profiler got.
 *
 *   early=1      the profiler begins before the first call into CUDA, and nothing is launched before it
 *   subscribe=0  it registers for records without subscribing
 *   BY_HANDLE_LIBRARY in the environment is loaded before all, or with late=1 in the middle, `pause` [300] ms before the profiler begins
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "app.h"

static struct {
	__typeof__(&cuptiSubscribe) subscribe;
	__typeof__(&cuptiUnsubscribe) unsubscribe;
	__typeof__(&cuptiActivityRegisterCallbacks) enroll;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush;
	__typeof__(&cuptiActivityGetNextRecord) next;
} cupti;
static long kernels;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 65536;
	*buffer = aligned_alloc(8, *size);
	memset(*buffer, 0, *size);
	*most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	while (valid && cupti.next(buffer, valid, &record) == CUPTI_SUCCESS)
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	/* not freed: it may be one of the recorder's */
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static void look_up(void)
{
	void *handle = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		puts(dlerror());
		exit(2);
	}
	*(void **)&cupti.subscribe = dlsym(handle, "cuptiSubscribe");
	*(void **)&cupti.unsubscribe = dlsym(handle, "cuptiUnsubscribe");
	*(void **)&cupti.enroll = dlsym(handle, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(handle, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(handle, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(handle, "cuptiActivityFlushAll");
	*(void **)&cupti.next = dlsym(handle, "cuptiActivityGetNextRecord");
}

static void launch(long n)
{
	dim3 one = {1, 1, 1};

	for (long i = 0; i < n; i++)
		CHECK(cudaLaunchKernel(app_kernel("kernel"), one, one, NULL, 0, NULL));
	CHECK(cudaDeviceSynchronize());
}

static void profile(long launches, bool subscribes)
{
	CUpti_SubscriberHandle subscriber;
	CUptiResult result = CUPTI_SUCCESS;

	look_up();
	if (subscribes)
		result = cupti.subscribe(&subscriber, called_back, NULL);
	if (result != CUPTI_SUCCESS) {
		printf("refused: %d\n", (int)result);
		exit(3);
	}
	EXPECT(cupti.enroll(requested, completed), CUPTI_SUCCESS);
	EXPECT(cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	launch(launches);
	EXPECT(cupti.flush(0), CUPTI_SUCCESS);
	EXPECT(cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
	if (subscribes)
		EXPECT(cupti.unsubscribe(subscriber), CUPTI_SUCCESS);
	printf("profiled %ld kernels\n", kernels);
}

static void load(const char *path, long pause_ms)
{
	struct timespec pause = {.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};

	if (!path)
		return;
	if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
		puts(dlerror());
		exit(2);
	}
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	long launches = app_option(argc, argv, "launches", 400);
	long pause_ms = app_option(argc, argv, "pause", 300);
	bool early = app_option(argc, argv, "early", 0), late = app_option(argc, argv, "late", 0);
	const char *library = getenv("BY_HANDLE_LIBRARY");

	if (!late)
		load(library, 0);
	if (!early)
		launch(launches);
	if (late)
		load(library, pause_ms);
	profile(launches, app_option(argc, argv, "subscribe", 1));
	launch(launches);
	return 0;
}
