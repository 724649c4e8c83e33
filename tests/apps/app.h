/* What the traced test programs share: kernels without nvcc, checks, CPU work in either clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The address of a host function that stands for the kernel of that name; registers it at first
 * use, as nvcc's generated code does before main. At most 64 names. */
const void *app_kernel(const char *name);

/* The address that stands for a variable of 256 bytes on the device. */
char *app_symbol(void);

/* CPU time and waits of the calling thread: virtual under libsimclock.so, else real. */
void app_work(uint64_t ns);
void app_wait(uint64_t ns);
void app_barrier(unsigned int id, unsigned int count);

/* Prints file, line and codes, then ends the program with status 1. */
void app_check(long got, long want, const char *what, const char *file, int line);
#define CHECK(call) app_check((long)(call), 0, #call, __FILE__, __LINE__)
#define EXPECT(call, want) app_check((long)(call), (long)(want), #call, __FILE__, __LINE__)

/* "name=value" among the arguments, or the fallback. Numbers take k and M. */
long app_option(int argc, char **argv, const char *name, long fallback);
const char *app_text(int argc, char **argv, const char *name, const char *fallback);
