/* Which kernel of one run is which of another. */
#ifndef KERNEL_MATCH_H
#define KERNEL_MATCH_H

#include "report.h"

enum kernel_match_kind {
	KERNEL_MATCH_SAME,     /* name, grid and block */
	KERNEL_MATCH_RESHAPED, /* the name; grid or block differ */
	KERNEL_MATCH_APPEARED, /* only in b */
	KERNEL_MATCH_WENT,     /* only in a */
};

struct kernel_match {
	enum kernel_match_kind kind;
	const struct kernel_report *a, *b; /* NULL where it is not */
};

/*
 * Matches each kernel of both devices once: first those with the same name, grid, block, registers
 * and shared memory, then by name, grid and block, and of what is left those of the same name,
 * smaller grids with smaller ones. An array of *count rows, which the caller frees and which points
 * into the devices; NULL without memory. *count may be 0.
 */
struct kernel_match *kernel_match(const struct device_report *a, const struct device_report *b,
				  size_t *count);

#endif
