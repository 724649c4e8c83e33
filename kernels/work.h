/* One micro-kernel made ready: its device, its memory, its geometry. */
#ifndef WORK_H
#define WORK_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

/* The attributes carry the trace's names and units (shim/trace/FORMAT.md, table device). */
struct gpu {
	int index;
	char name[256];
	char uuid[48]; /* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" */
	int cc_major, cc_minor;
	int sm_count;
	int clock_khz, memory_clock_khz, memory_bus_bits;
	size_t l2_bytes, memory_bytes;
};

struct work {
	const struct gpu *gpu;
	unsigned blocks, threads;
	uint32_t *source, *target; /* device memory */
	size_t source_bytes, target_bytes;
	uint32_t *host;
	bool pinned;
	uint64_t launches;
	double bytes;      /* that a launch moves through the unit; 0 = none */
	double operations; /* that it computes, an FMA is two; 0 = none */
};

/* Makes `index` the current device and describes it. */
void gpu_open(struct gpu *gpu, int index);

/* cudaMalloc and nothing else; more than 8 GiB for one kernel is a mistake in it. */
void work_source(struct work *work, size_t bytes);
/* As work_source, and poisoned: every byte is 0xA5. */
void work_target(struct work *work, size_t bytes);
void work_host(struct work *work, size_t bytes, bool pinned);
/* Frees all of it. */
void work_release(struct work *work);

/* The least of `bytes` and the device's memory over `divisor`, in whole MiB. */
size_t work_size(const struct work *work, size_t bytes, unsigned divisor);

/* Blocks of `threads` that fill the device `waves` times, by the occupancy of `function`. */
void work_fill_device(struct work *work, const void *function, unsigned threads, unsigned waves);
size_t work_thread_count(const struct work *work);

/* The word that belongs at place i: no two of 2^32 places in a row have the same. */
static __host__ __device__ inline uint32_t pattern(size_t i)
{
	return (uint32_t)i * 2654435761u;
}

/* The sum of pattern(0) .. pattern(count - 1), modulo 2^32. */
uint32_t pattern_sum(size_t count);
/* Fills device memory with the pattern. */
void pattern_fill(uint32_t *device, size_t bytes);
/* Words of device memory that are not the pattern's. */
unsigned long long pattern_mismatches(const uint32_t *device, size_t bytes);

/* A copy of the target, from malloc; the caller frees it. */
uint32_t *work_fetch(const struct work *work);
/* The sum of the target's words, modulo 2^32. */
uint32_t work_target_sum(const struct work *work);

#endif
