/*
 * What each kernel does to each unit of the GPU, from samples of the whole GPU over one normal run.
 *
 * For one device: attribute_create with what is sampled. Then, in the order of begin, kernels,
 * copies and samples mixed:
 * - attribute_add_kernel for every one, also where nobody sampled: totals come from here;
 * - attribute_begin_burst before the first sample of each burst;
 * - attribute_add_sample for each sample;
 * - attribute_add_hole where records were lost: what ran there is not known.
 * Then attribute_solve, attribute_find for each signature and metric, attribute_destroy.
 *
 * Times are of one clock: kernel and sample rows of a trace share the device domain, so convert
 * both or neither. Kernels may come up to 50 us out of order against samples. Copies and sets move
 * data too: give each kind a signature of its own. Where library calls tell shapes apart, each of
 * them is solved for on its own, the first ATTRIBUTE_SHAPES of a signature; launches of one shape,
 * and those without one, are told apart by duration in here.
 *
 * One thread at a time. Memory: options.budget_bytes for samples, while aligning the clocks 8 MB,
 * and while solving 12 bytes for each pair of columns (at most 640). docs/attribution.md has the
 * method.
 */
#ifndef ATTRIBUTE_H
#define ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "align.h"

#define ATTRIBUTE_METRICS 16

/*
 * What is left of a difference to Nsight Compute when noise is out, as a share of the value and in
 * points of the scale: standard deviations. Measured on data/h200-bert: docs/attribution.md.
 */
#define ATTRIBUTE_MODEL_SHARE 0.05
#define ATTRIBUTE_MODEL_POINTS 0.01

enum attribute_kind {
	ATTRIBUTE_PERCENT, /* of peak, mean over the sample: sums over what ran */
	ATTRIBUTE_AMOUNT,  /* counted in the sample, say bytes: solved for as amount per ns */
};

struct attribute_metric {
	enum attribute_kind kind;
	double most; /* no true value is larger: 100, or the peak in amount per ns; 0 = not known */
	bool maximum; /* percent: the largest of several counters, which does not add up: what a
			 kernel does may be hidden by its neighbours, and intervals reach up to that
		       */
};

struct attribute_options {
	struct attribute_metric metric[ATTRIBUTE_METRICS];
	unsigned metrics;
	bool has_active;                  /* one metric says how active the SMs were: */
	unsigned active;                  /* which; the clocks are aligned by it */
	double model_share, model_points; /* widen the intervals: see above; 0 = noise alone */
	size_t budget_bytes;              /* 0 = 24 MiB */
};

/* Of one signature; launches of further ones are taken as of none. */
#define ATTRIBUTE_SHAPES 64

struct attribute_kernel {
	uint32_t signature;
	uint32_t shape; /* that it serves, of a library call; 0 = not known */
	uint64_t stream;
	uint64_t begin_ns;
	uint64_t end_ns;
};

struct attribute_sample {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t present; /* bit m: metric m was sampled here */
	double value[ATTRIBUTE_METRICS];
};

enum attribute_status {
	ATTRIBUTE_NONE, /* not sampled, or of this metric no sample */
	ATTRIBUTE_IDENTIFIED,
	ATTRIBUTE_MERGED, /* only the mean over a group of kernels is known: that is the value */
	ATTRIBUTE_NOT_IDENTIFIABLE, /* the value is a guess: use low and high, or nothing */
	ATTRIBUTE_CONTRADICTED, /* the samples do not fit the model: something else was running */
};

enum attribute_reason {
	ATTRIBUTE_FINE,
	ATTRIBUTE_FEW_SAMPLES,
	ATTRIBUTE_COLLINEAR, /* it runs always next to the same kernels, in the same proportion */
	ATTRIBUTE_CROWDED,   /* more signatures than are solved for, and this one is small */
	ATTRIBUTE_CLOCKS,    /* samples and kernels do not belong together */
	ATTRIBUTE_NEGATIVE,  /* the samples ask for a value below zero */
	ATTRIBUTE_OUTLIERS,  /* most of its samples are far from what the model says */
};

struct attribute_estimate {
	float value, low,
		high;       /* % of peak, or amount per ns, while the kernel runs; 90 % interval */
	float samples_full; /* its time in samples over their length: how many whole samples it had
			     */
	uint32_t samples;   /* that it ran in */
	uint16_t group;     /* of this metric; 0 = none */
	uint8_t status;     /* enum attribute_status */
	uint8_t reason;     /* enum attribute_reason */
};

/* What the solver knows of a signature apart from metrics. */
struct attribute_totals {
	uint64_t launches;
	uint64_t total_ns; /* mean duration x value = amount per launch */
};

struct attribute_summary {
	struct align align;
	uint64_t samples; /* taken */
	uint64_t kernels;
	uint64_t first_of_burst; /* dropped, as are those below */
	uint64_t bad_times;  /* no length, before or over the one before, far longer than the others
			      */
	uint64_t bad_values; /* single values: not finite, negative, beyond what can be */
	uint64_t in_holes;
	uint64_t outside; /* before the first kernel or after the last: whether something ran is not
			     known */
	uint64_t idle_samples; /* nothing of ours ran */
	double idle_active; /* mean of the active metric in those: another process, if not near 0 */
	uint64_t late_kernels;            /* out of order by too much: their samples lack them */
	unsigned thinned;                 /* one of 2^thinned samples was kept */
	double lag_ns[ATTRIBUTE_METRICS]; /* how much later than kernels a counter moves, the offset
					     apart */
	unsigned columns;                 /* solved for */
	unsigned crowded;                 /* signatures that share a column */
};

struct attribute;

/* NULL without memory. */
struct attribute *attribute_create(const struct attribute_options *options);
void attribute_destroy(struct attribute *a);

/* Each returns 0, or -1 without memory. */
int attribute_add_kernel(struct attribute *a, const struct attribute_kernel *kernel);
void attribute_begin_burst(struct attribute *a);
int attribute_add_sample(struct attribute *a, const struct attribute_sample *sample);
int attribute_add_hole(struct attribute *a, uint64_t begin_ns, uint64_t end_ns);

/* Once, after all is added. */
int attribute_solve(struct attribute *a);

/* After attribute_solve. Never NULL: unknown signatures have status ATTRIBUTE_NONE. */
const struct attribute_estimate *attribute_find(const struct attribute *a, uint32_t signature,
						unsigned metric);
struct attribute_totals attribute_totals(const struct attribute *a, uint32_t signature);

/*
 * The same of one shape that a signature serves; 0 = all its launches without one. Merged where
 * shapes alike in duration had too few samples each: the value is theirs together.
 */
const struct attribute_estimate *attribute_find_shape(const struct attribute *a, uint32_t signature,
						      uint32_t shape, unsigned metric);
struct attribute_totals attribute_totals_shape(const struct attribute *a, uint32_t signature,
					       uint32_t shape);
/* Puts the shapes of a signature, 0 among them where launches had none, in order of first launch;
 * returns how many there are. */
unsigned attribute_shapes(const struct attribute *a, uint32_t signature,
			  uint32_t shape[ATTRIBUTE_SHAPES + 1]);
struct attribute_summary attribute_summary(const struct attribute *a);

#endif
