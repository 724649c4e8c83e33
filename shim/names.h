/* Interned text: kernel names and NVTX messages become small ids. Any thread; a leaf lock. */
#ifndef NAMES_H
#define NAMES_H

#include <stddef.h>
#include <stdint.h>

#define NAMES_LIMIT (1u << 20)
#define NAMES_TEXT_LIMIT (256u << 20) /* address space; touched as used */
#define NAME_BYTES_LIMIT (64u << 10)  /* longer names are cut */

/* The id of this text, from 1. 0 when the table is full, counted as a loss (dictionary_full). */
uint32_t names_intern(const char *text, size_t size);

/* The text of an id that names_intern returned. Stays valid. */
const char *names_text(uint32_t id, size_t *size);

/* Ids given so far: 1 to this. */
uint32_t names_count(void);

/* Maps the tables unless they are; 0, or -1 without memory. Before the others; any thread. */
int names_init(void);

/* In a forked child: the lock may have been another thread's. The names stay, handles that the program keeps refer to them. */
void names_after_fork(void);

#endif
