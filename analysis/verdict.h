/* From the leaves of a window to one answer in plain words. */
#ifndef VERDICT_H
#define VERDICT_H

#include "report.h"

/*
 * The answer for a window: the pillar with the largest share of the window, own cost taken out, if
 * it leads the next by VERDICT_LEAD; else mixed. Unknown if no pillar reaches the share that is not
 * known, or VERDICT_LEAST of the time. Where `other` is the largest (kernels that keep nothing
 * busy, operations held by other devices), no pillar binds: mixed, with the leaf that does.
 * `busy_confidence` is the mean confidence in the labels of kernels; idle time is measured, and
 * trusted at 0.9.
 *
 * Withheld (unknown) where our own cost is VERDICT_TRACING of the window or more, is more than all the
 * idle time that is left beside it, and the answer hangs on it: an idle leaf leads, or overhead would
 * if that cost were not ours.
 *
 * `per_step`: the sentence speaks of each step. The sentence is NULL without memory.
 */
#define VERDICT_COVERAGE 0.80
#define VERDICT_TRACING 0.10
#define VERDICT_LEAD 0.10
#define VERDICT_LEAST 0.25

struct verdict verdict_of(const struct window *window, double busy_confidence, bool per_step);

/*
 * Replaces the verdict by unknown, with the reason, where less than VERDICT_COVERAGE of the records that belong to the time reported
 * were kept (coverage.kept_share).
 */
void verdict_withhold(struct verdict *verdict, double kept_share);

/* The answer over all devices of all processes: windows weigh by their length. Withheld where it is for one of them for lack of coverage. */
struct verdict verdict_over(const struct report *report);

#endif
