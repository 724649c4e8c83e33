/* Cooperative launches (`cooperative`) and launches with thread block clusters (`cluster`). */
#include <cooperative_groups.h>
#include <cstring>
#include <vector>

#include "door.h"

namespace cg = cooperative_groups;
constexpr int BLOCKS = 32, BLOCK = 128, N = BLOCKS * BLOCK;

/* Each element takes its neighbour's of the next block after all have written theirs. */
extern "C" __global__ void whole_grid(int *v, int *w)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	v[i] += i;
	cg::this_grid().sync();
	w[i] += v[(i + BLOCK) % N];
}

extern "C" __global__ void two_blocks(int *v)
{
	__shared__ int mine;
	cg::cluster_group cluster = cg::this_cluster();

	if (threadIdx.x == 0)
		mine = blockIdx.x;
	cluster.sync();
	v[blockIdx.x * blockDim.x + threadIdx.x] +=
		*cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
	cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) two_blocks_always(int *v)
{
	cg::this_cluster().sync();
	v[blockIdx.x * blockDim.x + threadIdx.x] += 3;
}

static void cooperative(int *v, int *w)
{
	void *args[] = {&v, &w};
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	for (int i = 0; i < 40; i++)
		CHECK(cudaLaunchCooperativeKernel((const void *)whole_grid, dim3(BLOCKS),
						  dim3(BLOCK), args, 0, 0));
	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(BLOCK);
	config.attrs = &attribute;
	config.numAttrs = 1;
	for (int i = 0; i < 20; i++)
		CHECK(cudaLaunchKernelExC(&config, (const void *)whole_grid, args));
	launched("whole_grid", 60);
}

static void cluster(int *v)
{
	void *args[] = {&v};
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 2;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(BLOCK);
	config.attrs = &attribute;
	config.numAttrs = 1;
	for (int i = 0; i < 40; i++)
		CHECK(cudaLaunchKernelExC(&config, (const void *)two_blocks, args));
	for (int i = 0; i < 20; i++)
		two_blocks_always<<<BLOCKS, BLOCK>>>(v);
	launched("two_blocks", 40);
	launched("two_blocks_always", 20);
}

int main(int argc, char **argv)
{
	std::vector<int> out(2 * N);
	int *v;

	CHECK(cudaMalloc(&v, 2 * N * sizeof(int)));
	CHECK(cudaMemset(v, 0, 2 * N * sizeof(int)));
	if (argc > 1 && strcmp(argv[1], "cluster") == 0)
		cluster(v);
	else
		cooperative(v, v + N);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(out.data(), v, 2 * N * sizeof(int), cudaMemcpyDeviceToHost));
	print_checksum("arrays", out.data(), 2 * N * sizeof(int));
	print_launches();
	return 0;
}
