/*
 * Another copy of this library that was loaded before (LD_PRELOAD names one file, CUDA_INJECTION64_PATH another): that one records,
 * and what reaches this one is passed on to it.
 */
#ifndef ELDER_H
#define ELDER_H

/* The elder's function of this name; NULL if this copy is the only one, or the elder. Any thread. */
void *elder_symbol(const char *name);

#endif
