/* Which process and device of one report stand against which of another. */
#ifndef PAIRING_H
#define PAIRING_H

#include "report.h"

struct pairing {
	const struct process_report *process_a, *process_b;
	const struct device_report *device_a, *device_b;
};

struct pairing_list {
	struct pairing *pair; /* owned; points into the reports */
	size_t count;
	/* Processes and devices that found no partner. */
	size_t alone_a, alone_b;
};

/*
 * Processes of the same rank, else of the same command line, else in the order in which they come;
 * within them devices of the same index, or the only ones. -1 without memory. Frees with
 * pairing_fini.
 */
int pairing_make(const struct report *a, const struct report *b, struct pairing_list *list);
void pairing_fini(struct pairing_list *list);

#endif
