/* Runtime stand-in: stream capture and graphs. */
#include <string.h>

IMPL(cudaStreamBeginCapture)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamBeginCapture, "_ptsz")(p->stream,
							     (CUstreamCaptureMode)p->mode);
}

IMPL(cudaStreamBeginCaptureToGraph)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamBeginCaptureToGraph,
			"_ptsz")(p->stream, p->graph, p->dependencies, NULL, p->numDependencies,
				 (CUstreamCaptureMode)p->mode);
}

IMPL(cudaStreamEndCapture)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuStreamEndCapture, "_ptsz")(p->stream, p->pGraph);
}

IMPL(cudaStreamIsCapturing)
{
	int err = runtime_ready();

	return err ? err
		   : DT(call, cuStreamIsCapturing,
			"_ptsz")(p->stream, (CUstreamCaptureStatus *)p->pCaptureStatus);
}

IMPL(cudaThreadExchangeStreamCaptureMode)
{
	int err = D(cuInit)(0);

	return err ? err : D(cuThreadExchangeStreamCaptureMode)((CUstreamCaptureMode *)p->mode);
}

IMPL(cudaGraphCreate)
{
	int err = runtime_ready();

	return err ? err : D(cuGraphCreate)(p->pGraph, p->flags);
}

IMPL(cudaGraphDestroy)
{
	return D(cuGraphDestroy)(p->graph);
}

IMPL(cudaGraphClone)
{
	return D(cuGraphClone)(p->pGraphClone, p->originalGraph);
}

IMPL(cudaGraphInstantiateWithFlags)
{
	int err = runtime_ready();

	return err ? err : D(cuGraphInstantiateWithFlags)(p->pGraphExec, p->graph, p->flags);
}

IMPL(cudaGraphInstantiate)
{
	int err = runtime_ready();

	return err ? err : D(cuGraphInstantiateWithFlags)(p->pGraphExec, p->graph, p->flags);
}

IMPL(cudaGraphInstantiateWithParams)
{
	int err = runtime_ready();

	p->instantiateParams->errNode_out = NULL;
	p->instantiateParams->result_out = cudaGraphInstantiateSuccess;
	return err ? err
		   : D(cuGraphInstantiateWithFlags)(p->pGraphExec, p->graph,
						    p->instantiateParams->flags);
}

IMPL(cudaGraphExecDestroy)
{
	return D(cuGraphExecDestroy)(p->graphExec);
}

IMPL(cudaGraphExecUpdate)
{
	CUgraphExecUpdateResultInfo info = {0};
	int err = D(cuGraphExecUpdate)(p->hGraphExec, p->hGraph, &info);

	if (p->resultInfo) {
		memset(p->resultInfo, 0, sizeof(*p->resultInfo));
		p->resultInfo->result = (enum cudaGraphExecUpdateResult)info.result;
	}
	return err;
}

IMPL(cudaGraphUpload)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuGraphUpload, "_ptsz")(p->graphExec, p->stream);
}

IMPL(cudaGraphLaunch)
{
	int err = runtime_ready();

	return err ? err : DT(call, cuGraphLaunch, "_ptsz")(p->graphExec, p->stream);
}

static int kernel_params(const struct cudaKernelNodeParams *from, CUDA_KERNEL_NODE_PARAMS *to)
{
	CUfunction f = runtime_function(from->func);

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	*to = (CUDA_KERNEL_NODE_PARAMS){
		.func = f,
		.gridDimX = from->gridDim.x,
		.gridDimY = from->gridDim.y,
		.gridDimZ = from->gridDim.z,
		.blockDimX = from->blockDim.x,
		.blockDimY = from->blockDim.y,
		.blockDimZ = from->blockDim.z,
		.sharedMemBytes = from->sharedMemBytes,
		.kernelParams = from->kernelParams,
	};
	return 0;
}

IMPL(cudaGraphAddKernelNode)
{
	CUDA_KERNEL_NODE_PARAMS k;
	int err = runtime_ready();

	if (!err)
		err = kernel_params(p->pNodeParams, &k);
	return err ? err
		   : D(cuGraphAddKernelNode)(p->pGraphNode, p->graph, p->pDependencies,
					     p->numDependencies, &k);
}

IMPL(cudaGraphKernelNodeSetParams)
{
	CUDA_KERNEL_NODE_PARAMS k;
	int err = kernel_params(p->pNodeParams, &k);

	return err ? err : D(cuGraphKernelNodeSetParams)(p->node, &k);
}

IMPL(cudaGraphExecKernelNodeSetParams)
{
	CUDA_KERNEL_NODE_PARAMS k;
	int err = kernel_params(p->pNodeParams, &k);

	return err ? err : D(cuGraphExecKernelNodeSetParams)(p->hGraphExec, p->node, &k);
}

IMPL(cudaGraphAddMemcpyNode)
{
	CUDA_MEMCPY3D c;
	int err = runtime_ready();

	if (!err)
		err = runtime_copy_params(p->pCopyParams, &c);
	return err ? err
		   : D(cuGraphAddMemcpyNode)(p->pGraphNode, p->graph, p->pDependencies,
					     p->numDependencies, &c, NULL);
}

IMPL(cudaGraphAddMemcpyNode1D)
{
	struct cudaMemcpy3DParms params = {
		.dstPtr = {p->dst, p->count, p->count, 1},
		.srcPtr = {(void *)p->src, p->count, p->count, 1},
		.extent = {p->count, 1, 1},
		.kind = p->kind,
	};
	CUDA_MEMCPY3D c;
	int err = runtime_ready();

	if (!err)
		err = runtime_copy_params(&params, &c);
	return err ? err
		   : D(cuGraphAddMemcpyNode)(p->pGraphNode, p->graph, p->pDependencies,
					     p->numDependencies, &c, NULL);
}

IMPL(cudaGraphAddMemsetNode)
{
	const struct cudaMemsetParams *m = p->pMemsetParams;
	CUDA_MEMSET_NODE_PARAMS set = {(CUdeviceptr)m->dst, m->pitch, m->value,
				       m->elementSize,      m->width, m->height};
	int err = runtime_ready();

	return err ? err
		   : D(cuGraphAddMemsetNode)(p->pGraphNode, p->graph, p->pDependencies,
					     p->numDependencies, &set, NULL);
}

IMPL(cudaGraphAddHostNode)
{
	CUDA_HOST_NODE_PARAMS host = {p->pNodeParams->fn, p->pNodeParams->userData};
	int err = runtime_ready();

	return err ? err
		   : D(cuGraphAddHostNode)(p->pGraphNode, p->graph, p->pDependencies,
					   p->numDependencies, &host);
}

IMPL(cudaGraphAddEmptyNode)
{
	int err = runtime_ready();

	return err ? err
		   : D(cuGraphAddEmptyNode)(p->pGraphNode, p->graph, p->pDependencies,
					    p->numDependencies);
}

IMPL(cudaGraphAddEventRecordNode)
{
	return D(cuGraphAddEventRecordNode)(p->pGraphNode, p->graph, p->pDependencies,
					    p->numDependencies, p->event);
}

IMPL(cudaGraphAddEventWaitNode)
{
	return D(cuGraphAddEventWaitNode)(p->pGraphNode, p->graph, p->pDependencies,
					  p->numDependencies, p->event);
}

IMPL(cudaGraphAddChildGraphNode)
{
	return D(cuGraphAddChildGraphNode)(p->pGraphNode, p->graph, p->pDependencies,
					   p->numDependencies, p->childGraph);
}

IMPL(cudaGraphGetNodes)
{
	return D(cuGraphGetNodes)(p->graph, p->nodes, p->numNodes);
}

IMPL(cudaGraphGetRootNodes)
{
	return D(cuGraphGetRootNodes)(p->graph, p->pRootNodes, p->pNumRootNodes);
}

IMPL(cudaGraphNodeGetType)
{
	return D(cuGraphNodeGetType)(p->node, (CUgraphNodeType *)p->pType);
}

IMPL(cudaGraphNodeSetEnabled)
{
	return D(cuGraphNodeSetEnabled)(p->hGraphExec, p->hNode, p->isEnabled);
}

IMPL(cudaGraphNodeGetEnabled)
{
	return D(cuGraphNodeGetEnabled)(p->hGraphExec, p->hNode, p->isEnabled);
}
