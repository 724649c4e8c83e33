/* Where a kernel that was traced on one GPU would stand on another: a prediction, from its arithmetic intensity and both roofs. */
#ifndef PROJECTION_H
#define PROJECTION_H

#include "ceilings.h"

struct device_report;
struct kernel_report;

struct projection {
	bool known;
	enum ceiling here, there; /* the roof over its intensity: its pipe, or CEILING_DRAM_READ */
	struct measure time;      /* there, over its time here */
};

/*
 * The kernel is taken to do the same FLOPs, move the same bytes and come as near to its roof. With
 * the roof's time per byte t(I) = max(I / pipe, 1 / memory) at intensity I, it takes t_there(I) / t_here(I)
 * times as long: from memory_here / memory_there where I is small, monotonous to
 * pipe_here / pipe_there where it is large, so that the bounds of I bound it. The label says on which side of the
 * ridge here I lies, whatever FLOPs by counters (upper limits, docs/roofline.md) would make of it. Ceilings are
 * those of data sheets (ceilings_derive), as values.
 *
 * Unknown for kernels that stand under neither roof here (labelled neither compute nor dram: another GPU's
 * caches, size and latency decide then), whose bytes are not known, or whose pipe the other GPU lacks.
 */
struct projection projection_of(const struct kernel_report *kernel, const struct ceilings *here,
				const struct ceilings *there);

/* Of all kernels of a device: what is predicted at all, and of that. */
struct projection_sum {
	double covered;      /* share 0..1 of the kernels' time that is predicted */
	double moved;        /* share of that whose roof is another one there */
	struct measure time; /* that time there, over here; unknown where nothing is covered */
};

struct projection_sum projection_sum(const struct device_report *device,
				     const struct ceilings *there);

/* Intensity at which the pipe's roof meets memory's, FLOP/B. Unknown where one is. */
struct measure projection_ridge(const struct ceilings *ceilings, enum ceiling pipe);

#endif
