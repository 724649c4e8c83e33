/* SIM_TRUTH: what really happened, one JSON object a line. Keys: README.md. */
#pragma once

#include "sim.h"

void truth_open(void);
void truth_write(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool truth_wanted(void);
void truth_call(const struct sim_call *call, bool nested);
void truth_load(uint64_t begin_ns, uint64_t end_ns);
void truth_wait(const char *function, uint64_t begin_ns, uint64_t end_ns);
void truth_op(const struct sim_op *op);
