/* The host clock. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* CLOCK_MONOTONIC through the vDSO: 20 to 25 ns, no system call, errno untouched. */
static inline uint64_t host_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
