/* What a kernel's name says: its kind, its demangled form and a form that fits a column. */
#ifndef KERNEL_NAME_H
#define KERNEL_NAME_H

#include <stdbool.h>

#include "classes.h"
#include "leaf.h"

/* Columns of a short name at most. */
#define KERNEL_SHORT_COLUMNS 60

/* A family of kernels that share a job, from kernel_kind.def. */
struct kernel_kind {
	const char *name; /* "gemm", "elementwise" ...; "unknown" if the name says nothing */
	enum kernel_class class;
	enum leaf
		prior; /* what binds such kernels with no other evidence; LEAF_UNKNOWN: no guess */
	double confidence; /* in the prior, 0..1; never above 0.4 */
	bool collective;   /* waits for other GPUs: its time is communication */
};

/* The kind of the kernel with this name, mangled or demangled. Never NULL; static; any thread. */
const struct kernel_kind *kernel_kind_of(const char *name);

/* Does the name contain one of the parts ("part|part|^beginning")? A part that begins with ^ must
 * begin it. */
bool kernel_name_has(const char *name, const char *parts);

/*
 * The demangled name, by libstdc++; a copy where the name is not mangled. The caller frees it; NULL
 * without memory for a copy; exits when demangling runs out of it, as the name would be another. Bytes that came from
 * the trace are kept: printers neutralise control characters.
 */
char *kernel_demangle(const char *mangled);

/*
 * A readable name of at most KERNEL_SHORT_COLUMNS columns, printable ASCII only: namespaces, return
 * type, parameters and lambda noise dropped, the functor or operation that tells kernels apart
 * kept. Distinct kernels stay distinct where the room allows. The caller frees it; NULL without
 * memory.
 */
char *kernel_short_name(const char *demangled);

#endif
