/*
 * Preloaded into the boundshim command: the n-th allocation after its start fails, once or from there on.
 *
 * FAIL_ALLOCATION=N[+]    N from 1; + = all from there
 * FAIL_COUNT=FILE         gets the number of allocations at exit
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static unsigned long count, at;
static bool started, from_there_on;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("FAIL_ALLOCATION");

	at = text ? strtoul(text, NULL, 10) : 0;
	from_there_on = text && strchr(text, '+');
	started = true;
}

__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("FAIL_COUNT");
	unsigned long made = count;
	FILE *file;

	started = false;
	file = path ? fopen(path, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "%lu\n", made);
	fclose(file);
}

static bool fails(void)
{
	if (!started)
		return false;
	count++;
	if (!at || count < at || (count > at && !from_there_on))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t rows, size_t size)
{
	return fails() ? NULL : __libc_calloc(rows, size);
}

void *realloc(void *block, size_t size)
{
	return fails() ? NULL : __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t rows, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(rows, size, &bytes) || fails())
		return NULL;
	return __libc_realloc(block, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	void *p = fails() ? NULL : __libc_memalign(alignment, size);

	if (!p)
		return ENOMEM;
	*block = p;
	return 0;
}
