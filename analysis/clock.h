/* From the device's clock to the host's, by the readings that the trace took of both. */
#ifndef CLOCK_H
#define CLOCK_H

#include "vocabulary.h"

/* One straight piece: host = host_ns + (1 + drift) * (device - device_ns), from device_ns up to the next piece. */
struct clock_piece {
	uint64_t device_ns;
	uint64_t host_ns;
	double drift;
};

struct clock {
	struct clock_piece *piece; /* by device_ns */
	size_t count;
	uint64_t error_ns; /* the largest that the recorder states */
};

/*
 * Builds the conversion; -1 without memory. Without any reading clock->count is 0 and times are left as they are: they cannot
 * be compared with the host's. A jump of the device's clock between two readings is spread between them (FORMAT.md section 5); where it
 * went back, the readings that exist twice are taken as those after the jump.
 */
int clock_init(struct clock *clock, const struct clock_row *rows, size_t count);
void clock_fini(struct clock *clock);

/* For times that clock_host's short cut does not cover. */
uint64_t clock_host_far(const struct clock *clock, uint64_t device_ns, size_t *cursor);

/*
 * Converts one time. *cursor remembers the piece for the next, near one: start with 0. Never wraps: stops at 0 and
 * UINT64_MAX. Never goes back where the device's time does not.
 */
static inline uint64_t clock_host(const struct clock *clock, uint64_t device_ns, size_t *cursor)
{
	size_t at = *cursor;

	if (at < clock->count && device_ns >= clock->piece[at].device_ns &&
	    (at + 1 == clock->count || device_ns < clock->piece[at + 1].device_ns)) {
		const struct clock_piece *p = &clock->piece[at];
		uint64_t delta = device_ns - p->device_ns;

		if (delta < UINT64_C(1) << 53 && p->host_ns < UINT64_C(1) << 62)
			return p->host_ns + delta + (uint64_t)(int64_t)(p->drift * (double)delta);
	}
	return clock_host_far(clock, device_ns, cursor);
}

#endif
