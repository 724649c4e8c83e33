/* What the traced test programs share: kernels without nvcc, checks, CPU work in either clock. */
#define _GNU_SOURCE
#include "app.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#define KERNELS 64

/* Distinct addresses that stand for device functions. 16 bytes apart, as functions are. */
static struct {
	char stub[16];
} stubs[KERNELS];
static char names[KERNELS][128];
static unsigned int count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Looked up, so that programs without libcudart link too. */
static void register_kernel(const char *stub, const char *name)
{
	static void **binary;
	void **(*begin)(void *) =
		(void **(*)(void *))dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary");
	void (*end)(void **) = (void (*)(void **))dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinaryEnd");
	void (*add)(void **, const char *, char *, const char *, int, void *, void *, void *,
		    void *, int *) =
		(void (*)(void **, const char *, char *, const char *, int, void *, void *, void *,
			  void *, int *))dlsym(RTLD_DEFAULT, "__cudaRegisterFunction");
	static uint64_t image[6] = {0x1466243b1u};

	if (!begin || !end || !add) {
		fprintf(stderr, "app: no libcudart\n");
		exit(1);
	}
	if (!binary) {
		binary = begin(image);
		end(binary);
	}
	add(binary, stub, (char *)name, name, -1, NULL, NULL, NULL, NULL, NULL);
}

const void *app_kernel(const char *name)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < count && strcmp(names[i], name); i++)
		;
	if (i == count) {
		if (count == KERNELS)
			abort();
		snprintf(names[count++], sizeof(names[0]), "%s", name);
		register_kernel(stubs[i].stub, names[i]);
	}
	pthread_mutex_unlock(&lock);
	return stubs[i].stub;
}

char *app_symbol(void)
{
	static char symbol[256];
	void **(*begin)(void *) =
		(void **(*)(void *))dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary");
	void (*add)(void **, char *, char *, const char *, int, size_t, int, int) =
		(void (*)(void **, char *, char *, const char *, int, size_t, int, int))dlsym(
			RTLD_DEFAULT, "__cudaRegisterVar");

	if (!begin || !add) {
		fprintf(stderr, "app: no libcudart\n");
		exit(1);
	}
	add(begin(NULL), symbol, symbol, "symbol", 0, sizeof(symbol), 0, 0);
	return symbol;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void app_work(uint64_t ns)
{
	void (*work)(uint64_t) = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "sim_cpu_work");
	uint64_t end;

	if (work) {
		work(ns);
		return;
	}
	for (end = now_ns() + ns; now_ns() < end;)
		;
}

void app_wait(uint64_t ns)
{
	struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	nanosleep(&t, NULL);
}

void app_barrier(unsigned int id, unsigned int threads)
{
	static pthread_barrier_t barriers[64];
	static bool made[64];
	void (*barrier)(unsigned int, unsigned int) =
		(void (*)(unsigned int, unsigned int))dlsym(RTLD_DEFAULT, "sim_barrier");

	if (barrier) {
		barrier(id, threads);
		return;
	}
	pthread_mutex_lock(&lock);
	if (!made[id]) {
		pthread_barrier_init(&barriers[id], NULL, threads);
		made[id] = true;
	}
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&barriers[id]);
}

void app_check(long got, long want, const char *what, const char *file, int line)
{
	if (got == want)
		return;
	printf("%s:%d: %s is %ld, expected %ld\n", file, line, what, got, want);
	fflush(stdout);
	exit(1);
}

const char *app_text(int argc, char **argv, const char *name, const char *fallback)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return argv[i] + len + 1;
	return fallback;
}

long app_option(int argc, char **argv, const char *name, long fallback)
{
	const char *text = app_text(argc, argv, name, NULL);
	char *end;
	long value;

	if (!text)
		return fallback;
	value = strtol(text, &end, 10);
	return *end == 'k' ? value * 1000 : *end == 'M' ? value * 1000000 : value;
}
