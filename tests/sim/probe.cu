/* What the real CUPTI tells around launches, graphs and captures, to compare with the stand-ins:
 *
 *   nvcc -arch=sm_90 -cudart shared -o probe tests/sim/probe.cu -lcupti
 *   ./probe >real.txt                               on a GPU
 *   LD_LIBRARY_PATH=build/sim ./probe >sim.txt      here
 */
#include <cuda_runtime.h>
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
__global__ void ka(float *x)
{
	x[threadIdx.x] += 1;
}
__global__ void kb(float *x)
{
	x[threadIdx.x] *= 2;
}
static const char *resource_names[] = {"?",
				       "CTX_CREATED",
				       "CTX_DESTROY",
				       "STREAM_CREATED",
				       "STREAM_DESTROY",
				       "CU_INIT",
				       "MODULE_LOADED",
				       "MODULE_UNLOAD",
				       "MODULE_PROFILED",
				       "GRAPH_CREATED",
				       "GRAPH_DESTROY",
				       "GRAPH_CLONED",
				       "NODE_CREATE_STARTING",
				       "NODE_CREATED",
				       "NODE_DESTROY",
				       "DEP_CREATED",
				       "DEP_DESTROY",
				       "EXEC_CREATE_STARTING",
				       "EXEC_CREATED",
				       "EXEC_DESTROY",
				       "NODE_CLONED",
				       "STREAM_ATTR",
				       "NODE_UPDATED",
				       "NODE_SETPARAMS"};
static void cb(void *, CUpti_CallbackDomain d, CUpti_CallbackId id, const void *p)
{
	if (d == CUPTI_CB_DOMAIN_RESOURCE) {
		const CUpti_ResourceData *r = (const CUpti_ResourceData *)p;
		printf("  resource %u %s", id, id < 24 ? resource_names[id] : "?");
		if ((id >= 9 && id <= 20) || id == 22 || id == 23) {
			const CUpti_GraphData *g = (const CUpti_GraphData *)r->resourceDescriptor;
			uint32_t a = 0, b = 0, e = 0;
			uint64_t n = 0, o = 0, dp = 0;
			if (g->graph)
				cuptiGetGraphId(g->graph, &a);
			if ((id == 11 || id == 20) && g->originalGraph)
				cuptiGetGraphId(g->originalGraph, &b);
			if (id >= 12 && id <= 20 && id != 17 && id != 18 && id != 19 && g->node &&
			    id != 12)
				cuptiGetGraphNodeId(g->node, &n);
			if (id == 20 && g->originalNode)
				cuptiGetGraphNodeId(g->originalNode, &o);
			if (id == 15 && g->dependency)
				cuptiGetGraphNodeId(g->dependency, &dp);
			if (id == 18 && g->graphExec)
				cuptiGetGraphExecId(g->graphExec, &e);
			printf(" graph %u orig %u node %llx orig %llx dep %llx exec %u type %d", a,
			       b, (unsigned long long)n, (unsigned long long)o,
			       (unsigned long long)dp, e, (int)g->nodeType);
		}
		if (id == 3) {
			uint32_t s = 0;
			cuptiGetStreamIdEx(r->context, r->resourceHandle.stream, 0, &s);
			printf(" stream %u", s);
		}
		printf("\n");
	} else {
		const CUpti_CallbackData *c = (const CUpti_CallbackData *)p;
		printf("%s %s %s corr %u sym %s\n",
		       d == CUPTI_CB_DOMAIN_DRIVER_API ? "    drv" : "rt", c->functionName,
		       c->callbackSite ? "exit" : "enter", c->correlationId,
		       c->symbolName && id ? c->symbolName : "-");
	}
}
static void req(uint8_t **b, size_t *s, size_t *m)
{
	*s = 1 << 20;
	*b = (uint8_t *)aligned_alloc(8, *s);
	*m = 0;
	printf("  [request]\n");
}
static void done(CUcontext, uint32_t, uint8_t *b, size_t, size_t v)
{
	CUpti_Activity *r = 0;
	while (!cuptiActivityGetNextRecord(b, v, &r)) {
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)r;
			printf("KERNEL %s corr %u stream %u ctx %u graph %u node %llx\n", k->name,
			       k->correlationId, k->streamId, k->contextId, k->graphId,
			       (unsigned long long)k->graphNodeId);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			CUpti_ActivityMemcpy6 *k = (CUpti_ActivityMemcpy6 *)r;
			printf("COPY corr %u rt %u stream %u graph %u node %llx kinds %u %u %u\n",
			       k->correlationId, k->runtimeCorrelationId, k->streamId, k->graphId,
			       (unsigned long long)k->graphNodeId, k->copyKind, k->srcKind,
			       k->dstKind);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			CUpti_ActivityMemset4 *k = (CUpti_ActivityMemset4 *)r;
			printf("SET corr %u stream %u graph %u node %llx\n", k->correlationId,
			       k->streamId, k->graphId, (unsigned long long)k->graphNodeId);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
			CUpti_ActivityOverhead3 *k = (CUpti_ActivityOverhead3 *)r;
			printf("OVERHEAD %u ns %llu corr %u\n", k->overheadKind >> 16,
			       (unsigned long long)(k->end - k->start), k->correlationId);
		} else
			printf("record kind %d\n", r->kind);
	}
}
int main()
{
	CUpti_SubscriberHandle s;
	float *x;
	char host[64];
	cudaStream_t st;
	cudaGraph_t g;
	cudaGraphExec_t e;
	cudaEvent_t ev;
	setvbuf(stdout, 0, _IOLBF, 0);
	cuptiSubscribe(&s, cb, 0);
	cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_RESOURCE);
	cuptiActivityRegisterCallbacks(req, done);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET);
	cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD);
	printf("== init\n");
	cudaFree(0);
	cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_RUNTIME_API);
	cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_DRIVER_API);
	printf("== malloc\n");
	cudaMalloc(&x, 4096);
	printf("== stream\n");
	cudaStreamCreate(&st);
	cudaEventCreate(&ev);
	printf("== launch\n");
	ka<<<1, 32, 0, st>>>(x);
	printf("== launch 2\n");
	ka<<<1, 32, 0, st>>>(x);
	printf("== copies\n");
	cudaMemcpy(x, host, 64, cudaMemcpyHostToDevice);
	cudaMemcpyAsync(host, x, 64, cudaMemcpyDeviceToHost, st);
	cudaMemsetAsync(x, 0, 64, st);
	cudaMemset(x, 0, 64);
	printf("== event\n");
	cudaEventRecord(ev, st);
	cudaEventQuery(ev);
	cudaStreamWaitEvent(0, ev, 0);
	cudaStreamSynchronize(st);
	cudaDeviceSynchronize();
	printf("== capture\n");
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	kb<<<1, 32, 0, st>>>(x);
	cudaMemsetAsync(x, 0, 64, st);
	cudaStreamEndCapture(st, &g);
	printf("== instantiate\n");
	cudaGraphInstantiate(&e, g, 0);
	printf("== graph launch\n");
	cudaGraphLaunch(e, st);
	printf("== graph launch 2\n");
	cudaGraphLaunch(e, st);
	cudaStreamSynchronize(st);
	printf("== query during capture\n");
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	int q = cudaEventQuery(ev);
	cudaStreamCaptureStatus cs;
	cudaStreamIsCapturing(st, &cs);
	printf("event query %d status %d\n", q, cs);
	printf("end %d\n", cudaStreamEndCapture(st, &g));
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	cudaEventRecord(ev, st);
	q = cudaEventQuery(ev);
	cudaStreamIsCapturing(st, &cs);
	printf("captured event query %d status %d end %d\n", q, cs, cudaStreamEndCapture(st, &g));
	void *p;
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	q = cudaMalloc(&p, 64);
	cudaStreamIsCapturing(st, &cs);
	printf("malloc %d status %d end %d\n", q, cs, cudaStreamEndCapture(st, &g));
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	q = cudaStreamSynchronize(st);
	cudaStreamIsCapturing(st, &cs);
	printf("stream sync %d status %d end %d\n", q, cs, cudaStreamEndCapture(st, &g));
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	q = cudaDeviceSynchronize();
	cudaStreamIsCapturing(st, &cs);
	printf("device sync %d status %d end %d\n", q, cs, cudaStreamEndCapture(st, &g));
	cudaStreamBeginCapture(st, cudaStreamCaptureModeGlobal);
	ka<<<1, 32, 0, st>>>(x);
	q = cudaMemcpyAsync(host, x, 64, cudaMemcpyDeviceToHost, st);
	cudaStreamIsCapturing(st, &cs);
	printf("pageable d2h async %d status %d end %d\n", q, cs, cudaStreamEndCapture(st, &g));
	printf("== fails\n");
	printf("%d\n", cudaLaunchKernel((void *)host, dim3(1), dim3(1), 0, 0, 0));
	printf("peek %d get %d\n", cudaPeekAtLastError(), cudaGetLastError());
	printf("== reset\n");
	cudaGraphExecDestroy(e);
	cudaStreamDestroy(st);
	cudaDeviceReset();
	cudaFree(0);
	cuptiEnableAllDomains(0, s);
	cuptiActivityFlushAll(0);
	printf("flushed\n");
	cuptiActivityFlushAll(1);
	size_t d;
	cuptiActivityGetNumDroppedRecords(0, 0, &d);
	printf("dropped %zu\n", d);
}
