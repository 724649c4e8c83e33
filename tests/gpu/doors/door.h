/* What the programs of this folder share: a check, how many kernels were launched by name, and a checksum of what they computed. */
#ifndef DOOR_H
#define DOOR_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error_ = (int)(call);                                                          \
                                                                                                   \
		if (error_) {                                                                      \
			fprintf(stderr, "%s:%d: error %d\n", __FILE__, __LINE__, error_);          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static std::map<std::string, long> launches;
static std::mutex launches_lock;

static inline void launched(const char *kernel, long count)
{
	std::lock_guard<std::mutex> hold(launches_lock);

	launches[kernel] += count;
}

/* One line for each kernel, `launched NAME COUNT`: what the trace must have. */
static inline void print_launches(void)
{
	for (const auto &entry : launches)
		printf("launched %s %ld\n", entry.first.c_str(), entry.second);
	fflush(stdout);
}

/* FNV-1a of what was computed: output depends on every bit. */
static inline void print_checksum(const char *what, const void *data, size_t bytes)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
	printf("%s %016llx\n", what, (unsigned long long)hash);
}

#endif
