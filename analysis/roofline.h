/* How near a kernel comes to what the device could do at its arithmetic intensity. */
#ifndef ROOFLINE_H
#define ROOFLINE_H

#include "ceilings.h"

struct device_report;

/* What a launch computes and moves. */
struct roofline_input {
	struct measure flops, bytes;
	double duration_ns;
	enum ceiling pipe; /* that does the arithmetic; CEILING_COUNT = not known */
};

struct roofline {
	struct measure flops_per_s, bytes_per_s;
	struct measure intensity; /* FLOPs for each byte */
	struct measure pct;       /* of the roof */
	/* The roof over this intensity: the pipe, or CEILING_DRAM_READ; CEILING_COUNT = unknown. */
	enum ceiling roof;
};

/*
 * The roofline model of Williams, Waterman and Patterson (CACM 52(4), 2009), as Nsight Compute
 * draws it: attainable = min(pipe, intensity x memory), pct = achieved / attainable. As intensity
 * is achieved FLOP/s over achieved bytes/s, that is the larger of achieved FLOP/s / pipe and
 * achieved bytes/s / memory, which needs no division by traffic that may be nothing. Bounds go
 * through interval arithmetic (measure.h).
 *
 * The ceiling of memory is that of reads, its lower bound that of reads and writes mixed: which
 * mix a kernel has is not known. Above 100 %: the bytes come from L2 (least bytes of library
 * calls), or the calibrated ceiling was beaten. Unknown where FLOPs, bytes, the pipe or a ceiling is.
 */
struct roofline roofline_of(const struct roofline_input *input, const struct ceilings *ceilings);

/* Fills every kernel's roofline from its FLOPs and bytes, by the device's `ceilings`. */
void roofline_fill(struct device_report *device);

#endif
