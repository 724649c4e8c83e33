/* The functions behind the hooks: for each caller the one that it would have got without us. */
#ifndef REAL_H
#define REAL_H

#include <stdint.h>

/*
 * The real function of a hook for the code that called it (a return address inside the caller). NULL if no library provides it;
 * that answer is never remembered. Any thread. errno kept.
 */
void *real_function(uint16_t api, const void *caller);

/* Is this the library, by its file name? "libcublas" is libcublas.so.13 and libcublas-1a2b.so.12, not libcublasLt.so.13. */
int real_is_library(const char *path, const char *stem);

/* In a forked child: the lock may have been another thread's. What is remembered stays true. */
void real_after_fork(void);

#endif
