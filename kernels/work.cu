/* Memory, geometry and the pattern that results are compared with. */
#include "kernels/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/check.h"

#define MOST_BYTES ((size_t)8 << 30)
#define MIB ((size_t)1 << 20)
#define POISON 0xA5
#define BLOCK 256

static int attribute(int device, cudaDeviceAttr which)
{
	int value = 0;

	CHECK(cudaDeviceGetAttribute(&value, which, device));
	return value;
}

static void write_uuid(char *out, const cudaUUID_t *uuid)
{
	out += sprintf(out, "GPU-");
	for (int i = 0; i < 16; i++)
		out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       (unsigned char)uuid->bytes[i]);
}

void gpu_open(struct gpu *gpu, int index)
{
	cudaDeviceProp properties;

	CHECK(cudaSetDevice(index));
	CHECK(cudaGetDeviceProperties(&properties, index));
	*gpu = {};
	gpu->index = index;
	snprintf(gpu->name, sizeof(gpu->name), "%s", properties.name);
	write_uuid(gpu->uuid, &properties.uuid);
	gpu->cc_major = properties.major;
	gpu->cc_minor = properties.minor;
	gpu->sm_count = properties.multiProcessorCount;
	/* CUDA 13 took the clocks out of cudaDeviceProp; the attributes stayed. */
	gpu->clock_khz = attribute(index, cudaDevAttrClockRate);
	gpu->memory_clock_khz = attribute(index, cudaDevAttrMemoryClockRate);
	gpu->memory_bus_bits = attribute(index, cudaDevAttrGlobalMemoryBusWidth);
	gpu->l2_bytes = (size_t)properties.l2CacheSize;
	gpu->memory_bytes = properties.totalGlobalMem;
}

static uint32_t *device_memory(const struct work *work, size_t bytes)
{
	void *memory;

	if (bytes > MOST_BYTES - work->source_bytes - work->target_bytes) {
		fprintf(stderr, "boundshim-kernels: a kernel asks for more than 8 GiB\n");
		exit(1);
	}
	CHECK(cudaMalloc(&memory, bytes));
	return (uint32_t *)memory;
}

void work_source(struct work *work, size_t bytes)
{
	work->source = device_memory(work, bytes);
	work->source_bytes = bytes;
}

void work_target(struct work *work, size_t bytes)
{
	work->target = device_memory(work, bytes);
	work->target_bytes = bytes;
	CHECK(cudaMemset(work->target, POISON, bytes));
}

void work_host(struct work *work, size_t bytes, bool pinned)
{
	void *memory;

	work->pinned = pinned;
	if (pinned)
		CHECK(cudaMallocHost(&memory, bytes));
	else
		memory = malloc(bytes);
	if (!memory) {
		fprintf(stderr, "boundshim-kernels: out of memory\n");
		exit(1);
	}
	work->host = (uint32_t *)memory;
	/* Touched, so that no page is new to the first copy. */
	memset(memory, POISON, bytes);
}

void work_release(struct work *work)
{
	CHECK(cudaFree(work->source));
	CHECK(cudaFree(work->target));
	if (work->pinned)
		CHECK(cudaFreeHost(work->host));
	else
		free(work->host);
	*work = {};
}

size_t work_size(const struct work *work, size_t bytes, unsigned divisor)
{
	size_t share = work->gpu->memory_bytes / divisor / MIB * MIB;

	return bytes < share ? bytes : share;
}

void work_fill_device(struct work *work, const void *function, unsigned threads, unsigned waves)
{
	int resident = 0;

	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, (int)threads, 0));
	work->threads = threads;
	work->blocks = (unsigned)(resident * work->gpu->sm_count) * waves;
}

size_t work_thread_count(const struct work *work)
{
	return (size_t)work->blocks * work->threads;
}

static __global__ void fill(uint32_t *words, size_t count)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		words[i] = pattern(i);
}

static __global__ void compare(const uint32_t *words, size_t count, unsigned long long *wrong)
{
	size_t stride = (size_t)gridDim.x * blockDim.x;
	unsigned long long mine = 0;

	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride)
		mine += words[i] != pattern(i);
	if (mine)
		atomicAdd(wrong, mine);
}

uint32_t pattern_sum(size_t count)
{
	/* count * (count - 1) / 2 without losing the high half before the division. */
	uint64_t n = count, pairs = n % 2 ? n * ((n - 1) / 2) : n / 2 * (n - 1);

	return pattern(pairs);
}

void pattern_fill(uint32_t *device, size_t bytes)
{
	fill<<<4096, BLOCK>>>(device, bytes / 4);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
}

unsigned long long pattern_mismatches(const uint32_t *device, size_t bytes)
{
	unsigned long long *counter, wrong;

	CHECK(cudaMalloc(&counter, sizeof(*counter)));
	CHECK(cudaMemset(counter, 0, sizeof(*counter)));
	compare<<<4096, BLOCK>>>(device, bytes / 4, counter);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&wrong, counter, sizeof(wrong), cudaMemcpyDeviceToHost));
	CHECK(cudaFree(counter));
	return wrong;
}

uint32_t *work_fetch(const struct work *work)
{
	uint32_t *words = (uint32_t *)malloc(work->target_bytes);

	if (!words) {
		fprintf(stderr, "boundshim-kernels: out of memory\n");
		exit(1);
	}
	CHECK(cudaMemcpy(words, work->target, work->target_bytes, cudaMemcpyDeviceToHost));
	return words;
}

uint32_t work_target_sum(const struct work *work)
{
	uint32_t *words = work_fetch(work), sum = 0;

	for (size_t i = 0; i < work->target_bytes / 4; i++)
		sum += words[i];
	free(words);
	return sum;
}
