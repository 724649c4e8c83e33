/* Finding libcupti: a second copy in one process steals the first one's records, so what is loaded already comes first. */
#define _GNU_SOURCE
#include "cupti_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

struct search {
	const char *part; /* of a file name */
	char path[PATH_MAX];
};

static int find_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;
	const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	base = base ? base + 1 : info->dlpi_name;
	if (!base || strncmp(base, s->part, strlen(s->part)) != 0)
		return 0;
	snprintf(s->path, sizeof(s->path), "%s", info->dlpi_name);
	return 1;
}

static int is_loaded(const char *part, char *path, size_t size)
{
	struct search s = {.part = part};

	if (!dl_iterate_phdr(find_loaded, &s))
		return 0;
	snprintf(path, size, "%s", s.path);
	return 1;
}

/* The major version of CUDA in use, by its libcudart; 0 if only the driver is there. */
static int cuda_major(char *folder, size_t size)
{
	char *dot, *slash;

	if (!is_loaded("libcudart.so.", folder, size))
		return 0;
	dot = strstr(folder, "libcudart.so.");
	slash = strrchr(folder, '/');
	if (!dot || !slash)
		return 0;
	dot += strlen("libcudart.so.");
	*slash = 0;
	return *dot == '1' && dot[1] >= '0' && dot[1] <= '9' ? 10 + dot[1] - '0' : 0;
}

static void *try(const char *path, char *found, size_t size)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (handle)
		snprintf(found, size, "%s", path);
	return handle;
}

/* Beside the libcudart in use: NVIDIA's Python wheels keep one folder for each library (12) or one for all (13). */
static void *try_beside(const char *folder, int major, char *found, size_t size)
{
	static const char *const places[] = {
		"%s/libcupti.so.%d",
		"%s/../../cuda_cupti/lib/libcupti.so.%d",
		"%s/../extras/CUPTI/lib64/libcupti.so.%d",
	};
	char path[PATH_MAX];
	void *handle = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !handle; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		int n = snprintf(path, sizeof(path), places[i], folder, major);
#pragma GCC diagnostic pop

		if (n > 0 && (size_t)n < sizeof(path))
			handle = try(path, found, size);
	}
	return handle;
}

/* The toolkits, newest first unless the program says which. */
static void *try_toolkits(int major, char *found, size_t size)
{
	static const char *const places[] = {
		"libcupti.so.%d",
		"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.%d",
		"/usr/local/cuda/lib64/libcupti.so.%d",
		"/usr/local/cuda/targets/x86_64-linux/lib/libcupti.so.%d",
		"/usr/local/cuda-%d/lib64/libcupti.so",
	};
	char path[PATH_MAX];
	void *handle = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !handle; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), places[i], major);
#pragma GCC diagnostic pop
		handle = try(path, found, size);
	}
	return handle;
}

static void *open_library(const char *wanted, char *found, size_t size, char *reason,
			  size_t reason_size)
{
	char folder[PATH_MAX];
	void *handle = NULL;
	int major;

	if (is_loaded("libcupti.so", folder, sizeof(folder))) {
		handle = dlopen(folder, RTLD_LAZY | RTLD_NOLOAD);
		if (handle)
			snprintf(found, size, "%s", folder);
		return handle;
	}
	if (wanted) {
		handle = try(wanted, found, size);
		if (!handle)
			snprintf(reason, reason_size, "BOUNDSHIM_CUPTI: %s", dlerror());
		return handle;
	}
	major = cuda_major(folder, sizeof(folder));
	if (major)
		handle = try_beside(folder, major, found, size);
	if (!handle && major)
		handle = try_toolkits(major, found, size);
	for (int m = 13; m >= 12 && !handle && !major; m--)
		handle = try_toolkits(m, found, size);
	if (!handle)
		snprintf(
			reason, reason_size,
			"no libcupti.so%s found; set BOUNDSHIM_CUPTI to its path (it comes with the CUDA toolkit "
			"and with the Python package nvidia-cuda-cupti)",
			major == 12   ? ".12"
			: major == 13 ? ".13"
				      : "");
	return handle;
}

void *cupti_loaded(void)
{
	char path[PATH_MAX];

	return is_loaded("libcupti.so", path, sizeof(path)) ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD)
							    : NULL;
}

int cupti_load(struct cupti_api *api, const char *wanted, char *reason, size_t size)
{
	static const struct {
		const char *name;
		size_t at;
		int needed;
	} symbols[] = {
#define CUPTI(name, needed) {#name, offsetof(struct cupti_api, name), needed},
#include "cupti_api.def"
#undef CUPTI
	};
	void *handle = open_library(wanted, api->path, sizeof(api->path), reason, size);

	if (!handle)
		return -1;
	api->handle = handle;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *p = dlsym(handle, symbols[i].name);

		if (!p && symbols[i].needed) {
			snprintf(reason, size, "%s lacks %s", api->path, symbols[i].name);
			return -1;
		}
		memcpy((char *)api + symbols[i].at, &p, sizeof(p));
	}
	if (api->cuptiGetVersion(&api->version) != CUPTI_SUCCESS)
		api->version = 0;
	return 0;
}
