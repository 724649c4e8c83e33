/* From what a device's time was by range to the tree of the report. */
#ifndef SUMMARY_RANGES_H
#define SUMMARY_RANGES_H

#include "account.h"

/* Of a finished account; without ranges, or memory, the report stays zeroed. */
void summary_ranges(const struct vocabulary *vocabulary, const struct account *account,
		    struct ranges_report *report);

#endif
