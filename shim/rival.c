/* What the dynamic loader knows. */
#define _GNU_SOURCE
#include "rival.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

/* XLA looks CUPTI up by handle too, but bears to be refused: its profiler then goes without device events. */
static const struct {
	const char *library; /* what its file name begins with */
	const char *name;
} rivals[] = {
	{"libproton.so", "Proton"}, /* Triton 3.6: an exception in its start() */
	/* in each program that they start: Nsight Compute, compute-sanitizer; Nsight Systems */
	{"libTreeLauncherTargetInjection.so", "Nsight Compute or compute-sanitizer"},
	{"libToolsInjection", "Nsight Systems"},
};

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *path = info->dlpi_name, *file = path ? strrchr(path, '/') : NULL;

	(void)size;
	file = file ? file + 1 : path;
	for (size_t i = 0; file && i < sizeof(rivals) / sizeof(rivals[0]); i++)
		if (strncmp(file, rivals[i].library, strlen(rivals[i].library)) == 0) {
			*(const char **)data = rivals[i].name;
			return 1;
		}
	return 0;
}

const char *rival_loaded(void)
{
	const char *name = NULL;

	dl_iterate_phdr(find, &name);
	return name;
}

/* The first object's entry has the count for all. */
static int count(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	*(uint64_t *)data = info->dlpi_adds;
	return 1;
}

const char *rival_came(void)
{
	static uint64_t known;
	uint64_t adds = 0;

	dl_iterate_phdr(count, &adds);
	if (adds == known)
		return NULL;
	known = adds;
	return rival_loaded();
}
