/* Driver API: graphs. */
#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

static bool is_graph(CUgraph graph)
{
	return graph && graph->magic == MAGIC_GRAPH;
}

static bool is_node(CUgraphNode node)
{
	return node && node->magic == MAGIC_NODE;
}

static bool is_exec(CUgraphExec exec)
{
	return exec && exec->magic == MAGIC_EXEC;
}

static void tell_exec(uint32_t cbid, CUgraphExec exec, CUgraph graph)
{
	CUpti_GraphData data = {.graph = graph, .graphExec = exec};
	CUpti_ResourceData resource = {.context = context_current(), .resourceDescriptor = &data};

	tell_resource(cbid, &resource);
}

IMPL(cuGraphCreate)
{
	(void)call;
	if (!p->phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	*p->phGraph = graph_create();
	return 0;
}

IMPL(cuGraphDestroy)
{
	(void)call;
	if (!is_graph(p->hGraph))
		return CUDA_ERROR_INVALID_HANDLE;
	graph_destroy(p->hGraph);
	return 0;
}

IMPL(cuGraphClone)
{
	(void)call;
	if (!is_graph(p->originalGraph))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->phGraphClone = graph_clone(p->originalGraph, false);
	return 0;
}

static int instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
	struct CUgraphExec_st *exec;
	int err;

	if (!is_graph(graph))
		return CUDA_ERROR_INVALID_HANDLE;
	if (capture_forbids())
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	err = graph_sort(graph);
	if (err)
		return err;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		abort();
	tell_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING, exec, graph);
	exec->magic = MAGIC_EXEC;
	exec->flags = flags;
	exec->graph = graph_clone(graph, true);
	exec->id = exec->graph->id;
	exec->context = context_current();
	tell_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, exec, graph);
	*out = exec;
	return 0;
}

IMPL(cuGraphInstantiateWithFlags)
{
	(void)call;
	return instantiate(p->phGraphExec, p->hGraph, p->flags);
}

IMPL(cuGraphInstantiateWithParams)
{
	(void)call;
	p->instantiateParams->hErrNode_out = NULL;
	p->instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return instantiate(p->phGraphExec, p->hGraph, p->instantiateParams->flags);
}

IMPL(cuGraphInstantiate_v2)
{
	(void)call;
	return instantiate(p->phGraphExec, p->hGraph, 0);
}

IMPL(cuGraphExecDestroy)
{
	(void)call;
	if (!is_exec(p->hGraphExec))
		return CUDA_ERROR_INVALID_HANDLE;
	tell_exec(CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, p->hGraphExec,
		  p->hGraphExec->graph);
	graph_destroy(p->hGraphExec->graph);
	p->hGraphExec->magic = 0;
	free(p->hGraphExec);
	return 0;
}

IMPL(cuGraphExecGetFlags)
{
	(void)call;
	if (!is_exec(p->hGraphExec))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->flags = p->hGraphExec->flags;
	return 0;
}

IMPL(cuGraphUpload)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	return err ? err : is_exec(p->hGraph) ? 0 : CUDA_ERROR_INVALID_HANDLE;
}

IMPL(cuGraphLaunch)
{
	struct CUstream_st *stream;
	int err = call_stream(p->hStream, call, &stream);

	if (err)
		return err;
	if (!is_exec(p->hGraph))
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->capture) {
		struct CUgraphNode_st *node;

		err = capture_add(stream, CU_GRAPH_NODE_TYPE_GRAPH, NULL, call, &node);
		if (!err)
			node->child = graph_clone(p->hGraph->graph, false);
		return err;
	}
	return stream_launch_graph(stream, p->hGraph, call);
}

/* Whole-graph update: takes over the work of the nodes at the same places. */
static int update(CUgraphExec exec, CUgraph graph)
{
	if (!is_exec(exec) || !is_graph(graph))
		return CUDA_ERROR_INVALID_HANDLE;
	if (exec->graph->nodes.count != graph->nodes.count || graph_sort(graph))
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < graph->nodes.count; i++)
		if (graph->nodes.at[i]->type != exec->graph->nodes.at[i]->type)
			return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	for (size_t i = 0; i < graph->nodes.count; i++)
		exec->graph->nodes.at[i]->work = graph->nodes.at[i]->work;
	return 0;
}

IMPL(cuGraphExecUpdate_v2)
{
	int err = update(p->hGraphExec, p->hGraph);

	(void)call;
	if (p->resultInfo)
		p->resultInfo->result =
			err ? CU_GRAPH_EXEC_UPDATE_ERROR : CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return err;
}

static int add(CUgraphNode *out, CUgraph graph, const CUgraphNode *deps, size_t count,
	       CUgraphNodeType type, const struct work *work)
{
	if (!is_graph(graph))
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < count; i++)
		if (!is_node(deps[i]) || deps[i]->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	*out = graph_add(graph, type, work, deps, count);
	return 0;
}

static int kernel_work(const CUDA_KERNEL_NODE_PARAMS *k, struct work *work)
{
	return function_work(k->func ? k->func : (CUfunction)k->kern,
			     (unsigned int[]){k->gridDimX, k->gridDimY, k->gridDimZ},
			     (unsigned int[]){k->blockDimX, k->blockDimY, k->blockDimZ},
			     k->sharedMemBytes, work);
}

IMPL(cuGraphAddKernelNode_v2)
{
	struct work work = {0};
	int err = kernel_work(p->nodeParams, &work);

	(void)call;
	if (!err)
		err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
			  CU_GRAPH_NODE_TYPE_KERNEL, &work);
	if (!err)
		(*p->phGraphNode)->kernel = *p->nodeParams;
	return err;
}

IMPL(cuGraphKernelNodeGetParams_v2)
{
	(void)call;
	if (!is_node(p->hNode))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->nodeParams = p->hNode->kernel;
	if (!p->nodeParams->func) {
		const struct sim_op *op = &p->hNode->work.op;

		p->nodeParams->func = p->hNode->work.function;
		p->nodeParams->gridDimX = (unsigned int)op->grid[0];
		p->nodeParams->gridDimY = (unsigned int)op->grid[1];
		p->nodeParams->gridDimZ = (unsigned int)op->grid[2];
		p->nodeParams->blockDimX = (unsigned int)op->block[0];
		p->nodeParams->blockDimY = (unsigned int)op->block[1];
		p->nodeParams->blockDimZ = (unsigned int)op->block[2];
		p->nodeParams->sharedMemBytes = op->dynamic_shared;
	}
	return 0;
}

IMPL(cuGraphKernelNodeSetParams_v2)
{
	(void)call;
	return is_node(p->hNode) ? kernel_work(p->nodeParams, &p->hNode->work)
				 : CUDA_ERROR_INVALID_HANDLE;
}

static struct CUgraphNode_st *in_exec(CUgraphExec exec, CUgraphNode node)
{
	for (size_t i = 0; is_exec(exec) && i < exec->graph->nodes.count; i++)
		if (exec->graph->nodes.at[i]->original == node)
			return exec->graph->nodes.at[i];
	return NULL;
}

IMPL(cuGraphExecKernelNodeSetParams_v2)
{
	struct CUgraphNode_st *node = in_exec(p->hGraphExec, p->hNode);

	(void)call;
	return node ? kernel_work(p->nodeParams, &node->work) : CUDA_ERROR_INVALID_VALUE;
}

IMPL(cuGraphNodeSetEnabled)
{
	struct CUgraphNode_st *node = in_exec(p->hGraphExec, p->hNode);

	(void)call;
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	node->disabled = !p->isEnabled;
	return 0;
}

IMPL(cuGraphNodeGetEnabled)
{
	struct CUgraphNode_st *node = in_exec(p->hGraphExec, p->hNode);

	(void)call;
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	*p->isEnabled = !node->disabled;
	return 0;
}

IMPL(cuGraphAddMemcpyNode)
{
	struct work work = {0};
	int err = copy_work(p->copyParams, &work);

	(void)call;
	if (!err)
		err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
			  CU_GRAPH_NODE_TYPE_MEMCPY, &work);
	if (!err)
		(*p->phGraphNode)->copy = *p->copyParams;
	return err;
}

IMPL(cuGraphAddMemsetNode)
{
	struct work work = {0};
	int err = set_work(p->memsetParams, &work);

	(void)call;
	if (!err)
		err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
			  CU_GRAPH_NODE_TYPE_MEMSET, &work);
	if (!err)
		(*p->phGraphNode)->set = *p->memsetParams;
	return err;
}

IMPL(cuGraphAddHostNode)
{
	struct work work = {
		.op = {.kind = SIM_HOST, .name = "host function"},
		.duration_ns = script.host_function_ns,
		.host = p->nodeParams->fn,
		.host_data = p->nodeParams->userData,
	};

	(void)call;
	return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
		   CU_GRAPH_NODE_TYPE_HOST, &work);
}

IMPL(cuGraphAddEmptyNode)
{
	(void)call;
	return add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
		   CU_GRAPH_NODE_TYPE_EMPTY, NULL);
}

IMPL(cuGraphAddEventRecordNode)
{
	int err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
		      CU_GRAPH_NODE_TYPE_EVENT_RECORD, NULL);

	(void)call;
	if (!err)
		(*p->phGraphNode)->event = p->event;
	return err;
}

IMPL(cuGraphAddEventWaitNode)
{
	int err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
		      CU_GRAPH_NODE_TYPE_WAIT_EVENT, NULL);

	(void)call;
	if (!err)
		(*p->phGraphNode)->event = p->event;
	return err;
}

IMPL(cuGraphAddChildGraphNode)
{
	int err;

	(void)call;
	if (!is_graph(p->childGraph) || graph_sort(p->childGraph))
		return CUDA_ERROR_INVALID_VALUE;
	err = add(p->phGraphNode, p->hGraph, p->dependencies, p->numDependencies,
		  CU_GRAPH_NODE_TYPE_GRAPH, NULL);
	if (!err)
		(*p->phGraphNode)->child = graph_clone(p->childGraph, false);
	return err;
}

IMPL(cuGraphNodeGetType)
{
	(void)call;
	if (!is_node(p->hNode))
		return CUDA_ERROR_INVALID_HANDLE;
	*p->type = p->hNode->type;
	return 0;
}

static int give(const struct nodes *nodes, CUgraphNode *out, size_t *count)
{
	for (size_t i = 0; out && i < *count; i++)
		out[i] = i < nodes->count ? nodes->at[i] : NULL;
	if (!out || nodes->count < *count)
		*count = nodes->count;
	return 0;
}

IMPL(cuGraphGetNodes)
{
	(void)call;
	return is_graph(p->hGraph) ? give(&p->hGraph->nodes, p->nodes, p->numNodes)
				   : CUDA_ERROR_INVALID_HANDLE;
}

IMPL(cuGraphGetRootNodes)
{
	struct nodes roots = {0};

	(void)call;
	if (!is_graph(p->hGraph))
		return CUDA_ERROR_INVALID_HANDLE;
	for (size_t i = 0; i < p->hGraph->nodes.count; i++)
		if (!p->hGraph->nodes.at[i]->deps.count)
			nodes_add(&roots, p->hGraph->nodes.at[i]);
	give(&roots, p->rootNodes, p->numRootNodes);
	nodes_clear(&roots);
	return 0;
}

IMPL(cuGraphNodeGetDependencies)
{
	(void)call;
	return is_node(p->hNode) ? give(&p->hNode->deps, p->dependencies, p->numDependencies)
				 : CUDA_ERROR_INVALID_HANDLE;
}

IMPL(cuGraphNodeGetDependencies_v2)
{
	(void)call;
	return is_node(p->hNode) ? give(&p->hNode->deps, p->dependencies, p->numDependencies)
				 : CUDA_ERROR_INVALID_HANDLE;
}

static int connect(const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_node(from[i]) || !is_node(to[i]))
			return CUDA_ERROR_INVALID_HANDLE;
		nodes_add(&to[i]->deps, from[i]);
	}
	return 0;
}

IMPL(cuGraphAddDependencies)
{
	(void)call;
	return connect(p->from, p->to, p->numDependencies);
}

IMPL(cuGraphAddDependencies_v2)
{
	(void)call;
	return connect(p->from, p->to, p->numDependencies);
}
