/* Synthetic timelines whose answers are known: kernels, and what counters would have shown. */
#ifndef TESTS_UNIT_ATTRIBUTE_SCENE_H
#define TESTS_UNIT_ATTRIBUTE_SCENE_H

#include <stdbool.h>

#include "analysis/attribute.h"

/* Metrics of every scene. */
enum {
	SCENE_TENSOR, /* % of peak */
	SCENE_ACTIVE, /* %: 100 while any kernel runs, less for kernels that say so */
	SCENE_WRITES, /* bytes */
	SCENE_METRICS,
};

#define SCENE_PEAK 4800.0 /* bytes per ns */

struct scene_kernel {
	uint32_t signature, shape;
	uint64_t stream, begin_ns, end_ns;
	double value[SCENE_METRICS]; /* of this launch: %, %, bytes per ns */
};

struct scene {
	uint64_t state; /* of the random numbers */
	struct scene_kernel *kernel;
	size_t kernels, kernel_capacity;
	struct attribute_sample *sample;
	size_t samples, sample_capacity;
	double spread;     /* of launches: standard deviation, of the value */
	double noise;      /* of a sample, of the scale */
	double tail_share; /* of a kernel's writes that come after its end */
	double tail_ns;    /* in this time */
	int64_t offset_ns; /* samples' clock is ahead of the kernels' */
	uint64_t now_ns;   /* where scene_run puts the next kernel */
};

void scene_init(struct scene *s, uint64_t seed);
void scene_fini(struct scene *s);

double scene_random(struct scene *s); /* 0..1 */
double scene_normal(struct scene *s);

/* A kernel on stream 0 at now_ns, which moves to its end. */
void scene_run(struct scene *s, uint32_t signature, double ns, double tensor, double writes);
void scene_idle(struct scene *s, double ns);
/* A kernel anywhere. */
void scene_add(struct scene *s, const struct scene_kernel *kernel);

/* Samples from `begin_ns` to the end of the last kernel, without gaps; a first one that spans ten
 * lengths. */
void scene_sample(struct scene *s, uint64_t begin_ns, double interval_ns);

/* The mean over all launches by time. */
double scene_truth(const struct scene *s, uint32_t signature, unsigned metric);

/* Options for the scenes' metrics, without widening. */
struct attribute_options scene_options(void);

/* All kernels and samples in, solved; signatures are renamed by `rename` where it is given. */
struct attribute *scene_solve(const struct scene *s, const struct attribute_options *options,
			      const uint32_t *rename);

#endif
