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

/* Fills `report` (zeroed) from the trace. *note gets words for all but PROCESS_WHOLE, to be freed;
 * NULL without memory. */
enum process_status process_analyze(const char *path, struct process_report *report, char **note);

#endif
