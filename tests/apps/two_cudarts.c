/* two_cudarts: one library bound to libcudart.so.12 and one to .13 launch in the same process. A
 * launch that reached the wrong one would fail: kernels are known only where they were registered.
 * global=1 opens them RTLD_GLOBAL, where RTLD_NEXT finds the first of the two for both. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

static int (*open_caller(const char *name, int mode))(long, int *)
{
	char path[4096] = {0};
	void *caller;

	EXPECT(readlink("/proc/self/exe", path, sizeof(path) - 32) > 0, 1);
	strcpy(strrchr(path, '/') + 1, name);
	caller = dlopen(path, RTLD_NOW | mode);
	if (!caller) {
		printf("two_cudarts: %s\n", dlerror());
		exit(1);
	}
	return (int (*)(long, int *))dlsym(caller, "caller_run");
}

int main(int argc, char **argv)
{
	int mode = app_option(argc, argv, "global", 0) ? RTLD_GLOBAL : RTLD_LOCAL;
	int (*run12)(long, int *) = open_caller("caller12.so", mode);
	int (*run13)(long, int *) = open_caller("caller13.so", mode);
	int version12 = 0, version13 = 0;

	CHECK(run12(12, &version12));
	CHECK(run13(13, &version13));
	CHECK(run12(12, &version12));
	EXPECT(version12 / 1000, 12);
	EXPECT(version13 / 1000, 13);
	printf("two_cudarts: 24 launches by CUDA 12, 13 by CUDA 13\n");
	return 0;
}
