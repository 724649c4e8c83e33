/* The one thread of the shim: empties rings and activity buffers into the file, and takes clock readings. */
#ifndef WRITER_H
#define WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "env.h"
#include "output.h"

struct writer_options {
	struct output *output;
	uint64_t duration_ns;  /* 0 = until the end */
	int64_t start_ns;      /* CLOCK_REALTIME of the process's first activity */
	const struct env *env; /* stays valid */
};

/* Starts the thread, all signals blocked in it. 0, or -1. */
int writer_start(const struct writer_options *options);

/* A ring is half full. Any thread; one system call at most. */
void writer_wake(void);

/* Has the writer finish the file: true when it did within `timeout_ns`. `reason` is static words for the trace. */
bool writer_finish(const char *reason, uint64_t timeout_ns);

/* In a forked child: there is no writer. */
void writer_forget(void);

#endif
