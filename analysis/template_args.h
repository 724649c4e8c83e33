/* The template arguments of a demangled C++ name, as pieces of its text. */
#ifndef TEMPLATE_ARGS_H
#define TEMPLATE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEMPLATE_ARGS_MOST 16

/* Part of a name; not terminated. */
struct name_part {
	const char *at;
	size_t size;
};

struct template_args {
	struct name_part arg[TEMPLATE_ARGS_MOST];
	unsigned count; /* of arg; further arguments are left out */
};

struct name_part name_part_of(const char *name);
/* Do these characters begin it? */
bool name_part_begins(struct name_part part, const char *text);
/* Where they occur first, or last: to the end of the part; size 0 = nowhere. */
struct name_part name_part_find(struct name_part part, const char *text);
struct name_part name_part_find_last(struct name_part part, const char *text);

/*
 * The arguments of the first `family<...>` in the part: "kernel<4, foo<int>, bar>" has three for
 * "kernel". False where there is none, or its bracket does not close. Brackets of all kinds nest,
 * so lambdas ("{lambda(float, float)#1}") are one piece.
 */
bool template_args_of(struct name_part part, const char *family, struct template_args *args);

/* The list in brackets that begins at the part's first character, "(a, b)": split likewise. */
bool template_args_list(struct name_part part, struct template_args *args);

/* "128", "32u", "3ul", "(at::ADAM_MODE)1": the number; false if it is none. */
bool name_part_number(struct name_part part, uint64_t *number);

#endif
