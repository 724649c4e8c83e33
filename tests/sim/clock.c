/* The clock that everything reads: the machine's own, or libsimclock.so's virtual one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim.h"

/* Below this a sleep would overshoot by more than it waits (timer slack is 50 us). */
#define SPIN_BELOW_NS 200000

const struct sim_clock *sim_clock;
static uint64_t start_ns;

static uint64_t real_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void real_enter(void)
{
}

static void real_spin_until(uint64_t when_ns)
{
	while (real_now() < when_ns)
		__builtin_ia32_pause();
}

static void real_work(uint64_t ns)
{
	if (ns)
		real_spin_until(real_now() + ns);
}

static void real_sleep_until(uint64_t when_ns)
{
	uint64_t now = real_now();

	if (when_ns > now + SPIN_BELOW_NS) {
		uint64_t ns = when_ns - now - SPIN_BELOW_NS / 2;
		struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

		while (nanosleep(&t, &t))
			;
	}
	real_spin_until(when_ns);
}

static uint64_t real_realtime(uint64_t ns)
{
	return ns;
}

static void real_step(uint64_t at_ns, int64_t delta_ns)
{
	(void)at_ns;
	(void)delta_ns;
}

static uint64_t real_origin(void)
{
	return start_ns;
}

static const struct sim_clock real_clock = {
	.now = real_now,
	.enter = real_enter,
	.work = real_work,
	.sleep_until = real_sleep_until,
	.realtime = real_realtime,
	.step = real_step,
	.origin = real_origin,
};

void sim_clock_init(void)
{
	const char *mode = getenv("SIM_CLOCK");

	start_ns = real_now();
	sim_clock = &real_clock;
	if (!mode || strcmp(mode, "virtual"))
		return;
	sim_clock = dlsym(RTLD_DEFAULT, SIM_CLOCK_SYMBOL);
	if (!sim_clock) {
		fprintf(stderr, "sim: SIM_CLOCK=virtual needs libsimclock.so in LD_PRELOAD\n");
		abort();
	}
}
