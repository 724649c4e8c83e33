/* Demangling by libstdc++, and only of names that it can be trusted with. */
#include "kernel_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libstdc++ (Itanium C++ ABI, 3.4): malloced result, status 0 when it worked. */
char *__cxa_demangle(const char *mangled, char *output, size_t *length, int *status);
#define NO_MEMORY (-1)
#define NOT_TRIED (-100)

/*
 * Longer names are not demangled by libstdc++ anyway (its limit is 1,024 characters), and
 * substitutions may refer to each other, so that 300 hostile characters become gigabytes: measured
 * 142 MB for 44 of them. Real names that demangle have up to 23.
 */
#define MANGLED_BYTES 1024
#define MANGLED_SUBSTITUTIONS 40

static bool worth_demangling(const char *name)
{
	unsigned references = 0;

	if (strncmp(name, "_Z", 2) || strnlen(name, MANGLED_BYTES + 1) > MANGLED_BYTES)
		return false;
	for (const char *p = name; *p; p++)
		if (*p == 'S' || *p == 'T')
			references +=
				p[1 + strspn(p + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '_';
	return references <= MANGLED_SUBSTITUTIONS;
}

char *kernel_demangle(const char *mangled)
{
	char *name = NULL;
	int status = NOT_TRIED;

	if (worth_demangling(mangled))
		name = __cxa_demangle(mangled, NULL, NULL, &status);
	if (status == NO_MEMORY) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	if (name && status == 0)
		return name;
	free(name);
	return strdup(mangled);
}
