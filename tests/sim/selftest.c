/* A toy CUPTI client on the stand-ins: what it receives must be what SIM_TRUTH says happened.
 *
 * usage: SIM_TRUTH=FILE selftest libcupti.so.13|libcupti.so.12 [bad|flush]
 * bad: with selftest_bad.sim, each scripted damage arrives as described.
 * flush: under the virtual clock, what flushing does to records of running kernels, and to a client
 * that has no buffer to give.
 */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES 4096
#define RECORDS 100000

struct seen {
	char kind[16], name[64];
	uint32_t stream, correlation, graph;
	uint64_t node, start, end, bytes;
};

static struct seen records[RECORDS], truth[RECORDS];
static size_t record_count, truth_count;
static _Atomic unsigned int requested, completed, launches_entered, launches_left, nodes_created,
	nodes_cloned, modules, contexts, streams_made, execs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *cupti;
static bool no_buffers;
static unsigned int unknown_kinds, long_names, null_names, odd_names;

#define C(function) ((__typeof__(&function))need(#function))
#define OK(call) check((long)(call), 0, #call, __LINE__)
#define IS(call, want) check((long)(call), (long)(want), #call, __LINE__)

static void *need(const char *name)
{
	void *found = dlsym(cupti, name);

	if (!found) {
		fprintf(stderr, "selftest: no %s\n", name);
		exit(1);
	}
	return found;
}

static void check(long got, long want, const char *what, int line)
{
	if (got == want)
		return;
	fprintf(stderr, "selftest:%d: %s is %ld, expected %ld\n", line, what, got, want);
	exit(1);
}

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = NULL;
	*size = *max = 0;
	if (no_buffers)
		return;
	requested++;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
}

static void keep(const CUpti_Activity *r)
{
	struct seen *s = &records[record_count++];

	if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		const CUpti_ActivityKernel10 *k = (const void *)r;

		*s = (struct seen){"kernel",         "",         k->streamId,
				   k->correlationId, k->graphId, k->graphNodeId,
				   k->start,         k->end,     0};
		null_names += !k->name;
		long_names += k->name && strlen(k->name) == 65535;
		odd_names += k->name && (unsigned char)k->name[0] == 0xff;
		snprintf(s->name, sizeof(s->name), "%s", k->name ? k->name : "");
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy6 *c = (const void *)r;

		*s = (struct seen){"copy",           "",         c->streamId,
				   c->correlationId, c->graphId, c->graphNodeId,
				   c->start,         c->end,     c->bytes};
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
		const CUpti_ActivityMemset4 *m = (const void *)r;

		*s = (struct seen){
			"set",          "",       m->streamId, m->correlationId, m->graphId,
			m->graphNodeId, m->start, m->end,      m->bytes};
	} else {
		unknown_kinds++;
		record_count--;
	}
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;

	(void)context;
	(void)stream;
	(void)size;
	pthread_mutex_lock(&lock);
	while (!C(cuptiActivityGetNextRecord)(buffer, valid, &r))
		keep(r);
	completed++;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static void callback(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		     const void *info)
{
	const CUpti_CallbackData *api = info;

	(void)data;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
	    cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
		const cuLaunchKernel_params *p = api->functionParams;

		IS(p->blockDimX, 128);
		IS(strcmp(api->functionName, "cuLaunchKernel"), 0);
		IS(!strncmp(api->symbolName, "kernel", 6), 1);
		if (api->callbackSite == CUPTI_API_ENTER) {
			launches_entered++;
			*api->correlationData = api->correlationId;
		} else {
			launches_left++;
			IS(*api->correlationData, api->correlationId);
			IS(*(CUresult *)api->functionReturnValue, 0);
		}
	}
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		const CUpti_ResourceData *r = info;
		const CUpti_GraphData *g = r->resourceDescriptor;
		uint64_t a, b;
		uint32_t id;

		switch (cbid) {
		case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
			contexts++;
			OK(C(cuptiGetContextId)(r->context, &id));
			break;
		case CUPTI_CBID_RESOURCE_STREAM_CREATED:
			streams_made++;
			break;
		case CUPTI_CBID_RESOURCE_MODULE_LOADED:
			modules++;
			break;
		case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
			nodes_created++;
			OK(C(cuptiGetGraphNodeId)(g->node, &a));
			break;
		case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
			nodes_cloned++;
			OK(C(cuptiGetGraphNodeId)(g->node, &a));
			OK(C(cuptiGetGraphNodeId)(g->originalNode, &b));
			IS(a != b, 1);
			break;
		case CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED:
			execs++;
			OK(C(cuptiGetGraphExecId)(g->graphExec, &id));
			break;
		default:
			break;
		}
	}
}

static CUpti_SubscriberHandle attach(void)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						   CUPTI_ACTIVITY_KIND_MEMCPY,
						   CUPTI_ACTIVITY_KIND_MEMSET};
	CUpti_SubscriberHandle subscriber, second;

	OK(C(cuptiSubscribe)(&subscriber, callback, NULL));
	IS(C(cuptiSubscribe)(&second, callback, NULL),
	   CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	OK(C(cuptiEnableCallback)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
				  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
	OK(C(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	IS(C(cuptiActivityFlushAll)(0), CUPTI_ERROR_INVALID_OPERATION);
	OK(C(cuptiActivityRegisterCallbacks)(request, complete));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		OK(C(cuptiActivityEnable)(kinds[i]));
	return subscriber;
}

static const void *kernel(void **binary, const char *name)
{
	extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int,
					   uint3 *, uint3 *, dim3 *, dim3 *, int *);
	static char stubs[16][16];
	static unsigned int count;
	char *stub = stubs[count++];

	__cudaRegisterFunction(binary, stub, (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
	return stub;
}

static const void *kernels[2];

static void *threads_work(void *arg)
{
	cudaStream_t stream;

	OK(cudaStreamCreate(&stream));
	for (int i = 0; i < 200; i++)
		OK(cudaLaunchKernel(kernels[i % 2], (dim3){10, 1, 1}, (dim3){128, 1, 1}, NULL, 0,
				    stream));
	OK(cudaStreamSynchronize(stream));
	return arg;
}

static void work(void)
{
	extern void **__cudaRegisterFatBinary(void *);
	void **binary = __cudaRegisterFatBinary(NULL);
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	pthread_t threads[4];
	char *device, host[1000], back[1000];

	kernels[0] = kernel(binary, "kernel_a");
	kernels[1] = kernel(binary, "kernel_b");
	OK(cudaMalloc((void **)&device, 1000));
	memset(host, 3, sizeof(host));
	OK(cudaMemcpy(device, host, 1000, cudaMemcpyHostToDevice));
	OK(cudaMemset(device, 4, 10));
	OK(cudaMemcpy(back, device, 1000, cudaMemcpyDeviceToHost));
	IS(back[0] * 100 + back[10], 403);
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int i = 0; i < 100; i++)
		OK(cudaLaunchKernel(kernels[i % 2], (dim3){10, 1, 1}, (dim3){128, 1, 1}, NULL, 0,
				    stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 3; i++)
		OK(cudaLaunchKernel(kernels[0], (dim3){10, 1, 1}, (dim3){128, 1, 1}, NULL, 0,
				    stream));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 10; i++)
		OK(cudaGraphLaunch(exec, stream));
	for (int i = 0; i < 4; i++)
		OK(pthread_create(&threads[i], NULL, threads_work, NULL));
	for (int i = 0; i < 4; i++)
		OK(pthread_join(threads[i], NULL));
	OK(cudaDeviceSynchronize());
}

static void read_truth(void)
{
	FILE *f = fopen(getenv("SIM_TRUTH"), "r");
	char line[4096];

	IS(f != NULL, 1);
	while (fgets(line, sizeof(line), f)) {
		struct seen *s = &truth[truth_count];
		const char *at = strstr(line, "\"kind\":");
		int got;

		if (!at)
			continue;
		/* %63[^"] cannot read an empty name: copies have none. */
		got = sscanf(at, "\"kind\":\"%15[^\"]\",\"name\":\"%63[^\"]\"", s->kind, s->name);
		if (got < 2)
			s->name[0] = 0;
		at = strstr(line, "\"stream\":");
		IS(sscanf(at,
			  "\"stream\":%u,\"enqueued\":%*u,\"start\":%" SCNu64 ",\"end\":%" SCNu64
			  ",\"corr\":%u,\"graph\":%u,\"node\":%" SCNu64 ",\"bytes\":%" SCNu64,
			  &s->stream, &s->start, &s->end, &s->correlation, &s->graph, &s->node,
			  &s->bytes),
		   7);
		if (strcmp(s->kind, "copy") && strcmp(s->kind, "set"))
			s->bytes = 0;
		truth_count++;
	}
	fclose(f);
}

static int by_start(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void compare(void)
{
	IS(record_count, truth_count);
	qsort(records, record_count, sizeof(records[0]), by_start);
	qsort(truth, truth_count, sizeof(truth[0]), by_start);
	for (size_t i = 0; i < truth_count; i++) {
		const struct seen *r = &records[i], *t = &truth[i];

		if (strcmp(r->kind, t->kind) || strcmp(r->name, t->name) ||
		    r->stream != t->stream || r->correlation != t->correlation ||
		    r->node != t->node || r->graph != t->graph || r->start != t->start ||
		    r->end != t->end || r->bytes != t->bytes) {
			fprintf(stderr, "selftest: record %zu: %s %s %u, truth: %s %s %u\n", i,
				r->kind, r->name, r->correlation, t->kind, t->name, t->correlation);
			exit(1);
		}
	}
}

static void launch(int count, cudaStream_t stream)
{
	for (int i = 0; i < count; i++)
		OK(cudaLaunchKernel(kernels[0], (dim3){10, 1, 1}, (dim3){128, 1, 1}, NULL, 0,
				    stream));
}

static void register_kernels(void)
{
	extern void **__cudaRegisterFatBinary(void *);

	kernels[0] = kernel(__cudaRegisterFatBinary(NULL), "kernel_a");
}

static void bad_records(void)
{
	size_t zero = 0, inverted = 0, sentinel = 0, duplicate = 0, dropped, wrapped = 0;

	register_kernels();
	launch(100, NULL);
	OK(cudaDeviceSynchronize());
	OK(C(cuptiActivityFlushAll)(1));
	OK(C(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped));
	IS(dropped, 5);
	OK(C(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped));
	IS(dropped, 0);
	for (size_t i = 0; i < record_count; i++) {
		const struct seen *r = &records[i];

		zero += !r->start && !r->end;
		inverted += r->end && r->end < r->start;
		sentinel += r->start == 0x8000000000000000u;
		wrapped += r->correlation < 1000;
		for (size_t j = 0; j < i; j++)
			duplicate += records[j].correlation == r->correlation;
	}
	IS(record_count, 100 - 5 - 1);
	IS(zero, 1);
	IS(inverted, 1);
	IS(sentinel, 1);
	IS(unknown_kinds, 1);
	IS(long_names, 1);
	IS(odd_names, 1);
	IS(null_names, 1);
	IS(duplicate, 1);
	IS(wrapped > 50, 1);
	IS(C(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	printf("selftest: bad records arrive as scripted\n");
}

static void flushing(void)
{
	size_t dropped;

	register_kernels();
	launch(3, NULL);
	/* The virtual clock stands at the launches: the first runs, no more. */
	OK(C(cuptiActivityFlushAll)(0));
	IS(record_count, 0);
	OK(C(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	IS(record_count, 3);
	IS(records[0].start != 0, 1);
	IS(records[0].end, 0);
	IS(records[2].start, 0);
	OK(cudaDeviceSynchronize());
	OK(C(cuptiActivityFlushAll)(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	IS(record_count, 3);
	no_buffers = true;
	launch(2, NULL);
	OK(cudaDeviceSynchronize());
	OK(C(cuptiActivityFlushAll)(0));
	IS(record_count, 3);
	OK(C(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped));
	IS(dropped, 2);
	no_buffers = false;
	launch(1, NULL);
	OK(cudaDeviceSynchronize());
	OK(C(cuptiActivityFlushAll)(0));
	IS(record_count, 4);
	IS(records[3].end > records[3].start, 1);
	printf("selftest: flushing keeps what runs, forced or not\n");
}

int main(int argc, char **argv)
{
	uint32_t version;
	size_t dropped;

	cupti = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!cupti || !getenv("SIM_TRUTH")) {
		fprintf(stderr, "selftest: %s\n", cupti ? "no SIM_TRUTH" : dlerror());
		return 2;
	}
	OK(C(cuptiGetVersion)(&version));
	attach();
	if (argc > 2) {
		if (!strcmp(argv[2], "bad"))
			bad_records();
		else
			flushing();
		return 0;
	}
	work();
	IS(launches_entered, 100 + 3 + 4 * 200);
	IS(launches_left, launches_entered);
	IS(contexts, 1);
	IS(streams_made, 6); /* the default stream too */
	IS(modules, 1);
	IS(nodes_created, 3);
	IS(nodes_cloned, 3);
	IS(execs, 1);
	OK(C(cuptiActivityFlushAll)(0));
	OK(C(cuptiActivityGetNumDroppedRecords)(NULL, 0, &dropped));
	IS(dropped, 0);
	IS(requested, completed);
	read_truth();
	IS(truth_count, 3 + 100 + 30 + 800);
	compare();
	printf("selftest: %s, CUPTI version %u: %zu records are the truth, %u buffers\n", argv[1],
	       version, record_count, (unsigned int)completed);
	return 0;
}
