/* The CUPTI side: subscription, callbacks, activity buffers. Off for good after the first failure, with the reason kept. */
#ifndef TRACER_H
#define TRACER_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"

enum tracer_state {
	TRACER_UNTRIED,
	TRACER_ON,
	TRACER_OFF,   /* see the reason */
	TRACER_TAKEN, /* another tool holds CUPTI */
};

/*
 * Loads CUPTI, subscribes, enables what we record. Called once in a process, on the thread that makes the first CUDA call (normally
 * inside cuInit). Undoes all on failure. Any failure leaves the program untouched.
 */
void tracer_start(const char *wanted_library);

/* Do not use CUPTI, and why. */
void tracer_refuse(const char *reason);

enum tracer_state tracer_state(void);

/* Words for `meta`: why it is off, or what is missing although it is on; "" when all is well. */
const char *tracer_reason(void);

/* Changes when state or reason do; 0 before the first. Writer thread. */
unsigned tracer_news(void);
const char *tracer_path(void);
uint32_t tracer_version(void);

/* CUPTI's clock now, 0 when off. Any thread. */
uint64_t tracer_timestamp(void);

/* A row of table `clock`: the three clocks read together. Any thread. */
void tracer_read_clocks(uint64_t row[5], enum bst_enum when);

/* Writer thread: asks CUPTI for completed buffers (`forced`: unfinished work too), decodes what is ready. */
void tracer_flush(bool forced);
void tracer_drain(struct output *output);

/* Stops callbacks and activities without finalizing CUPTI. Writer thread. */
void tracer_stop(void);

/* Says so, once, if a profiler came into the program that cannot share CUPTI with us (rival.h). Writer thread. */
void tracer_notice_rival(void);

/*
 * So many launches were seen by CUPTI's callbacks and succeeded, `at_end` after the last flush: if none of the later ones came with a
 * buffer, a profiler that looks CUPTI up by handle has taken the records, and the state is TRACER_TAKEN. Writer thread.
 */
void tracer_watch(uint64_t launches, bool at_end);

/* Nothing is drained any more: buffers are the application's profiler's alone. Writer thread, last. */
void tracer_end(void);

/* In a forked child. */
void tracer_forget(bool parent_used_cuda);

#endif
