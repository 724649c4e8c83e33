/* What the decision reads of a kernel that no counter was sampled for: from its name, its geometry
 * and the library calls that launched it. */
#ifndef ESTIMATE_H
#define ESTIMATE_H

#include "arithmetic.h"
#include "decide.h"
#include "geometry_bytes.h"

struct estimate_source {
	const struct signature *signature;
	double duration_ns; /* mean */
	const struct device_shape *shape;
	const struct device_attributes *attributes;
	const struct ceilings *peaks;
	const struct kernel_arithmetic *arithmetic; /* measures are unknown where no call tells */
	struct tensor_sizes sizes;
};

/*
 * Fills `input`, with evidence library or geometry where utilisations are known, and `bytes` that a
 * launch touches by its geometry. Pure.
 */
void estimate(const struct estimate_source *source, struct decide_input *input,
	      struct measure *bytes);

#endif
