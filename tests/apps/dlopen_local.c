/* dlopen_local: opens plugin.so with RTLD_LOCAL, which brings in libcudart for itself only, as
 * every Python extension does; then launches through it. deepbind=1: with RTLD_DEEPBIND too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

int main(int argc, char **argv)
{
	long launches = app_option(argc, argv, "launches", 100);
	char path[4096] = {0};
	int (*run)(long), how = RTLD_NOW | RTLD_LOCAL;
	void *plugin;

	EXPECT(readlink("/proc/self/exe", path, sizeof(path) - 16) > 0, 1);
	strcpy(strrchr(path, '/'), "/plugin.so");
	if (app_option(argc, argv, "deepbind", 0))
		how |= RTLD_DEEPBIND;
	plugin = dlopen(path, how);
	if (!plugin) {
		printf("dlopen_local: %s\n", dlerror());
		return 1;
	}
	run = (int (*)(long))dlsym(plugin, "plugin_run");
	CHECK(run(launches));
	printf("dlopen_local: %ld launches through the plugin\n", launches);
	return 0;
}
