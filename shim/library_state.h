/*
 * Which math libraries the process has, and whether their calls reach us: a program that looks
 * functions up by handle (XLA) calls past the hooks, and its trace must say that library calls are
 * not visible rather than that there were none.
 */
#ifndef LIBRARY_STATE_H
#define LIBRARY_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "output.h"
#include "trace/format.h"

#define LIBRARIES (BST_ENUM_LIBRARY_NCCL + 1)

extern _Atomic uint8_t library_seen[LIBRARIES];

/* A hook of this library was called. Any thread. */
static inline void library_note_seen(uint8_t library)
{
	/* relaxed: a flag that only ever rises, read for telling */
	if (__builtin_expect(!atomic_load_explicit(&library_seen[library], memory_order_relaxed),
			     0))
		atomic_store_explicit(&library_seen[library], 1, memory_order_relaxed);
}

/*
 * Writes what changed since the last call to `meta`, a key library.state.<library> each: "calls
 * seen" or "loaded, no call seen". Writer thread.
 */
void library_state_describe(struct output *output);

/* A new trace begins: everything is to be told again. */
void library_state_reset(void);

#endif
