/* What this process is: the rows of `meta` that are known at the start, and the devices. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include "env.h"
#include "output.h"

/* The host's short name, letters, digits, '.', '-' and '_' only. */
void process_host(char *name, size_t size);

/* The rank by the usual launchers' variables, "" if none. Static. */
const char *process_rank(void);

/* Command line (redacted as told), host, ranks, selected environment. */
void process_describe(struct output *output, const struct env *env, int64_t start_ns);

/* Attributes of each device from the driver that the program loaded: getters only, after the program's own cuInit. 1 when done. */
int devices_describe(struct output *output);

/* Replaces secrets in `command`, whose arguments end in NUL, in place of what stood there; returns the new size. */
size_t process_redact(char *command, size_t size, size_t capacity);

#endif
