/* play: does what a file says, for timelines that a test knows beforehand. play FILE
 *
 * One action a line; `#` begins a comment. Times in us; streams 0 to 15 are made with cudaStreamNonBlocking, `default` is the
 * legacy default stream, `own` the thread's, `blocking` one made without flags.
 *
 *   thread                        what follows is another thread's
 *   repeat N ... end              may be nested
 *   every N ... end               what it encloses happens in every Nth round of the loop around it
 *   launch NAME STREAM [GRID]     launch_early: with programmatic stream serialization
 *   gemm A:B STREAM               a matrix product by cuBLAS; A and B number where its operands lie
 *   h2d|d2h BYTES STREAM          pinned; pageable_h2d, pageable_d2h; d2d BYTES STREAM; peer BYTES STREAM from device 1
 *   wait_h2d BYTES                cudaMemcpy of pinned memory
 *   set BYTES STREAM
 *   sync STREAM | device_sync | record EVENT STREAM | wait EVENT STREAM | event_sync EVENT
 *   poll STREAM US                asks whether the stream is done, with so much work in between, until it is
 *   malloc BYTES | free | malloc_async BYTES STREAM | free_async STREAM | load
 *   host STREAM                   a host function
 *   write_value STREAM | wait_value STREAM
 *   capture STREAM ... captured GRAPH; replay GRAPH STREAM
 *   device D | barrier ID THREADS
 *   work US | sleep US | preempt US   by the thread itself; each is told on stdout with its thread and times
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app.h"

#define STREAMS 16
#define EVENTS 16
#define GRAPHS 4
#define DEVICES 8
#define LINES 512
#define THREADS 8
#define NESTED 4
#define BYTES (64u << 20)

struct line {
	char word[24], a[40];
	long b, c;
	char stream[16];
};

struct part {
	struct line line[LINES];
	int count;
	pthread_t thread;
};

static struct part parts[THREADS];
static int part_count = 1;
/* By device: a stream belongs to the device that was current when it was first named. */
static cudaStream_t streams[DEVICES][STREAMS], blocking[DEVICES];
static cudaEvent_t events[DEVICES][EVENTS];
static int event_device[EVENTS];
static cudaGraphExec_t graphs[GRAPHS];
static char *memory[DEVICES], *pinned, *pageable;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int device;
static __thread void *allocated;

static uint64_t elapsed(void)
{
	uint64_t (*ask)(void) = (uint64_t(*)(void))dlsym(RTLD_DEFAULT, "sim_elapsed");

	return ask ? ask() : 0;
}

static void spend(const char *how, uint64_t ns)
{
	void (*preempt)(uint64_t) = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "sim_cpu_preempt");
	uint64_t begin = elapsed();

	if (!strcmp(how, "work"))
		app_work(ns);
	else if (!strcmp(how, "sleep") || !preempt)
		app_wait(ns);
	else
		preempt(ns);
	printf("%s %ld %" PRIu64 " %" PRIu64 "\n", how, syscall(SYS_gettid), begin, elapsed());
}

static cudaStream_t stream_of(const char *name)
{
	cudaStream_t *stream = NULL;

	if (!strcmp(name, "default"))
		return NULL;
	if (!strcmp(name, "own"))
		return cudaStreamPerThread;
	stream = !strcmp(name, "blocking") ? &blocking[device]
					   : &streams[device][atoi(name) % STREAMS];
	pthread_mutex_lock(&lock);
	if (!*stream)
		CHECK(cudaStreamCreateWithFlags(
			stream, stream == &blocking[device] ? 0 : cudaStreamNonBlocking));
	pthread_mutex_unlock(&lock);
	return *stream;
}

static char *memory_of(int of)
{
	int current = device;

	pthread_mutex_lock(&lock);
	if (!memory[of]) {
		CHECK(cudaSetDevice(of));
		CHECK(cudaMalloc((void **)&memory[of], BYTES));
		CHECK(cudaSetDevice(current));
	}
	if (!pinned) {
		CHECK(cudaHostAlloc((void **)&pinned, BYTES, 0));
		pageable = malloc(BYTES);
	}
	pthread_mutex_unlock(&lock);
	return memory[of];
}

static cudaEvent_t event_of(const char *name, bool record)
{
	int i = atoi(name) % EVENTS;

	if (record)
		event_device[i] = device;
	if (!events[event_device[i]][i])
		CHECK(cudaEventCreateWithFlags(&events[event_device[i]][i],
					       cudaEventDisableTiming));
	return events[event_device[i]][i];
}

static void launch(const struct line *l, bool early)
{
	dim3 grid = {l->b ? (unsigned int)l->b : 132, 1, 1}, block = {256, 1, 1};
	cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization};
	cudaLaunchConfig_t config = {
		.gridDim = grid, .blockDim = block, .attrs = &attribute, .numAttrs = 1};

	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.stream = stream_of(l->stream);
	if (early)
		CHECK(cudaLaunchKernelExC(&config, app_kernel(l->a), NULL));
	else
		CHECK(cudaLaunchKernel(app_kernel(l->a), grid, block, NULL, 0, config.stream));
}

static void *of_cublas(const char *name)
{
	static bool loaded;
	void *p;

	loaded = loaded || (dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_GLOBAL) &&
			    dlopen("libcublas.so.13", RTLD_NOW | RTLD_GLOBAL));
	p = dlsym(RTLD_DEFAULT, name);
	if (!p) {
		printf("play: no %s\n", name);
		exit(2);
	}
	return p;
}

static void gemm(const struct line *l)
{
	static void *handle;
	static const double one = 1, zero = 0;
	int (*set_stream)(void *, void *) =
		(int (*)(void *, void *))of_cublas("cublasSetStream_v2");
	int (*multiply)(void *, int, int, int, int, int, const double *, const void *, int,
			const void *, int, const double *, void *, int) =
		(int (*)(void *, int, int, int, int, int, const double *, const void *, int,
			 const void *, int, const double *, void *,
			 int))of_cublas("cublasDgemm_v2");
	char *b = strchr(l->a, ':'), *memory = memory_of(device);

	if (!handle)
		CHECK(((int (*)(void **))of_cublas("cublasCreate_v2"))(&handle));
	CHECK(set_stream(handle, stream_of(l->stream)));
	CHECK(multiply(handle, 1, 0, 64, 64, 64, &one, memory + 32768 * atol(l->a), 64,
		       memory + 32768 * atol(b ? b + 1 : "0"), 64, &zero, memory + BYTES / 2, 64));
}

static void copy(const struct line *l)
{
	size_t bytes = (size_t)atol(l->a);
	char *here = memory_of(device);
	cudaStream_t s = stream_of(l->stream);

	if (!strcmp(l->word, "h2d"))
		CHECK(cudaMemcpyAsync(here, pinned, bytes, cudaMemcpyHostToDevice, s));
	else if (!strcmp(l->word, "d2h"))
		CHECK(cudaMemcpyAsync(pinned, here, bytes, cudaMemcpyDeviceToHost, s));
	else if (!strcmp(l->word, "pageable_h2d"))
		CHECK(cudaMemcpyAsync(here, pageable, bytes, cudaMemcpyHostToDevice, s));
	else if (!strcmp(l->word, "pageable_d2h"))
		CHECK(cudaMemcpyAsync(pageable, here, bytes, cudaMemcpyDeviceToHost, s));
	else if (!strcmp(l->word, "d2d"))
		CHECK(cudaMemcpyAsync(here + BYTES / 2, here, bytes, cudaMemcpyDeviceToDevice, s));
	else
		CHECK(cudaMemcpyPeerAsync(here, device, memory_of(1), 1, bytes, s));
}

static void host_function(void *arg)
{
	(void)arg;
}

static void value(const char *name, cudaStream_t stream)
{
	int (*call)(cudaStream_t, unsigned long long, uint32_t, unsigned int) =
		(int (*)(cudaStream_t, unsigned long long, uint32_t, unsigned int))dlsym(
			dlopen("libcuda.so.1", RTLD_NOW), name);

	CHECK(call(stream, (unsigned long long)(uintptr_t)memory_of(0), 1, 0));
}

static void poll(cudaStream_t stream, uint64_t ns)
{
	while (cudaStreamQuery(stream) == cudaErrorNotReady)
		app_work(ns);
}

static void capture(const struct line *l)
{
	cudaGraph_t graph;

	if (!strcmp(l->word, "capture")) {
		CHECK(cudaStreamBeginCapture(stream_of(l->a), cudaStreamCaptureModeThreadLocal));
		return;
	}
	CHECK(cudaStreamEndCapture(stream_of(l->stream), &graph));
	CHECK(cudaGraphInstantiate(&graphs[atoi(l->a) % GRAPHS], graph, 0));
	CHECK(cudaGraphDestroy(graph));
}

static void load(void)
{
	cudaLibrary_t library;
	static uint64_t image[6] = {0x1466243b1u};

	CHECK(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
}

static bool wait_or_make(const struct line *l)
{
	if (!strcmp(l->word, "sync"))
		CHECK(cudaStreamSynchronize(stream_of(l->a)));
	else if (!strcmp(l->word, "device_sync"))
		CHECK(cudaDeviceSynchronize());
	else if (!strcmp(l->word, "record"))
		CHECK(cudaEventRecord(event_of(l->a, true), stream_of(l->stream)));
	else if (!strcmp(l->word, "wait"))
		CHECK(cudaStreamWaitEvent(stream_of(l->stream), event_of(l->a, false), 0));
	else if (!strcmp(l->word, "event_sync"))
		CHECK(cudaEventSynchronize(event_of(l->a, false)));
	else if (!strcmp(l->word, "poll"))
		poll(stream_of(l->a), (uint64_t)l->b * 1000);
	else if (!strcmp(l->word, "malloc"))
		CHECK(cudaMalloc(&allocated, (size_t)atol(l->a)));
	else if (!strcmp(l->word, "free"))
		CHECK(cudaFree(allocated));
	else if (!strcmp(l->word, "malloc_async"))
		CHECK(cudaMallocAsync(&allocated, (size_t)atol(l->a), stream_of(l->stream)));
	else if (!strcmp(l->word, "free_async"))
		CHECK(cudaFreeAsync(allocated, stream_of(l->a)));
	else if (!strcmp(l->word, "load"))
		load();
	else
		return false;
	return true;
}

static bool issue(const struct line *l)
{
	if (!strncmp(l->word, "launch", 6))
		launch(l, l->word[6] != 0);
	else if (!strcmp(l->word, "gemm"))
		gemm(l);
	else if (!strcmp(l->word, "set"))
		CHECK(cudaMemsetAsync(memory_of(device), 1, (size_t)atol(l->a),
				      stream_of(l->stream)));
	else if (!strcmp(l->word, "wait_h2d") && memory_of(device))
		CHECK(cudaMemcpy(memory_of(device), pinned, (size_t)atol(l->a),
				 cudaMemcpyHostToDevice));
	else if (!strcmp(l->word, "host"))
		CHECK(cudaLaunchHostFunc(stream_of(l->a), host_function, NULL));
	else if (!strcmp(l->word, "write_value"))
		value("cuStreamWriteValue32_v2", stream_of(l->a));
	else if (!strcmp(l->word, "wait_value"))
		value("cuStreamWaitValue32_v2", stream_of(l->a));
	else if (!strcmp(l->word, "replay"))
		CHECK(cudaGraphLaunch(graphs[atoi(l->a) % GRAPHS], stream_of(l->stream)));
	else if (!strncmp(l->word, "capture", 7))
		capture(l);
	else if (strstr(l->word, "2d") || !strcmp(l->word, "d2h") || strstr(l->word, "_d2h") ||
		 !strcmp(l->word, "peer"))
		copy(l);
	else
		return false;
	return true;
}

static void act(const struct line *l)
{
	if (!strcmp(l->word, "work") || !strcmp(l->word, "sleep") || !strcmp(l->word, "preempt")) {
		spend(l->word, (uint64_t)(atof(l->a) * 1000));
	} else if (!strcmp(l->word, "device")) {
		device = atoi(l->a) % DEVICES;
		CHECK(cudaSetDevice(device));
	} else if (!strcmp(l->word, "barrier")) {
		app_barrier((unsigned int)atoi(l->a), (unsigned int)l->b);
	} else if (!wait_or_make(l) && !issue(l)) {
		printf("play: what is %s?\n", l->word);
		exit(2);
	}
}

/* The line behind the `end` of the block that begins at `at`. */
static int behind(const struct part *part, int at)
{
	for (int depth = 0; at < part->count; at++) {
		const char *word = part->line[at].word;

		depth += !strcmp(word, "repeat") || !strcmp(word, "every");
		depth -= !strcmp(word, "end");
		if (!depth)
			return at + 1;
	}
	return at;
}

static void play(const struct part *part, int from, int to, long round)
{
	for (int i = from; i < to;) {
		const struct line *l = &part->line[i];
		int next = i + 1;

		if (!strcmp(l->word, "repeat") || !strcmp(l->word, "every")) {
			long n = atol(l->a);
			bool loop = l->word[0] == 'r';

			next = behind(part, i);
			for (long k = 0; loop && k < n; k++)
				play(part, i + 1, next - 1, k);
			if (!loop && round % n == n - 1)
				play(part, i + 1, next - 1, round);
		} else {
			act(l);
		}
		i = next;
	}
}

static void *run(void *part)
{
	play(part, 0, ((const struct part *)part)->count, 0);
	return NULL;
}

/* Words of a line: an action, a name or number, and for those with a stream behind it, that. */
static void take(const char *text)
{
	struct part *part = &parts[part_count - 1];
	struct line *l = &part->line[part->count];
	char second[16] = "", third[16] = "";

	memset(l, 0, sizeof(*l));
	if (sscanf(text, "%23s %39s %15s %15s", l->word, l->a, second, third) < 1 ||
	    l->word[0] == '#')
		return;
	if (!strcmp(l->word, "thread")) {
		if (part_count++ == THREADS)
			exit(2);
		return;
	}
	snprintf(l->stream, sizeof(l->stream), "%s", second);
	l->b = atol(*third ? third : !strncmp(l->word, "launch", 6) ? "0" : second);
	if (part->count++ == LINES - 1)
		exit(2);
}

int main(int argc, char **argv)
{
	char text[256];
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!file)
		return 2;
	while (fgets(text, sizeof(text), file))
		take(text);
	fclose(file);
	/* A tracer starts in the first call; in virtual time other threads would be done before it has. */
	CHECK(cudaSetDevice(0));
	for (int i = 1; i < part_count; i++)
		CHECK(pthread_create(&parts[i].thread, NULL, run, &parts[i]));
	run(&parts[0]);
	for (int i = 1; i < part_count; i++)
		CHECK(pthread_join(parts[i].thread, NULL));
	return 0;
}
