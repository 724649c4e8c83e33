/* Counting how often threads take turns. */
#include "stretch_chain.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define TURNS 4          /* calls of the quieter thread for each change, at least */
#define CALLS_LEAST 8    /* of a thread, to tell anything */
#define OVERLAP_MOST 100 /* one call in so many may overlap: clocks are read one after the other */

struct meeting {
	uint32_t turns, overlaps;
};

struct stretch_thread *stretch_chains_thread(struct stretch_chains *c, uint32_t thread)
{
	if (c->recent < c->count && c->thread[c->recent].thread == thread)
		return &c->thread[c->recent];
	for (size_t i = 0; i < c->count; i++)
		if (c->thread[i].thread == thread) {
			c->recent = (uint32_t)i;
			return &c->thread[i];
		}
	if (c->count == STRETCH_THREADS_MOST ||
	    array_reserve((void **)&c->thread, &c->capacity, c->count + 1, sizeof(*c->thread)))
		return NULL;
	c->recent = (uint32_t)c->count;
	c->thread[c->count] =
		(struct stretch_thread){.thread = thread, .last = STRETCH_NONE, .chain = c->recent};
	return &c->thread[c->count++];
}

void stretch_chains_fini(struct stretch_chains *c)
{
	free(c->thread);
	memset(c, 0, sizeof(*c));
}

static uint32_t index_of(struct stretch_chains *c, const struct stretch_call *call)
{
	stretch_chains_thread(c, call->thread);
	return c->recent;
}

static void count_meetings(struct stretch_chains *c, const struct stretch *s,
			   struct meeting meeting[][STRETCH_THREADS])
{
	for (size_t i = 0; i < s->call_count; i++) {
		uint32_t now = index_of(c, &s->call[i]), then;

		c->thread[now].calls++;
		if (!i)
			continue;
		then = index_of(c, &s->call[i - 1]);
		if (now == then || now >= STRETCH_THREADS || then >= STRETCH_THREADS)
			continue;
		meeting[now][then].turns++;
		meeting[now][then].overlaps += s->call[i].begin_ns < s->call[i - 1].end_ns;
	}
}

static void merge(struct stretch_chains *c, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->thread[i].chain == from)
			c->thread[i].chain = to;
}

static void merge_alike(struct stretch_chains *c, struct meeting meeting[][STRETCH_THREADS])
{
	size_t count = c->count < STRETCH_THREADS ? c->count : STRETCH_THREADS;

	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < a; b++) {
			uint32_t x = c->thread[a].calls, y = c->thread[b].calls;
			uint32_t few = x < y ? x : y;
			uint32_t turns = meeting[a][b].turns + meeting[b][a].turns;
			uint32_t overlaps = meeting[a][b].overlaps + meeting[b][a].overlaps;

			if (few >= CALLS_LEAST && turns && turns * TURNS <= few &&
			    overlaps * OVERLAP_MOST <= few)
				merge(c, c->thread[a].chain, c->thread[b].chain);
		}
}

static int link_calls(struct stretch_chains *c, struct stretch *s)
{
	uint32_t *last = malloc((c->count + 1) * sizeof(*last));

	if (!last)
		return -1;
	memset(last, 0xff, (c->count + 1) * sizeof(*last));
	for (uint32_t i = 0; i < s->call_count; i++) {
		struct stretch_call *call = &s->call[i];
		uint32_t *before = &last[c->thread[index_of(c, call)].chain];
		uint64_t from = *before == STRETCH_NONE ? 0 : s->call[*before].end_ns;

		call->before = *before;
		call->host_ns = (double)call->begin_ns - (double)from;
		*before = i;
	}
	free(last);
	return 0;
}

int stretch_chains_link(struct stretch_chains *c, struct stretch *s)
{
	struct meeting(*meeting)[STRETCH_THREADS] = calloc(STRETCH_THREADS, sizeof(*meeting));

	if (!meeting)
		return -1;
	count_meetings(c, s, meeting);
	merge_alike(c, meeting);
	free(meeting);
	return link_calls(c, s);
}
