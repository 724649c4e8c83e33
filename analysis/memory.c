/*
 * The command without memory ends, with words and status 1, rather than leave a hole in what it says: no figure of a report is
 * missing for that reason. Linked into the command alone, by --wrap of each function below (Makefile); unit tests and fuzz targets
 * see allocations fail as they do. What libraries allocate for themselves fails there: jansson is given these functions.
 */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_reallocarray(void *block, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
int __real_vasprintf(char **text, const char *format, va_list args);
FILE *__real_open_memstream(char **text, size_t *size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_vasprintf(char **text, const char *format, va_list args);
int __wrap_asprintf(char **text, const char *format, ...);
FILE *__wrap_open_memstream(char **text, size_t *size);

static _Noreturn void exhausted(void)
{
	static const char words[] = "boundshim: out of memory\n";

	/* nothing here allocates, and what stdout still holds is printed as far as it got */
	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		_exit(EXIT_FAILURE); /* nobody listens */
	exit(EXIT_FAILURE);
}

/* A size of 0 may give NULL without being a failure. */
static void *sure(void *block, size_t size)
{
	if (!block && size)
		exhausted();
	return block;
}

void *__wrap_malloc(size_t size)
{
	return sure(__real_malloc(size), size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return sure(__real_calloc(count, size), count && size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return sure(__real_realloc(block, size), size);
}

void *__wrap_reallocarray(void *block, size_t count, size_t size)
{
	return sure(__real_reallocarray(block, count, size), count && size);
}

char *__wrap_strdup(const char *text)
{
	return sure(__real_strdup(text), 1);
}

char *__wrap_strndup(const char *text, size_t most)
{
	return sure(__real_strndup(text, most), 1);
}

/* Formats of ours are valid, so that only memory can be missing. */
int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	int size = __real_vasprintf(text, format, args);

	if (size < 0)
		exhausted();
	return size;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int size;

	va_start(args, format);
	size = __wrap_vasprintf(text, format, args);
	va_end(args);
	return size;
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return sure(__real_open_memstream(text, size), 1);
}

void memory_ends_it(void)
{
	json_set_alloc_funcs(__wrap_malloc, free);
}
