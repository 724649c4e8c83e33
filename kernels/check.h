/* Return codes of CUDA: anything but success ends the program with a sentence. */
#ifndef CHECK_H
#define CHECK_H

#include <cuda_runtime.h>

/* Exits with status 1 unless `error` is cudaSuccess. */
void check(cudaError_t error, const char *file, int line);

#define CHECK(call) check(call, __FILE__, __LINE__)

#endif
