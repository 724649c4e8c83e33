/* Kernels by what they do: how much of the arithmetic, and how much of the time, each class has. */
#ifndef CLASSES_H
#define CLASSES_H

#include <stdint.h>

#include "measure.h"

struct device_report;

/*
 * After table 1 of Ivanov et al., "Data Movement Is All You Need" (2021): in BERT, tensor
 * contractions are 99.8 % of the FLOPs and 61 % of the time. The class of a kernel is that of its
 * category (kernel_kind.def).
 */
enum kernel_class {
	CLASS_CONTRACTION,   /* matrix products, convolutions, attention */
	CLASS_NORMALISATION, /* normalisation, softmax, other reductions */
	CLASS_POINTWISE,     /* element by element: activations, dropout, copies, optimizers */
	CLASS_REST,
	CLASS_COUNT
};

struct class_report {
	uint64_t launches;
	uint64_t time_ns;  /* busy, as in kernel_report: classes sum to the kernels' time */
	double time_share; /* of the time of all kernels, 0..1 */
	/* Of the kernels that they are known of, over the window; unknown if there are none. */
	struct measure flops, bytes;
	/* The shares of its time in kernels whose FLOPs, and bytes, are known: 0..1. */
	double known_share, bytes_known_share;
	struct measure flops_share; /* of all FLOPs that are known, 0..1 */
};

/* "contraction", and "matrix products, convolutions"; static. */
const char *class_name(enum kernel_class class);
const char *class_words(enum kernel_class class);

/* Fills the device's classes from its kernels. */
void classes_fill(struct device_report *device);

/* The share of the time of all kernels in those whose FLOPs are known, 0..1. */
double classes_known_share(const struct device_report *device);

#endif
