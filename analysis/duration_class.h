/* Launches of one kernel signature that do different amounts of work, told apart by how long they
 * take. */
#ifndef DURATION_CLASS_H
#define DURATION_CLASS_H

#include <stdint.h>

#define DURATION_CLASSES 4

/* Of logarithms, 25 %. Between 15 and 30 % the result on data/h200-bert does not change. */
#define DURATION_TOLERANCE 0.22

struct duration_class {
	double log_ns; /* mean of log(duration + 1 us) */
	uint64_t launches;
	uint64_t total_ns;
};

/* Zeroed is empty. */
struct duration_classes {
	struct duration_class of[DURATION_CLASSES];
	unsigned count;
};

/*
 * Takes one launch and returns its class: the nearest one, a new one where none is within 25 % (and
 * room is left). Leader clustering, so that a class never changes its number. cuBLAS serves several
 * shapes with one kernel and grid: in data/h200-bert one GEMM runs for 10 and for 26 us, with 47
 * and 75 % of the tensor peak, next to different neighbours; with one value for both the
 * neighbours' values are wrong by up to 20 points.
 */
unsigned duration_class_add(struct duration_classes *classes, uint64_t duration_ns);

#endif
