/*
 * A process can hold two libcudarts or cuBLASes (12 and 13, or two copies), and Python loads extensions privately (RTLD_LOCAL),
 * where dlsym(RTLD_NEXT) finds nothing. So the real function is looked up in the libraries that the caller itself depends on,
 * and remembered for each calling module.
 */
#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "api.h"

#define MODULES_LIMIT 256 /* calling modules remembered; more are looked up each time */

/* Where each calling module lies: apart from its functions, since every call searches here. */
struct extent {
	uintptr_t begin;
	uintptr_t end;
};

static struct extent extents[MODULES_LIMIT];
static _Atomic(void *) functions[MODULES_LIMIT][API_HOOK_COUNT];
static _Atomic unsigned module_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* module table; leaf */

/* The linker's marks of our own first and last byte. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

struct extent_query {
	uintptr_t address;
	uintptr_t begin;
	uintptr_t end;
	const char *name;
};

/* dl_iterate_phdr callback: the module that holds an address. */
static int find_extent(struct dl_phdr_info *info, size_t size, void *data)
{
	struct extent_query *q = data;
	uintptr_t low = UINTPTR_MAX, high = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		low = begin < low ? begin : low;
		high = begin + p->p_memsz > high ? begin + p->p_memsz : high;
	}
	if (q->address < low || q->address >= high)
		return 0;
	q->begin = low;
	q->end = high;
	q->name = info->dlpi_name;
	return 1;
}

/* Ours? A lookup that comes back to a hook must not be taken for the real function. */
static int is_hook(const void *function)
{
	return (const char *)function >= __ehdr_start && (const char *)function < _end;
}

static void *in_handle(void *handle, const char *symbol)
{
	void *p = handle ? dlsym(handle, symbol) : NULL;

	return p && !is_hook(p) ? p : NULL;
}

int real_is_library(const char *path, const char *stem)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(stem);

	return strncmp(name, stem, n) == 0 && (name[n] == '.' || name[n] == '-' || name[n] == '_');
}

/* In a module and what it depends on, breadth first, which never includes us. */
static void *in_dependencies(const char *path, const char *symbol)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *p = in_handle(handle, symbol);

	/* the reference taken by dlopen is kept where a function was found: it must stay mapped as long as we may call it */
	if (handle && !p)
		dlclose(handle);
	return p;
}

/* The main program's handle searches the global scope, where we stand first: go by the libraries it names. */
static void *in_needed_of_main(const char *symbol, const char *stem)
{
	struct link_map *map = NULL;
	const char *strings = NULL;
	void *self = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD), *p = NULL;

	if (!self || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0 || !map->l_ld)
		return NULL;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = map->l_ld; strings && !p && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && real_is_library(strings + d->d_un.d_val, stem))
			p = in_dependencies(strings + d->d_un.d_val, symbol);
	return p;
}

struct library_query {
	const char *stem;
	const char *path;
};

/* The last resort: any copy of the library in the process. */
static int find_any(struct dl_phdr_info *info, size_t size, void *data)
{
	struct library_query *q = data;

	(void)size;
	if (!info->dlpi_name || !real_is_library(info->dlpi_name, q->stem))
		return 0;
	q->path = info->dlpi_name;
	return 1;
}

static void *look_up(const struct extent_query *caller, const char *symbol, const char *stem)
{
	struct library_query any = {.stem = stem};
	void *p = NULL;

	if (caller->name && caller->name[0])
		p = in_dependencies(caller->name, symbol);
	else
		p = in_needed_of_main(symbol, stem);
	if (!p)
		p = in_handle(RTLD_NEXT, symbol);
	if (!p && dl_iterate_phdr(find_any, &any) && any.path)
		p = in_dependencies(any.path, symbol);
	return p;
}

#define NO_MODULE MODULES_LIMIT

static unsigned find_module(uintptr_t address)
{
	/* acquire: pairs with the release in remember; a module that is counted has its extent */
	unsigned n = atomic_load_explicit(&module_count, memory_order_acquire);

	for (unsigned i = 0; i < n; i++)
		if (address >= extents[i].begin && address < extents[i].end)
			return i;
	return NO_MODULE;
}

static unsigned remember(const struct extent_query *q)
{
	unsigned at, n;

	pthread_mutex_lock(&lock);
	at = find_module(q->address);
	n = atomic_load_explicit(&module_count, memory_order_relaxed);
	if (at == NO_MODULE && n < MODULES_LIMIT) {
		at = n;
		extents[at] = (struct extent){q->begin, q->end};
		atomic_store_explicit(&module_count, n + 1, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return at;
}

static void *resolve(uint16_t api, unsigned module, uintptr_t address)
{
	struct extent_query q = {.address = address};
	struct api_info info = api_info(api);
	int saved = errno;
	void *p;

	dl_iterate_phdr(find_extent, &q);
	p = look_up(&q, info.name, api_library_stem(info.library));
	if (module == NO_MODULE && q.end)
		module = remember(&q);
	if (module != NO_MODULE && p)
		atomic_store_explicit(&functions[module][api], p, memory_order_release);
	errno = saved;
	return p;
}

void *real_function(uint16_t api, const void *caller)
{
	uintptr_t address = (uintptr_t)caller;
	unsigned module = find_module(address);
	void *p = NULL;

	if (module != NO_MODULE)
		p = atomic_load_explicit(&functions[module][api], memory_order_acquire);
	return p ? p : resolve(api, module, address);
}

void real_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}
