/*
 * Collectives over the ranks of a job: how long each rank waited in them for the slowest one, and how long data moved.
 *
 * A collective ends for all ranks at about the same time and begins when each comes to it, so the rank that came last has the shortest
 * one: what the others' take longer is waiting (as Meta's Holistic Trace Analysis and NVIDIA's NCCL documentation tell load imbalance
 * from transfer). Clocks of different hosts need not agree: only durations are compared. All ranks are taken to be of one
 * communicator, and each to have called the same collectives in the same order from its start on; where names show otherwise,
 * nothing is said.
 */
#ifndef COLLECTIVES_H
#define COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Collectives kept of one device: 96 MB. Later ones are left out of the comparison. */
#define COLLECTIVES_LIMIT (4u << 20)

struct collective_run {
	uint64_t begin_ns;
	uint64_t duration_ns;
	uint64_t name; /* hash, the same in all traces */
};

/* Those of one device, in the order of begin. Zeroed is empty. */
struct collective_list {
	struct collective_run *run;
	size_t count, capacity;
};

/* -1 without memory. */
int collectives_add(struct collective_list *list, const struct collective_run *run);
void collectives_fini(struct collective_list *list);

/* FNV-1a. */
uint64_t collectives_name(const char *name);

/* What one device of one process spent in the collectives that were compared. */
struct rank_collectives {
	size_t process, device; /* indices in the report */
	uint64_t total_ns;
	uint64_t waiting_ns; /* for the slowest rank */
};

struct collectives_report {
	bool known;
	const char *
		reason; /* why not, although several ranks ran some; static words, NULL if there is nothing to say */
	uint64_t count; /* on each rank, in the steady parts */
	struct rank_collectives *rank;
	size_t rank_count;
	size_t slowest; /* index of `rank`; rank_count: none stands out */
};

struct report;

/* Fills report->collectives from the lists of its devices. Without memory nothing is known. */
void collectives_compare(struct report *report);

#endif
