/* The library calls of a trace, and the kernels they launched, read from its bytes. */
#ifndef LIBRARY_READ_H
#define LIBRARY_READ_H

#include "library.h"
#include "vocabulary.h"

/*
 * Feeds a trace into `l` and finishes it: two walks over the file, and none where the vocabulary's
 * `library.state.*` say that no library call was seen. Threads are numbered as in struct call
 * (index of the vocabulary's threads plus 1), signatures as in the vocabulary. Damaged chunks are
 * passed over: trace_open reports them. -1 without memory.
 */
int library_read(struct library *l, const uint8_t *data, size_t size,
		 const struct vocabulary *vocabulary);

/*
 * Did the process load math libraries without one call that reached the hooks? Either it called
 * them by handle, as XLA does, or it did not need them: worth saying only where kernels of role
 * MAIN ran.
 */
bool library_not_visible(const struct vocabulary *vocabulary);

#endif
