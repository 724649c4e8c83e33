/* A ring of silences, each with what its thread was doing. */
#include "silence.h"

#include <stdlib.h>
#include <string.h>

/* Silences kept of one thread: 2 MB. */
#define SILENCES_LIMIT 65536

/* CPU clocks and wall clocks are read one after the other, and a wait does a little work too. */
#define INEXACT 0.05

void silences_fini(struct silences *s)
{
	free(s->ring);
	memset(s, 0, sizeof(*s));
}

static struct silence *silence_at(const struct silences *s, uint64_t n)
{
	return &s->ring[n & (s->capacity - 1)];
}

static int grow(struct silences *s)
{
	uint64_t capacity = s->capacity ? s->capacity * 2 : 64;
	struct silence *ring;

	if (capacity > SILENCES_LIMIT)
		return -1;
	ring = malloc(capacity * sizeof(*ring));
	if (!ring)
		return -1;
	for (uint64_t n = s->first; n < s->last; n++)
		ring[n & (capacity - 1)] = *silence_at(s, n);
	free(s->ring);
	s->ring = ring;
	s->capacity = capacity;
	return 0;
}

static void push(struct silences *s, const struct silence *silence)
{
	if (s->last - s->first == s->capacity && grow(s)) {
		if (!s->capacity)
			return;
		s->measured_ns = silence_at(s, s->first)->end_ns;
		s->first++;
	}
	*silence_at(s, s->last++) = *silence;
}

/* Do this thread's waits sleep? Judged by the waits since the last row if they tell. */
static bool waits_sleep(struct silences *s, uint64_t off_ns, uint64_t sync_ns, uint64_t silence_ns)
{
	double inexact = INEXACT * (double)sync_ns;
	bool may_spin = (double)off_ns <= (double)silence_ns + inexact;
	bool may_sleep = (double)off_ns >= (double)sync_ns - inexact;

	/* As long off the CPU as it waited: that is no accident. */
	bool equal = may_sleep && (double)off_ns <= (double)sync_ns + inexact;

	if (may_spin == may_sleep && !equal)
		return s->slept_ns > s->spun_ns;
	*(may_sleep ? &s->slept_ns : &s->spun_ns) += sync_ns;
	return may_sleep;
}

/* Is this the row after `before`, of the same thread? */
static bool follows(const struct wake *wake, const struct wake *before)
{
	return wake->begin_ns >= before->begin_ns && wake->cpu_ns >= before->cpu_ns &&
	       wake->silence_ns <= wake->begin_ns - before->begin_ns &&
	       wake->voluntary >= before->voluntary && wake->involuntary >= before->involuntary;
}

/* Pushes a silence, `off_ns` of it off the CPU and `lost` of that preempted. */
static void push_part(struct silences *s, uint64_t begin_ns, uint64_t end_ns, uint64_t off_ns,
		      double lost)
{
	struct silence silence = {begin_ns, end_ns, 0, 0};

	if (end_ns <= begin_ns)
		return;
	silence.preempted_ns = (uint64_t)((double)off_ns * lost);
	silence.blocked_ns = off_ns - silence.preempted_ns;
	push(s, &silence);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void silences_add(struct silences *s, const struct wake *wake, uint64_t sync_ns, uint64_t others_ns)
{
	const struct wake before = s->wake;
	uint64_t wall = wake->begin_ns - before.begin_ns, cpu = wake->cpu_ns - before.cpu_ns;
	uint64_t waited = sync_ns - s->sync_ns, off = wall > cpu ? wall - cpu : 0, first;
	uint64_t begin = wake->begin_ns - wake->silence_ns, middle = begin;
	double slept = (double)(wake->voluntary - before.voluntary);
	double lost = (double)(wake->involuntary - before.involuntary);
	bool usable = s->known && follows(wake, &before);

	if (!s->known)
		s->measured_ns = wake->begin_ns;
	s->known = true;
	s->wake = *wake;
	s->sync_ns = sync_ns;
	if (!usable)
		return;
	if (waited && waits_sleep(s, off, waited, wake->silence_ns))
		off = off > waited ? off - waited : 0;
	off = least(off, wake->silence_ns);
	lost = slept + lost > 0 ? lost / (slept + lost) : 0;
	if (others_ns > begin)
		middle = least(others_ns, wake->begin_ns);
	first = least(off, middle - begin);
	push_part(s, begin, middle, first, lost);
	push_part(s, middle, wake->begin_ns, off - first, lost);
}

/* First silence that ends behind `from_ns`. */
static uint64_t find_first(const struct silences *s, uint64_t from_ns)
{
	uint64_t low = s->first, high = s->last;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (silence_at(s, middle)->end_ns <= from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t share_of(uint64_t ns, double share)
{
	return (uint64_t)((double)ns * share + 0.5);
}

struct host_parts silences_split(const struct silences *s, uint64_t from_ns, uint64_t to_ns)
{
	struct host_parts parts = {0};
	uint64_t length = to_ns - from_ns, off;

	if (!s->known || from_ns < s->measured_ns) {
		uint64_t end = s->known && s->measured_ns < to_ns ? s->measured_ns : to_ns;

		parts.unmeasured_ns = end - from_ns;
		from_ns = end;
	}
	for (uint64_t n = find_first(s, from_ns); n < s->last; n++) {
		const struct silence *silence = silence_at(s, n);
		uint64_t begin = silence->begin_ns > from_ns ? silence->begin_ns : from_ns;
		uint64_t end = silence->end_ns < to_ns ? silence->end_ns : to_ns;
		double share;

		if (begin >= end)
			break;
		share = (double)(end - begin) / (double)(silence->end_ns - silence->begin_ns);
		parts.blocked_ns += share_of(silence->blocked_ns, share);
		parts.preempted_ns += share_of(silence->preempted_ns, share);
	}
	off = parts.blocked_ns + parts.preempted_ns + parts.unmeasured_ns;
	if (off > length) /* by rounding */
		parts.blocked_ns -=
			parts.blocked_ns > off - length ? off - length : parts.blocked_ns;
	off = parts.blocked_ns + parts.preempted_ns + parts.unmeasured_ns;
	parts.running_ns = length > off ? length - off : 0;
	return parts;
}
