/* A list of open ranges for each thread, and a ring of all that were opened lately. */
#include "ranges.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* A domain whose name the trace does not tell: not the default one. */
#define DOMAIN_UNKNOWN UINT32_MAX

struct ranges *ranges_create(const struct vocabulary *v)
{
	struct ranges *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->vocabulary = v;
	r->thread_count = (size_t)v->threads.count + 1;
	r->thread = calloc(r->thread_count, sizeof(*r->thread));
	r->instance = calloc(RANGES_KEPT, sizeof(*r->instance));
	r->started = calloc(RANGES_KEPT, sizeof(*r->started));
	if (r->thread && r->instance && r->started && range_tree_init(&r->tree) == 0)
		return r;
	ranges_destroy(r);
	return NULL;
}

void ranges_destroy(struct ranges *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->thread && i < r->thread_count; i++)
		free(r->thread[i].open);
	free(r->thread);
	free(r->instance);
	free(r->started);
	range_tree_fini(&r->tree);
	free(r);
}

static uint32_t next_serial(struct ranges *r)
{
	if (!++r->serial)
		r->serial = 1;
	return r->serial;
}

/* Puts an open range into its place in the tree: inside the one before it in the list. */
static void place(struct ranges *r, struct thread_ranges *t, size_t at)
{
	struct open_range *range = &t->open[at];
	const struct open_range *around = at ? &t->open[at - 1] : NULL;

	range->node = range_tree_open(&r->tree, around ? around->node : RANGE_OUTSIDE,
				      range->domain, range->name);
	range->serial = next_serial(r);
	r->instance[range->serial % RANGES_KEPT] = (struct range_instance){
		.serial = range->serial,
		.parent = around ? around->serial : 0,
		.node = range->node,
	};
}

static uint32_t domain_of(const struct vocabulary *v, uint64_t handle)
{
	uint32_t at;

	if (!handle)
		return 0;
	/* FORMAT.md, `range`: the low half of the handle's value is the name. */
	if (!dict_find(&v->handles, handle, &at) ||
	    !dict_find(&v->strings, (uint32_t)v->handle[at], &at))
		return DOMAIN_UNKNOWN;
	return at + 1;
}

static void open_range(struct ranges *r, struct thread_ranges *t, const struct range_event *event)
{
	struct open_range range = {.domain = domain_of(r->vocabulary, event->domain),
				   .name = event->name};

	if (event->kind == BST_ENUM_RANGE_KIND_START) {
		range.id = event->id;
		r->started[event->id % RANGES_KEPT] =
			(struct started_range){event->id, event->thread};
	}
	t->any = true;
	if (t->count == RANGES_OPEN ||
	    array_reserve((void **)&t->open, &t->capacity, t->count + 1, sizeof(*t->open))) {
		t->beyond += !range.id;
		r->tree.crowded++;
		return;
	}
	t->open[t->count] = range;
	place(r, t, t->count++);
}

/* Takes a range out of the list; those inside it move up. */
static void close_range(struct ranges *r, struct thread_ranges *t, size_t at)
{
	memmove(&t->open[at], &t->open[at + 1], (--t->count - at) * sizeof(*t->open));
	for (; at < t->count; at++)
		place(r, t, at);
}

/* The last one pushed in the domain. */
static void pop(struct ranges *r, struct thread_ranges *t, uint32_t domain)
{
	if (t->beyond) {
		t->beyond--;
		return;
	}
	for (size_t i = t->count; i-- > 0;) {
		if (t->open[i].id || t->open[i].domain != domain)
			continue;
		close_range(r, t, i);
		return;
	}
}

static void end(struct ranges *r, uint64_t id)
{
	const struct started_range *started = &r->started[id % RANGES_KEPT];
	struct thread_ranges *t = &r->thread[started->thread];

	if (!id || started->id != id)
		return;
	for (size_t i = t->count; i-- > 0;) {
		if (t->open[i].id != id)
			continue;
		close_range(r, t, i);
		return;
	}
}

void ranges_take(struct ranges *r, const struct range_event *event)
{
	struct thread_ranges *t = &r->thread[event->thread];

	switch (event->kind) {
	case BST_ENUM_RANGE_KIND_PUSH:
	case BST_ENUM_RANGE_KIND_START:
		open_range(r, t, event);
		break;
	case BST_ENUM_RANGE_KIND_POP:
		pop(r, t, domain_of(r->vocabulary, event->domain));
		break;
	case BST_ENUM_RANGE_KIND_END:
		end(r, event->id);
		break;
	default:
		break;
	}
}

struct range_at ranges_at(const struct ranges *r, uint32_t thread)
{
	const struct thread_ranges *t = &r->thread[thread];
	struct range_at at = {thread && !t->any ? RANGE_STRANGER : RANGE_OUTSIDE, 0};

	if (t->count)
		at = (struct range_at){t->open[t->count - 1].node, t->open[t->count - 1].serial};
	return at;
}

struct range_instance *ranges_instance(struct ranges *r, uint32_t serial)
{
	struct range_instance *instance = &r->instance[serial % RANGES_KEPT];

	return serial && instance->serial == serial ? instance : NULL;
}
