/* Interned shapes: each that a library call had becomes a small id of table `shape`. Any thread. */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdint.h>

#include "shape.h"

/* Decoding with a growing context makes a few new ones at each step: 128 bytes each, touched as
 * used. */
#define SHAPES_LIMIT (1u << 17)

/*
 * The id of this shape, from 1. 0 when the table is full, counted as a loss (dictionary_full), or
 * is not mapped. No lock where the shape is known already.
 */
uint32_t shapes_intern(const struct shape *shape);

/* The shape of an id that shapes_intern returned. Stays valid. */
const struct shape *shapes_get(uint32_t id);

/* Ids given so far: 1 to this. */
uint32_t shapes_count(void);

/* Maps the table unless it is; 0, or -1 without memory. Any thread. */
int shapes_init(void);

/* In a forked child: the lock may have been another thread's. The shapes stay: plans that the
 * program keeps refer to them. */
void shapes_after_fork(void);

#endif
