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
	enum evidence
		evidence; /* behind them: counters or library; anything else where none is known */
	struct measure waves;    /* blocks over what the device holds at once */
	struct measure coverage; /* blocks over SMs */
	double duration_ns;      /* mean; 0 = unknown */
	double floor_ns;         /* the launch floor of this device */
	enum leaf prior;         /* what the name suggests; LEAF_UNKNOWN = nothing */
	double prior_confidence;
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

struct decision decide(const struct decide_input *input);

/*
 * Kernels that run at the same time: utilisations add up to at most 100 and waves add up. What any
 * of them does not know, the sum does not know. `sum` starts as the first kernel's input.
 */
void decide_add(struct decide_input *sum, const struct decide_input *kernel);

#endif
