/* Graphs: nodes, edges, clones, and the notices CUPTI gives of them. */
#include <cupti.h>
#include <stdlib.h>

#include "gpu.h"

static uint32_t next_graph_id = 1;
static uint64_t next_node_id = 1;

/* For a graph's own list, where a node cannot be twice. */
static void nodes_append(struct nodes *nodes, struct CUgraphNode_st *node)
{
	if (nodes->count == nodes->room) {
		nodes->room = nodes->room ? nodes->room * 2 : 8;
		nodes->at = realloc(nodes->at, nodes->room * sizeof(*nodes->at));
		if (!nodes->at)
			abort();
	}
	nodes->at[nodes->count++] = node;
}

void nodes_add(struct nodes *nodes, struct CUgraphNode_st *node)
{
	for (size_t i = 0; i < nodes->count; i++)
		if (nodes->at[i] == node)
			return;
	nodes_append(nodes, node);
}

void nodes_clear(struct nodes *nodes)
{
	free(nodes->at);
	*nodes = (struct nodes){0};
}

static void tell(uint32_t cbid, const CUpti_GraphData *data)
{
	CUpti_ResourceData resource = {.context = context_current(),
				       .resourceDescriptor = (void *)data};

	tell_resource(cbid, &resource);
}

static struct CUgraph_st *new_graph(void)
{
	struct CUgraph_st *graph = calloc(1, sizeof(*graph));

	if (!graph)
		abort();
	graph->magic = MAGIC_GRAPH;
	gpu_lock();
	graph->id = next_graph_id++;
	gpu_unlock();
	return graph;
}

struct CUgraph_st *graph_create(void)
{
	struct CUgraph_st *graph = new_graph();

	tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &(CUpti_GraphData){.graph = graph});
	return graph;
}

static struct CUgraphNode_st *new_node(struct CUgraph_st *graph, CUgraphNodeType type,
				       const struct work *work)
{
	struct CUgraphNode_st *node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->magic = MAGIC_NODE;
	node->graph = graph;
	node->type = type;
	node->work.op.kind = SIM_EMPTY;
	if (work)
		node->work = *work;
	gpu_lock();
	node->id = next_node_id++;
	gpu_unlock();
	node->index = graph->nodes.count;
	nodes_append(&graph->nodes, node);
	return node;
}

struct CUgraphNode_st *graph_add(struct CUgraph_st *graph, CUgraphNodeType type,
				 const struct work *work, struct CUgraphNode_st *const *deps,
				 size_t dep_count)
{
	CUpti_GraphData data = {.graph = graph, .nodeType = type};
	struct CUgraphNode_st *node;

	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING, &data);
	node = new_node(graph, type, work);
	for (size_t i = 0; i < dep_count; i++)
		nodes_add(&node->deps, deps[i]);
	data.node = node;
	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, &data);
	for (size_t i = 0; i < dep_count; i++) {
		data.dependency = deps[i];
		tell(CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED, &data);
	}
	return node;
}

struct CUgraph_st *graph_clone(const struct CUgraph_st *graph, bool for_exec)
{
	struct CUgraph_st *clone = new_graph();
	CUpti_GraphData data = {.graph = clone, .originalGraph = (CUgraph)graph};

	clone->original = (struct CUgraph_st *)graph;
	(void)for_exec;
	tell(CUPTI_CBID_RESOURCE_GRAPH_CREATED, &(CUpti_GraphData){.graph = clone});
	for (size_t i = 0; i < graph->nodes.count; i++) {
		const struct CUgraphNode_st *from = graph->nodes.at[i];
		struct CUgraphNode_st *to = new_node(clone, from->type, &from->work);

		to->original = (struct CUgraphNode_st *)from;
		to->event = from->event;
		to->disabled = from->disabled;
		to->kernel = from->kernel;
		to->copy = from->copy;
		to->set = from->set;
		if (from->child)
			to->child = graph_clone(from->child, for_exec);
		data.node = to;
		data.originalNode = (CUgraphNode)from;
		data.nodeType = from->type;
		tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, &data);
	}
	for (size_t i = 0; i < graph->nodes.count; i++)
		for (size_t d = 0; d < graph->nodes.at[i]->deps.count; d++)
			nodes_add(&clone->nodes.at[i]->deps,
				  clone->nodes.at[graph->nodes.at[i]->deps.at[d]->index]);
	data = (CUpti_GraphData){.graph = clone, .originalGraph = (CUgraph)graph};
	tell(CUPTI_CBID_RESOURCE_GRAPH_CLONED, &data);
	return clone;
}

void graph_destroy(struct CUgraph_st *graph)
{
	tell(CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, &(CUpti_GraphData){.graph = graph});
	for (size_t i = 0; i < graph->nodes.count; i++) {
		struct CUgraphNode_st *node = graph->nodes.at[i];

		if (node->child)
			graph_destroy(node->child);
		nodes_clear(&node->deps);
		node->magic = 0;
		free(node);
	}
	nodes_clear(&graph->nodes);
	graph->magic = 0;
	free(graph);
}

/* Orders nodes so that each comes after what it depends on; an error for a cycle. */
int graph_sort(struct CUgraph_st *graph)
{
	struct nodes sorted = {0};
	size_t count = graph->nodes.count;
	bool *done = calloc(count + 1, sizeof(*done));
	bool moved = true;

	if (!done)
		abort();
	for (size_t i = 0; i < count; i++)
		graph->nodes.at[i]->index = i;
	while (sorted.count < count && moved) {
		moved = false;
		for (size_t i = 0; i < count; i++) {
			const struct CUgraphNode_st *node = graph->nodes.at[i];
			bool ready = !done[i];

			for (size_t d = 0; ready && d < node->deps.count; d++)
				ready = done[node->deps.at[d]->index];
			if (!ready)
				continue;
			done[i] = moved = true;
			nodes_append(&sorted, graph->nodes.at[i]);
		}
	}
	free(done);
	if (sorted.count < count) {
		nodes_clear(&sorted);
		return CUDA_ERROR_INVALID_VALUE;
	}
	nodes_clear(&graph->nodes);
	graph->nodes = sorted;
	for (size_t i = 0; i < count; i++)
		graph->nodes.at[i]->index = i;
	return 0;
}
