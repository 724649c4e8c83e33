/* What binds a kernel: one pure function from evidence to a label, the same for our estimates and
 * for ncu's measurements. */
#ifndef DECIDE_H
#define DECIDE_H

#include "report.h"

/* Units whose utilisation is told apart; each stands for a leaf. */
enum unit {
	UNIT_COMPUTE, /* the busiest arithmetic pipe: tensor, fma, alu, fp64 */
	UNIT_DRAM,
	UNIT_L2,
	UNIT_L1,   /* L1 and shared memory */
	UNIT_LINK, /* PCIe or NVLink */
	UNIT_COUNT,
};

struct decide_input {
	struct measure unit_pct[UNIT_COUNT]; /* of peak sustained, elapsed */
	/* Behind them: counters; library; geometry, of DRAM alone; anything else where none is
	 * known. */
	enum evidence evidence;
	struct measure waves;    /* blocks over what the device holds at once */
	struct measure coverage; /* blocks over SMs */
	double duration_ns;      /* mean; 0 = unknown */
	double floor_ns;         /* the launch floor of this device */
	enum leaf prior;         /* what the name suggests; LEAF_UNKNOWN = nothing */
	double prior_confidence; /* 0: such kernels only lean to it */
	bool cached; /* L2 can hold all that it moves, and has it from the kernels before */
	bool collective;
};

struct decision {
	enum regime regime;
	enum leaf leaf;
	enum leaf
		leans; /* of a kernel that keeps no unit busy: its busiest one; else LEAF_UNKNOWN */
	double confidence;
	enum evidence evidence;
};

/*
 * The launch floor until a calibration gives it: what one null-kernel launch costs on an H200, 3.0
 * to 3.5 us (DESIGN section 2). In the BERT run measured with ncu (data/h200-bert) no kernel below
 * three times this kept any unit at 60 %.
 */
#define DECIDE_FLOOR_NS 3000.0

/*
 * Counters and library calls tell utilisations, and the thresholds of decide.c apply. Without them:
 *
 *   underfilled   fewer than 60 % of the SMs have a block, or it is shorter than three launch floors;
 *                 also waves < 1, unless such kernels lean to compute or cache: a GEMM of one block
 *                 on 0.97 of the SMs may be at its peak
 *   dram          the bytes that the geometry tells make 60 % of peak: surely, if even after all
 *                 hits that L2 can hold; else by the mean, if L2 does not hold all of them
 *   latency       they make less, and it fills the device; or L2 has all that it can move. Nothing
 *                 says that L1 or an arithmetic pipe is not busy, and pointwise kernels are not known
 *                 to be bound by them (H200: 65 % at most, by index arithmetic)
 *   the prior     what kernels of its family measured on this architecture (kernel_prior.h)
 *   unknown       everything else
 *
 * Confidence is at most 0.7 by geometry and 0.4 by a prior. It is at most 0.5 within 3 points of a
 * threshold, and where any unit alone, moved to either end of its interval and 3 points further,
 * would change the label.
 */
struct decision decide(const struct decide_input *input);

/*
 * Kernels that run at the same time: utilisations add up to at most 100 and waves add up. What any
 * of them does not know, the sum does not know. `sum` starts as the first kernel's input.
 */
void decide_add(struct decide_input *sum, const struct decide_input *kernel);

#endif
