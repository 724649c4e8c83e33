/*
 * profiler: has a profiler of its own inside, as PyTorch has Kineto: in each of `sessions` [3] it registers, subscribes, enables
 * kinds and callbacks, launches `launches` [400] kernels and copies, stops and flushes, and prints what it got. Between sessions
 * it launches as many that it must not see. Buffers of `buffer` [65536] bytes.
 *
 *   early=1     its first session begins before the first call into CUDA
 *   clock=1     it registers a clock of its own, twice as fast and from 0, before its first session
 *   twice=1     a second subscriber is refused
 *   finalize=1  it calls cuptiFinalize after each session
 *   older=1     it asks context by context, with dumps, and flushes by the deprecated function
 *   threads=N   launching threads [1]
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "app.h"

#define TRY(call) EXPECT(call, CUPTI_SUCCESS)

static size_t buffer_bytes;
static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* taken in its callbacks, as Kineto's is */
static long buffers_out, kernels, runtime, copies, foreign;
static unsigned long long durations, checksum;
static _Atomic long called;
static CUpti_SubscriberHandle subscriber;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	pthread_mutex_lock(&lock);
	*buffer = aligned_alloc(8, buffer_bytes);
	memset(*buffer, 0xa5, buffer_bytes);
	*size = buffer_bytes;
	*most = 0;
	buffers_out++;
	pthread_mutex_unlock(&lock);
}

static void count(const CUpti_Activity *record)
{
	const CUpti_ActivityKernel10 *kernel = (const void *)record;

	switch (record->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		kernels++;
		durations += kernel->end - kernel->start;
		checksum = checksum * 31 + (unsigned long long)strlen(kernel->name);
		break;
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		runtime++;
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		copies++;
		break;
	default:
		foreign++;
	}
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&lock);
	while (valid && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		count(record);
	buffers_out--;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void CUPTIAPI called_back(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				 const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)domain;
	(void)id;
	if (user == &called && call->callbackSite == CUPTI_API_ENTER)
		atomic_fetch_add(&called, 1);
}

static uint64_t CUPTIAPI own_clock(void)
{
	static uint64_t first;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (!first)
		first = ns;
	return 2 * (ns - first) + 1000;
}

static void *launch(void *arg)
{
	long n = (long)arg;
	static char source[4096];
	dim3 one = {1, 1, 1};
	void *device;

	CHECK(cudaMalloc(&device, sizeof(source)));
	for (long i = 0; i < n; i++) {
		CHECK(cudaLaunchKernel(app_kernel(i % 3 ? "first_kernel" : "second"), one, one,
				       NULL, 0, NULL));
		if (i % 4 == 0)
			CHECK(cudaMemcpyAsync(device, source, sizeof(source),
					      cudaMemcpyHostToDevice, NULL));
	}
	CHECK(cudaDeviceSynchronize());
	return NULL;
}

static void launch_all(long threads, long launches)
{
	pthread_t thread[64];

	for (long i = 0; i < threads; i++)
		CHECK(pthread_create(&thread[i], NULL, launch, (void *)launches));
	for (long i = 0; i < threads; i++)
		CHECK(pthread_join(thread[i], NULL));
}

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					   CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MEMCPY};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void begin(int argc, char **argv)
{
	CUpti_SubscriberHandle other;

	TRY(cuptiSubscribe(&subscriber, called_back, &called));
	if (app_option(argc, argv, "twice", 0))
		EXPECT(cuptiSubscribe(&other, called_back, NULL),
		       CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	TRY(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
	TRY(cuptiActivityRegisterCallbacks(requested, completed));
	for (size_t i = 0; i < KINDS; i++) {
		if (app_option(argc, argv, "older", 0))
			TRY(i % 2 ? cuptiActivityEnableAndDump(kinds[i])
				  : cuptiActivityEnableContext(NULL, kinds[i]));
		else
			TRY(cuptiActivityEnable(kinds[i]));
	}
	if (app_option(argc, argv, "older", 0))
		TRY(cuptiActivityFlushPeriod(10));
}

static void end(int argc, char **argv)
{
	size_t dropped = 0;

	if (app_option(argc, argv, "older", 0)) {
		for (size_t i = 0; i < KINDS; i++)
			TRY(i % 2 ? cuptiActivityDisable(kinds[i])
				  : cuptiActivityDisableContext(NULL, kinds[i]));
		TRY(cuptiActivityFlush(NULL, 0, 0));
	} else {
		for (size_t i = 0; i < KINDS; i++)
			TRY(cuptiActivityDisable(kinds[i]));
		TRY(cuptiActivityFlushAll(0));
	}
	TRY(cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
				CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
	TRY(cuptiUnsubscribe(subscriber));
	TRY(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	if (app_option(argc, argv, "finalize", 0))
		TRY(cuptiFinalize());
	pthread_mutex_lock(&lock);
	printf("kernels %ld of %llu ns each, runtime %ld, copies %ld, others %ld, called back %ld, dropped %zu\n",
	       kernels, kernels ? durations / (unsigned long long)kernels / 100 * 100 : 0, runtime,
	       copies, foreign, atomic_load(&called), dropped);
	kernels = runtime = copies = foreign = 0;
	durations = 0;
	atomic_store(&called, 0);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	long sessions = app_option(argc, argv, "sessions", 3),
	     launches = app_option(argc, argv, "launches", 400);
	long threads = app_option(argc, argv, "threads", 1);
	bool early = app_option(argc, argv, "early", 0);

	buffer_bytes = (size_t)app_option(argc, argv, "buffer", 65536);
	if (!early)
		launch_all(threads, launches);
	if (app_option(argc, argv, "clock", 0))
		TRY(cuptiActivityRegisterTimestampCallback(own_clock));
	for (long i = 0; i < sessions; i++) {
		begin(argc, argv);
		launch_all(threads, launches);
		end(argc, argv);
		launch_all(threads, launches);
	}
	return 0;
}
