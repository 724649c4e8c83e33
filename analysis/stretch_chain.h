/* Which CPU threads of a stretch run side by side and which hand over to each other. */
#ifndef STRETCH_CHAIN_H
#define STRETCH_CHAIN_H

#include "stretch.h"

#define STRETCH_THREADS 64        /* told apart; more are each for themselves, */
#define STRETCH_THREADS_MOST 1024 /* up to so many */

struct stretch_thread {
	uint32_t thread; /* as struct call */
	uint32_t last;   /* its latest call in the stretch */
	uint32_t folded; /* calls since then that are left out */
	uint32_t calls;
	uint32_t chain;
};

/* Zeroed is empty. */
struct stretch_chains {
	struct stretch_thread *thread;
	size_t count, capacity;
	uint32_t recent; /* index of the thread asked for last */
};

/* The row of a thread, made at the first question; NULL without memory or with too many. Valid until the next new
 * one. */
struct stretch_thread *stretch_chains_thread(struct stretch_chains *chains, uint32_t thread);

/*
 * Sets `before` and `host_ns` of all calls. Threads are one chain where their calls never overlap
 * and they take turns rarely: fewer than one call in four of the quieter one is a change between the two. -1
 * without memory.
 */
int stretch_chains_link(struct stretch_chains *chains, struct stretch *stretch);
void stretch_chains_fini(struct stretch_chains *chains);

#endif
