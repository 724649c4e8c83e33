/* Two libraries, each with an NVTX of its own, as the header-only NVTX 3 is; and a program that opens
 * both.  -DLIBRARY=a, -DLIBRARY=b: the libraries. Without: the program, whose arguments are their paths. */
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#ifdef LIBRARY
void say(void);

void say(void)
{
	nvtxRangePushA("range of library " TEXT(LIBRARY));
	nvtxMarkA("mark of library " TEXT(LIBRARY));
	nvtxRangePop();
}
#else
int main(int argc, char **argv)
{
	void *memory = NULL;

	if (cudaMalloc(&memory, 4096) != cudaSuccess)
		return 1;
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		void (*say)(void) = library ? (void (*)(void))dlsym(library, "say") : NULL;

		if (!say)
			return 2;
		say();
	}
	if (cudaMemset(memory, 0, 4096) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	puts("nvtx_marks: said");
	return 0;
}
#endif
