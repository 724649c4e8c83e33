/* The expressions of diff --fail-if: a figure of B, or how it changed from A. */
#ifndef DIFF_FAIL_IF_H
#define DIFF_FAIL_IF_H

#include "diff.h"
#include "fail_if.h"

/*
 * "step_ms>+5%": by more than 5 % of A's; "step_ms>+0.2": by more than 0.2 ms; "overhead_pct>+3": by
 * more than 3 points. Without a sign it is B alone, as in `report`. Figures are those of `report`,
 * and for the time per step (or other unit of the comparison) kernel_ms, busy_ms, each pillar and
 * each leaf (overhead_ms, host_ms ...).
 */
enum fail_if_result diff_fail_if_check(const char *expression, struct fail_if_words *words);

/*
 * Holds if it does for at least one pair. A change of step_ms that is within noise does not hold;
 * other figures have no test and are compared as they are. A figure that is not known on both sides
 * of any pair is unknown. `report` is B's.
 */
enum fail_if_result diff_fail_if_evaluate(const char *expression, const struct diff *diff,
					  const struct report *report, const struct view *view,
					  struct fail_if_words *words);

#endif
