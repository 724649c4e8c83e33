/* The shapes of library calls that one kernel serves, and what the counters found of each. */
#ifndef KERNEL_SHAPES_H
#define KERNEL_SHAPES_H

#include "account.h"
#include "library.h"

/* What kernel_shapes_fill reads; counters and library may be NULL. */
struct kernel_shapes_input {
	const struct counters *counters;
	const struct library *library;
	uint32_t device, signature;
	const struct signature_label *label; /* of the signature */
};

/*
 * Fills kernel->shapes where the signature served two or more, longest total time first: each with
 * its time and launches over the whole run and a label of its own. Left empty without memory.
 */
void kernel_shapes_fill(const struct kernel_shapes_input *in, struct kernel_report *kernel);

#endif
