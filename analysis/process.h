/* One trace, analysed from end to end. */
#ifndef PROCESS_H
#define PROCESS_H

#include "report.h"

enum process_status {
	PROCESS_WHOLE,
	PROCESS_TORN,    /* cut off: what is there was used */
	PROCESS_DAMAGED, /* damaged inside: what is intact was used */
	PROCESS_NONE,    /* nothing to read, or no memory: there is no report */
};

/* How far a trace is analysed. */
enum process_depth {
	PROCESS_FULL,
	/* Without gap accounting and steps: idle time is unknown, the steady window is that of all
	 * activity. What those two cost is told against this (scripts/bench). */
	PROCESS_PLAIN,
};

/* Fills `report` (zeroed) from the trace. *note gets words for all but PROCESS_WHOLE, to be freed;
 * NULL without memory. */
enum process_status process_analyze(const char *path, enum process_depth depth,
				    struct process_report *report, char **note);

#endif
