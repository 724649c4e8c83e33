/* Piecewise linear conversion between clocks. */
#include "clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two readings can only disagree more where one is nonsense; products with times stay far from
 * overflow. */
#define DRIFT_MOST 256.0

/*
 * A profiler in the program may give CUPTI a clock of its own (PyTorch's gives it the processor's time stamp
 * counter), and from then on all times are that clock's. Its values are far from those before.
 */
#define OTHER_CLOCK_NS (86400 * UINT64_C(1000000000))
/* Times just before a clock's first reading are its own. */
#define LEAD_NS UINT64_C(2000000000)

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

/* Appends the reading to the pieces from `first` on; those that it contradicts, because the
 * device's clock was set back, end where it begins. */
static void add_piece(struct clock *clock, size_t first, const struct clock_row *row, double drift)
{
	while (clock->count > first && clock->piece[clock->count - 1].device_ns >= row->device_ns)
		clock->count--;
	clock->piece[clock->count++] = (struct clock_piece){row->device_ns, row->host_ns, drift};
}

/* Another clock altogether, and not the same one registered again. A periodic reading may lie between
 * those before and after the change. */
static bool is_other_clock(const struct clock_row *a, const struct clock_row *b)
{
	uint64_t step = b->device_ns > a->device_ns ? b->device_ns - a->device_ns
						    : a->device_ns - b->device_ns;

	return (a->reason == BST_ENUM_CLOCK_REASON_BEFORE_CHANGE ||
		b->reason == BST_ENUM_CLOCK_REASON_AFTER_CHANGE) &&
	       step > OTHER_CLOCK_NS;
}

/*
 * The pieces of one clock: rows [from, to). It begins a little before its first reading, and goes on
 * after its last as before.
 */
static void add_clock(struct clock *clock, const struct clock_row *rows, size_t from, size_t to,
		      bool alone)
{
	size_t first = clock->count;
	double drift = 0;

	for (size_t i = from; i < to; i++) {
		drift = i + 1 < to ? drift_between(&rows[i], &rows[i + 1]) : alone ? 0 : drift;
		if (i == from && !alone) {
			uint64_t lead = rows[i].device_ns < LEAD_NS ? rows[i].device_ns : LEAD_NS;
			struct clock_row before = rows[i];
			double host = (double)lead * (1 + drift);

			before.device_ns -= lead;
			before.host_ns -= fmin(host, (double)before.host_ns);
			add_piece(clock, first, &before, drift);
		}
		add_piece(clock, first, &rows[i], drift);
	}
}

static int by_device(const void *a, const void *b)
{
	const struct clock_piece *x = a, *y = b;

	return (x->device_ns > y->device_ns) - (x->device_ns < y->device_ns);
}

/* Copies the readings of the device's clock; before CUPTI is on a row has the host's clocks alone. */
static size_t copy_readings(struct clock_row *to, const struct clock_row *rows, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (rows[i].device_ns)
			to[n++] = rows[i];
	return n;
}

int clock_init(struct clock *clock, const struct clock_row *rows, size_t count)
{
	struct clock_row *sorted;
	size_t from = 0;

	memset(clock, 0, sizeof(*clock));
	if (!count)
		return 0;
	sorted = malloc(count * sizeof(*sorted));
	clock->piece = malloc(2 * count * sizeof(*clock->piece));
	if (!sorted || !clock->piece) {
		free(sorted);
		clock_fini(clock);
		return -1;
	}
	count = copy_readings(sorted, rows, count);
	qsort(sorted, count, sizeof(*sorted), by_host);
	for (size_t i = 0; i < count; i++) {
		if (sorted[i].error_ns > clock->error_ns)
			clock->error_ns = sorted[i].error_ns;
		if (i + 1 < count && !is_other_clock(&sorted[i], &sorted[i + 1]))
			continue;
		add_clock(clock, sorted, from, i + 1, from == 0 && i + 1 == count);
		from = i + 1;
	}
	qsort(clock->piece, clock->count, sizeof(*clock->piece), by_device);
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
