/* The one entry point of a fuzz target: libFuzzer calls it, and so does replay_main.c. */
#ifndef BOUNDSHIM_TESTS_FUZZ_FUZZ_H
#define BOUNDSHIM_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
