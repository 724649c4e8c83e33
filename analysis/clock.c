/* Piecewise linear conversion between clocks. */
#include "clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two readings can only disagree more where one is nonsense; products with times stay far from
 * overflow. */
#define DRIFT_MOST 256.0

static int by_host(const void *a, const void *b)
{
	const struct clock_row *x = a, *y = b;

	if (x->host_ns != y->host_ns)
		return x->host_ns < y->host_ns ? -1 : 1;
	return (x->device_ns > y->device_ns) - (x->device_ns < y->device_ns);
}

/* The drift from one reading to the next; none where there is no time between them. */
static double drift_between(const struct clock_row *a, const struct clock_row *b)
{
	double device = (double)(b->device_ns - a->device_ns);

	if (b->device_ns <= a->device_ns)
		return 0;
	return fmin(((double)(b->host_ns - a->host_ns) - device) / device, DRIFT_MOST);
}

/* Appends the reading; pieces that it contradicts, because the device's clock was set back, end
 * where it begins. */
static void add_piece(struct clock *clock, const struct clock_row *row, double drift)
{
	while (clock->count && clock->piece[clock->count - 1].device_ns >= row->device_ns)
		clock->count--;
	clock->piece[clock->count++] = (struct clock_piece){row->device_ns, row->host_ns, drift};
}

int clock_init(struct clock *clock, const struct clock_row *rows, size_t count)
{
	struct clock_row *sorted;

	memset(clock, 0, sizeof(*clock));
	if (!count)
		return 0;
	sorted = malloc(count * sizeof(*sorted));
	clock->piece = malloc(count * sizeof(*clock->piece));
	if (!sorted || !clock->piece) {
		free(sorted);
		clock_fini(clock);
		return -1;
	}
	memcpy(sorted, rows, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_host);
	for (size_t i = 0; i < count; i++) {
		double drift = i + 1 < count ? drift_between(&sorted[i], &sorted[i + 1]) : 0;

		add_piece(clock, &sorted[i], drift);
		if (sorted[i].error_ns > clock->error_ns)
			clock->error_ns = sorted[i].error_ns;
	}
	free(sorted);
	return 0;
}

void clock_fini(struct clock *clock)
{
	free(clock->piece);
	memset(clock, 0, sizeof(*clock));
}

/* Last piece that begins at or before the time, or 0. */
static size_t find_piece(const struct clock *clock, uint64_t device_ns)
{
	size_t low = 0, high = clock->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (clock->piece[middle].device_ns <= device_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t add_clipped(uint64_t base, uint64_t delta)
{
	return base > UINT64_MAX - delta ? UINT64_MAX : base + delta;
}

/* Remembers a piece, as far as its arithmetic is far from overflow. */
static void point_at(const struct clock *clock, size_t at, struct clock_cursor *cursor)
{
	const struct clock_piece *p = &clock->piece[at];

	*cursor = (struct clock_cursor){.from_ns = p->device_ns};
	if (p->host_ns >> 62 || p->device_ns >> 62)
		return;
	cursor->offset_ns = p->host_ns - p->device_ns;
	cursor->drift = p->drift;
	cursor->span_ns = UINT64_C(1) << 53;
	if (at + 1 < clock->count && p[1].device_ns - p->device_ns < cursor->span_ns)
		cursor->span_ns = p[1].device_ns - p->device_ns;
}

uint64_t clock_host_far(const struct clock *clock, uint64_t device_ns, struct clock_cursor *cursor)
{
	const struct clock_piece *p;
	uint64_t delta, shift;
	size_t at;

	if (!clock->count)
		return device_ns;
	at = find_piece(clock, device_ns);
	point_at(clock, at, cursor);
	p = &clock->piece[at];
	if (device_ns < p->device_ns) {
		delta = p->device_ns - device_ns;
		return p->host_ns > delta ? p->host_ns - delta : 0;
	}
	delta = device_ns - p->device_ns;
	shift = (uint64_t)fmin(fabs(p->drift) * (double)delta, 0x1p62);
	if (p->drift >= 0)
		return add_clipped(add_clipped(p->host_ns, delta), shift);
	return add_clipped(p->host_ns, shift < delta ? delta - shift : 0);
}
