/* held_lock: a program whose allocator takes a lock that is also held around CUDA calls, and that
 * launches from inside malloc, as pooling allocators do. Whoever allocates in CUPTI's callbacks, in a
 * hook, or in a thread that CUPTI waits for, deadlocks with it.
 *
 * threads [6], seconds [2]. Says how often libboundshim.so itself called malloc or free, if it is there. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "app.h"

struct extent {
	uintptr_t begin, end;
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct extent shim, program;
static _Atomic long by_shim, launched, from_malloc;
static _Atomic int over;
static __thread int inside; /* no launch from the malloc of a launch */

void *__libc_malloc(size_t size);
void __libc_free(void *p);

static int find(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *name = info->dlpi_name ? info->dlpi_name : "";
	struct extent *e = strstr(name, "libboundshim") ? &shim : !*name ? &program : NULL;

	(void)size;
	(void)unused;
	for (int i = 0; e && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t end = info->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type != PT_LOAD)
			continue;
		if (!e->begin)
			e->begin = info->dlpi_addr + p->p_vaddr;
		e->end = end > e->end ? end : e->end;
	}
	return 0;
}

static bool within(const struct extent *e, const void *caller)
{
	return (uintptr_t)caller >= e->begin && (uintptr_t)caller < e->end;
}

static void launch(void)
{
	dim3 one = {1, 1, 1};

	CHECK(cudaLaunchKernel(app_kernel("locked_kernel"), one, one, NULL, 0, NULL));
	atomic_fetch_add(&launched, 1);
}

/* What CUDA and libc allocate for themselves goes by: their locks are not the program's. */
static void enter(const void *caller)
{
	bool of_shim = within(&shim, caller);

	if (of_shim)
		atomic_fetch_add(&by_shim, 1);
	if (!of_shim && !within(&program, caller))
		return;
	pthread_mutex_lock(&lock);
	if (!of_shim && program.begin && !inside++) {
		launch();
		atomic_fetch_add(&from_malloc, 1);
		inside = 0;
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) void *malloc(size_t size)
{
	enter(__builtin_return_address(0));
	return __libc_malloc(size);
}

__attribute__((visibility("default"))) void free(void *p)
{
	enter(__builtin_return_address(0));
	__libc_free(p);
}

static void *run(void *arg)
{
	while (!atomic_load(&over)) {
		void *volatile p;

		pthread_mutex_lock(&lock);
		launch();
		launch();
		pthread_mutex_unlock(&lock);
		p = malloc(100);
		free(p);
		pthread_mutex_lock(&lock);
		CHECK(cudaDeviceSynchronize());
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long threads = app_option(argc, argv, "threads", 6);
	struct timespec t = {app_option(argc, argv, "seconds", 2), 0};
	pthread_t thread[64];

	if (threads < 1 || threads > 64)
		return 2;
	launch();
	inside = 1;
	dl_iterate_phdr(find, NULL);
	inside = 0;
	for (long i = 0; i < threads; i++)
		CHECK(pthread_create(&thread[i], NULL, run, NULL));
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
	atomic_store(&over, 1);
	for (long i = 0; i < threads; i++)
		CHECK(pthread_join(thread[i], NULL));
	fprintf(stderr,
		"held_lock: %ld launches, %ld from malloc, malloc called %ld times by the shim\n",
		launched, from_malloc, by_shim);
	return 0;
}
