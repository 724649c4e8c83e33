/* The NVTX ranges that each thread has open, as time goes by. */
#ifndef RANGES_H
#define RANGES_H

#include <stdbool.h>

#include "range_tree.h"
#include "timeline.h"

/* Ranges that a thread has open at one time, at most. Those beyond, as of a program that starts
 * ranges and never ends them, count as the one around them. */
#define RANGES_OPEN 256u

/* A range that was opened once: the last so many are known. */
#define RANGES_KEPT 65536u

struct range_instance {
	uint32_t serial; /* from 1 */
	uint32_t parent; /* serial; 0 = none */
	uint32_t node;
	uint64_t counted, counted_steady; /* by device: work of it in the window was seen */
};

struct open_range {
	uint32_t serial, node;
	uint32_t domain, name; /* as in struct range_node */
	uint64_t id;           /* of one that was started; 0 = pushed */
};

struct thread_ranges {
	struct open_range *open; /* innermost last */
	size_t count, capacity;
	uint64_t beyond; /* pushed behind the limit and not popped yet */
	bool any;        /* it has opened one in its life */
};

/* Who started a range, to find it when it ends: ids are counted up over all threads. */
struct started_range {
	uint64_t id;
	uint32_t thread;
};

struct ranges {
	const struct vocabulary *vocabulary;
	struct range_tree tree;
	struct thread_ranges *thread; /* by thread as in struct call */
	size_t thread_count;
	struct range_instance *instance; /* ring, by serial */
	struct started_range *started;   /* likewise, by id */
	uint32_t serial;                 /* given last */
};

/* The innermost range that a thread has open. */
struct range_at {
	uint32_t node;
	uint32_t serial; /* 0: outside of all ranges */
};

/* NULL without memory. Keeps the vocabulary by reference. */
struct ranges *ranges_create(const struct vocabulary *vocabulary);
void ranges_destroy(struct ranges *ranges);

/*
 * Takes what a thread said, in the order of time. Pushed ranges nest within their domain; started
 * ones may overlap others and end on any thread: where a range ends that has others inside, these
 * move up to the one around it.
 */
void ranges_take(struct ranges *ranges, const struct range_event *event);

/* What the thread has open now; thread 0 is unknown. */
struct range_at ranges_at(const struct ranges *ranges, uint32_t thread);

/* The instance with this serial; NULL where it is 0 or forgotten. */
struct range_instance *ranges_instance(struct ranges *ranges, uint32_t serial);

#endif
