/*
 * Hardware counters: samples of the GPU's performance monitors in bursts, beside the program,
 * within a budget of CPU time. Ends for good at the first refusal, with the reason in the trace.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"

enum counters_mode {
	COUNTERS_AUTO, /* in bursts, where permitted and free */
	COUNTERS_ON,   /* the same, and loud if not */
	COUNTERS_OFF,
};

/* Says how; before sampler_start. */
void sampler_configure(enum counters_mode mode, uint64_t interval_ns);

/* Sampling is wanted with the CUPTI that is loaded (its dlopen handle). Once; no effect when off.
 * Only looks functions up. */
void sampler_start(void *libcupti);

/* There is no CUPTI to sample with. */
void sampler_refused(const char *why);

/* Something is launched on this device: worth sampling. Any thread; a look at one word as a rule.
 */
void sampler_saw_launch(uint32_t device);

/* Starts the thread once there is something to sample. Writer thread, now and then. */
void sampler_tend(void);

/* Rows of metric, sample and burst that wait. Writer thread. */
void sampler_drain(struct output *output);

/* Asks for the end of the burst in progress and of the thread, and returns at once. Any thread.
 */
void sampler_end(void);

/* Waits for it, at most 1.5 s from when it was asked for: true when the thread has ended.
 * Any thread. */
bool sampler_await(void);

/* A row for the burst that was waited for in vain. Writer thread. */
void sampler_give_up(struct output *output);

/* In a forked child. */
void sampler_forget(void);

#endif
