/* The kinds of kernels, by what occurs in their names. */
#include "kernel_name.h"

#include <string.h>

#define NAME_BYTES 16384 /* of a name that is looked at */

struct kind_row {
	struct kernel_kind kind;
	const char *parts;
};

static const struct kind_row rows[] = {
#define KIND(name, CLASS, PRIOR, confidence, collective, parts)                                    \
	{{name, CLASS_##CLASS, LEAF_##PRIOR, confidence, collective}, parts},
#include "kernel_kind.def"
#undef KIND
};

static const struct kernel_kind unknown_kind = {"unknown", CLASS_REST, LEAF_UNKNOWN, 0, false};

static bool any_part(const char *name, size_t size, const char *parts)
{
	while (*parts) {
		size_t length = strcspn(parts, "|");

		if (*parts == '^' ? size >= length - 1 && !memcmp(name, parts + 1, length - 1)
				  : memmem(name, size, parts, length) != NULL)
			return true;
		parts += length + (parts[length] == '|');
	}
	return false;
}

const struct kernel_kind *kernel_kind_of(const char *name)
{
	size_t size = strnlen(name, NAME_BYTES);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (any_part(name, size, rows[i].parts))
			return &rows[i].kind;
	return &unknown_kind;
}

bool kernel_name_has(const char *name, const char *parts)
{
	return any_part(name, strnlen(name, NAME_BYTES), parts);
}
