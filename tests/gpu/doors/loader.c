/* Loads a plug-in that uses CUDA the way that its first argument says (local, deepbind, global), and runs it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	int how = RTLD_NOW, (*run)(void);
	void *library;

	if (argc < 3)
		return 2;
	how |= strcmp(argv[1], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
	if (strcmp(argv[1], "deepbind") == 0)
		how |= RTLD_DEEPBIND;
	library = dlopen(argv[2], how);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&run = dlsym(library, "run_door");
	return run ? run() : 1;
}
