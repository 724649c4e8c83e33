/* The repeating steps of a run, found in the kernels of one device. */
#ifndef STEPS_H
#define STEPS_H

#include "anchor.h"
#include "layers.h"
#include "report.h"

struct interval {
	uint64_t begin_ns;
	uint64_t end_ns;
};

/* Steps of the stretch that stands for all of them, at most, and its kernels, about. */
#define STEP_MARKS 33
#define STEP_MARK_KERNELS 40000

struct step_list {
	struct interval *interval; /* of accepted steps, adjacent ones merged, in order; owned */
	size_t interval_count;
	struct interval *outlier; /* of those set apart behind the warm-up, likewise; owned */
	size_t outlier_intervals;
	uint64_t count;         /* accepted */
	uint64_t warmup_count;  /* before the first steady one */
	uint64_t outlier_count; /* behind it and not accepted: other content, or much longer or
				   shorter */
	uint64_t median_ns, low_ns, high_ns; /* of accepted steps: 50, 10 and 90 % */
	unsigned batch_count;                /* as struct steps */
	uint64_t batch_ns[STEP_BATCHES];
	double kernels;
	const char *detected_by;
	/* Begins of consecutive accepted steps whose mean length is the nearest to the median: one
	 * mark more than there are steps; fewer than three = none. */
	unsigned mark_count;
	uint64_t mark_ns[STEP_MARKS];
	struct anchor anchor;
	unsigned
		layers; /* that a step has, by what is told apart from its kernels; 0 = not known */
	/* Where to look whether steps are layers: none if they are too long for it. */
	struct layer_sample sample[LAYER_SAMPLES];
	unsigned sample_count;
};

/*
 * Finds steps: from one occurrence of the anchor (anchor.h) to the next. True, with *list filled,
 * if at least STEPS_LEAST are alike and they make up a good part of the run: a quarter of
 * `activity_ns` or half of the kernels, and two fifths of the time from first to last. If the
 * kernels of all streams together do not repeat, those of the busiest stream may.
 *
 * Warm-up: all before the first five accepted steps in a row. Outliers: longer or shorter than the
 * median by more than half of it and by more than eight robust standard deviations (1.4826 MAD), or
 * of other content. If more than a fifth are of another length only, length is no exception here and they stay.
 */
#define STEPS_LEAST 4

bool steps_find(const struct sequence *sequence, const struct vocabulary *vocabulary,
		uint64_t activity_ns, struct step_list *list);
void steps_fini(struct step_list *list);

/* Kernels of a layer, at most. */
#define LAYER_KERNELS_MOST 64

/* Takes passes of so many layers as the steps, in place of the layers that were found. Where passes
 * are not what the run is about, the layers stay. */
void steps_join(const struct sequence *sequence, const struct vocabulary *vocabulary,
		uint64_t activity_ns, const struct layers *layers, struct step_list *list);

#endif
