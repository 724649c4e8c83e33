/* Means of outliers less means of steps, operation by operation. */
#include "outlier_causes.h"

#include <string.h>

#include "summary.h"

/* Shorter ones say nothing: of the time by which outliers are longer. */
#define SHARE_LEAST 0.02

struct draft {
	struct worst_gap what; /* as gaps are named */
	bool idle;
	double more_ns;
};

struct drafts {
	struct draft draft[OUTLIER_CAUSES];
	unsigned count;
};

static void note(struct drafts *drafts, const struct draft *draft)
{
	unsigned at = drafts->count;

	if (draft->more_ns <= 0 ||
	    (at == OUTLIER_CAUSES && draft->more_ns <= drafts->draft[at - 1].more_ns))
		return;
	if (at == OUTLIER_CAUSES)
		at--;
	else
		drafts->count++;
	for (; at > 0 && drafts->draft[at - 1].more_ns < draft->more_ns; at--)
		drafts->draft[at] = drafts->draft[at - 1];
	drafts->draft[at] = *draft;
}

/* Both kinds of one operation: in the steady window and in outliers. */
static void note_both(struct drafts *drafts, const struct worst_gap *what,
		      const struct op_time *steady, const struct op_time *outlier,
		      const struct steps *steps)
{
	double n = (double)steps->outlier_count, steps_n = (double)steps->count;
	const struct draft busy = {
		*what, false, (double)outlier->busy_ns / n - (double)steady->busy_ns / steps_n};
	const struct draft idle = {
		*what, true, (double)outlier->idle_ns / n - (double)steady->idle_ns / steps_n};

	note(drafts, &busy);
	note(drafts, &idle);
}

static double longer_by(const struct account *a, const struct steps *steps)
{
	return (double)a->outlier_sum_ns / (double)steps->outlier_count -
	       (double)a->steady_window.window_ns / (double)steps->count;
}

void outlier_causes_fill(const struct vocabulary *v, const struct account *a, struct steps *steps)
{
	struct drafts drafts = {.count = 0};

	if (!steps->count || !steps->outlier_count)
		return;
	for (size_t i = 0; i < a->label_count; i++) {
		const struct kernel_stat *k = &a->kernel[i];

		note_both(&drafts,
			  &(struct worst_gap){.before = GAP_BEFORE_KERNEL, .what = (uint32_t)i},
			  &(struct op_time){k->busy_ns, k->idle_ns}, &k->outlier, steps);
	}
	for (unsigned i = 0; i < a->copy_count; i++) {
		const struct copy_stat *c = &a->copy[i];

		note_both(&drafts, &(struct worst_gap){.before = GAP_BEFORE_COPY, .what = c->kind},
			  &(struct op_time){c->exposed_ns, c->idle_ns}, &c->outlier, steps);
	}
	for (unsigned i = 0; i < drafts.count; i++) {
		const struct draft *draft = &drafts.draft[i];

		if (draft->more_ns < SHARE_LEAST * longer_by(a, steps))
			break;
		steps->cause[steps->cause_count++] = (struct outlier_cause){
			summary_gap_words(v, &draft->what), draft->idle, draft->more_ns};
	}
}
