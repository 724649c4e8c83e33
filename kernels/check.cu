/* The sentence that ends the program. */
#include "kernels/check.h"

#include <stdio.h>
#include <stdlib.h>

void check(cudaError_t error, const char *file, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "boundshim-kernels: %s:%d: %s\n", file, line, cudaGetErrorString(error));
	exit(1);
}
