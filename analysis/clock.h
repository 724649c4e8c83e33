/* From the device's clock to the host's, by the readings that the trace took of both. */
#ifndef CLOCK_H
#define CLOCK_H

#include "vocabulary.h"

/* One straight piece: host = host_ns + (1 + drift) * (device - device_ns), from device_ns up to the
 * next piece. */
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
 * Builds the conversion; -1 without memory. Without any reading clock->count is 0 and times are
 * left as they are: they cannot be compared with the host's. A jump of the device's clock between
 * two readings is spread between them (FORMAT.md section 5); where it went back, the readings that
 * exist twice are taken as those after the jump. Where the recorder says that the clock was changed
 * for another, by more than a day, each one's times are converted by its own readings.
 */
int clock_init(struct clock *clock, const struct clock_row *rows, size_t count);
void clock_fini(struct clock *clock);

/* The piece that was used last; zeroed at the start. Times from `from_ns` up to `span_ns` behind it
 * need no search. */
struct clock_cursor {
	uint64_t from_ns;
	uint64_t span_ns;
	uint64_t offset_ns; /* host - device at from_ns, modulo 2^64 */
	double drift;
};

/* For times that the cursor does not cover. */
uint64_t clock_host_far(const struct clock *clock, uint64_t device_ns, struct clock_cursor *cursor);

/*
 * Converts one time. *cursor makes the next, near one fast. Never wraps: stops at 0 and UINT64_MAX.
 * Never goes back where the device's time does not, but from one clock to another.
 */
static inline uint64_t clock_host(const struct clock *clock, uint64_t device_ns,
				  struct clock_cursor *cursor)
{
	uint64_t delta = device_ns - cursor->from_ns;

	if (delta >= cursor->span_ns)
		return clock_host_far(clock, device_ns, cursor);
	return device_ns + cursor->offset_ns + (uint64_t)(int64_t)(cursor->drift * (double)delta);
}

#endif
