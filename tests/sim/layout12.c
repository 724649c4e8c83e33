/* Proves layout12.h from CUDA 12.9's own headers: make sim-layout12 CUDA12_INC="DIR ..." */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stddef.h>

#include "layout12.h"

#define SAME(what, want) _Static_assert((what) == (want), #what)
SAME(sizeof(CUpti_ActivityKernel9), KERNEL12_BYTES);
SAME(offsetof(CUpti_ActivityKernel9, name), KERNEL12_NAME);
SAME(offsetof(CUpti_ActivityKernel9, graphNodeId), KERNEL12_GRAPH_NODE);
SAME(offsetof(CUpti_ActivityKernel9, graphId), KERNEL12_GRAPH);
SAME(offsetof(CUpti_ActivityKernel9, clusterX), KERNEL12_CLUSTER);
SAME(sizeof(CUpti_ActivityMemcpy6), COPY12_BYTES);
SAME(offsetof(CUpti_ActivityMemcpy6, graphId), COPY12_GRAPH);
SAME(offsetof(CUpti_ActivityMemcpy6, copyCount), COPY12_COUNT);
SAME(sizeof(CUpti_ActivityMemcpyPtoP4), PEER12_BYTES);
SAME(offsetof(CUpti_ActivityMemcpyPtoP4, graphNodeId), PEER12_GRAPH_NODE);
SAME(sizeof(CUpti_ActivityMemset4), SET12_BYTES);
SAME(offsetof(CUpti_ActivityMemset4, graphNodeId), SET12_GRAPH_NODE);
SAME(sizeof(CUpti_ActivityOverhead3), OVERHEAD12_BYTES);
SAME(sizeof(struct cudaDeviceProp), PROP12_BYTES);
SAME(offsetof(struct cudaDeviceProp, major), PROP12_MAJOR);
SAME(offsetof(struct cudaDeviceProp, multiProcessorCount), PROP12_SMS);
SAME(offsetof(struct cudaDeviceProp, l2CacheSize), PROP12_L2);
SAME(offsetof(struct cudaDeviceProp, sharedMemPerMultiprocessor), PROP12_SM_SHARED);
SAME(offsetof(struct cudaDeviceProp, maxBlocksPerMultiProcessor), PROP12_BLOCKS_PER_SM);

int main(void)
{
	return 0;
}
