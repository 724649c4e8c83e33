/* Losses and holes as one sorted list. */
#include "blind.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

static int add(struct blind *blind, uint64_t begin_ns, uint64_t end_ns, uint32_t thread)
{
	if (array_reserve((void **)&blind->stretch, &blind->capacity, blind->count + 1,
			  sizeof(*blind->stretch)))
		return -1;
	blind->stretch[blind->count++] = (struct blind_stretch){
		.begin_ns = begin_ns < end_ns ? begin_ns : end_ns,
		.end_ns = begin_ns < end_ns ? end_ns : begin_ns,
		.thread = thread,
	};
	return 0;
}

/* Losses that leave the timeline whole: the row is there, or a name is missing. */
static bool harmless(unsigned cause)
{
	return cause == BST_ENUM_LOSS_TIME_INVALID || cause == BST_ENUM_LOSS_DICTIONARY_FULL ||
	       cause == BST_ENUM_LOSS_UNFINISHED;
}

static int by_begin(const void *a, const void *b)
{
	const struct blind_stretch *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

int blind_init(struct blind *blind, const struct trace *trace, const struct clock *clock)
{
	const struct vocabulary *v = &trace->vocabulary;
	uint64_t reach = 0;
	struct clock_cursor cursor = {0};

	memset(blind, 0, sizeof(*blind));
	for (size_t i = 0; i < v->loss_count; i++) {
		const struct loss_row *loss = &v->loss[i];
		uint32_t at, thread = 0;

		if (harmless(loss->cause) || !loss->count)
			continue;
		if (dict_find(&v->threads, loss->thread, &at))
			thread = at + 1;
		if (add(blind, loss->begin_ns, loss->end_ns, thread))
			return -1;
	}
	for (size_t i = 0; i < trace->hole_count; i++) {
		const struct trace_hole *hole = &trace->hole[i];
		uint64_t begin = hole->begin_ns, end = hole->end_ns;

		if (hole->table != BST_TABLE_CALL) {
			begin = clock_host(clock, begin, &cursor);
			end = clock_host(clock, end, &cursor);
		}
		if (add(blind, begin, end, 0))
			return -1;
	}
	if (blind->count)
		qsort(blind->stretch, blind->count, sizeof(*blind->stretch), by_begin);
	for (size_t i = 0; i < blind->count; i++) {
		if (blind->stretch[i].end_ns > reach)
			reach = blind->stretch[i].end_ns;
		blind->stretch[i].reach_ns = reach;
	}
	return 0;
}

void blind_fini(struct blind *blind)
{
	free(blind->stretch);
	memset(blind, 0, sizeof(*blind));
}

/* Number of stretches that begin before `end_ns`. */
static size_t begun(const struct blind *blind, uint64_t end_ns)
{
	size_t low = 0, high = blind->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blind->stretch[middle].begin_ns < end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool blind_between_any(const struct blind *blind, uint64_t begin_ns, uint64_t end_ns,
		       uint32_t thread)
{
	for (size_t i = begun(blind, end_ns); i-- > 0;) {
		const struct blind_stretch *s = &blind->stretch[i];

		if (s->reach_ns <= begin_ns)
			return false;
		if (s->end_ns > begin_ns && (!s->thread || s->thread == thread))
			return true;
	}
	return false;
}

uint64_t blind_intact(const struct blind *blind, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t at = begin_ns, intact = 0;

	for (size_t i = 0; i < blind->count && at < end_ns; i++) {
		const struct blind_stretch *s = &blind->stretch[i];
		uint64_t begin = s->begin_ns < end_ns ? s->begin_ns : end_ns;

		if (begin > at)
			intact += begin - at;
		if (s->end_ns > at)
			at = s->end_ns;
	}
	return at < end_ns ? intact + (end_ns - at) : intact;
}
