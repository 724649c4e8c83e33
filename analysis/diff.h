/* Two runs compared, as plain data: what changed in a step, in which leaves, in which kernels. */
#ifndef DIFF_H
#define DIFF_H

#include "kernel_match.h"
#include "pairing.h"
#include "view.h"

/* What is compared: the time of what. */
enum diff_basis {
	DIFF_STEP,   /* a step, in both */
	DIFF_WINDOW, /* the windows, which launch about as many kernels or say nothing of it */
	DIFF_LAUNCH, /* DIFF_LAUNCHES kernel launches, where the windows do not hold as many */
};

#define DIFF_LAUNCHES 1000

/* One of the two: what its window comes to per unit of the basis. */
struct diff_side {
	const struct process_report *process;
	const struct device_report *device;
	const struct window *window;
	uint64_t unit_ns;             /* mean; the leaves sum to it exactly */
	uint64_t leaf_ns[LEAF_COUNT]; /* per unit */
	double typical_ns;            /* the median step; unit_ns where there are no steps */
};

struct kernel_change {
	struct kernel_match match;
	double launches_a, launches_b; /* per unit of the kernels' basis */
	double busy_a_ns, busy_b_ns;   /* per unit */
	double change_ns;              /* busy_b_ns - busy_a_ns */
	int pace;                      /* -1: a launch became faster, 1: slower, 0: neither */
	bool count_changed;            /* other launches per unit, by more than 1 % */
	bool regime_changed;           /* from one known regime to another */
};

/* Is there anything to tell of it? */
bool kernel_change_told(const struct kernel_change *change);

struct diff_pair {
	struct diff_side a, b;
	enum diff_basis basis, kernel_basis;
	bool comparable;          /* both have device times; else only notes are filled */
	bool tested;              /* the steps' spread is known on both sides */
	bool significant;         /* where tested */
	struct measure change_ns; /* of typical_ns; low and high are bounds only where tested */
	struct kernel_change *kernels; /* largest change of time first */
	size_t kernel_count;
	char **notes; /* what stands in the way of the comparison, in words */
	size_t note_count;
};

struct diff {
	struct diff_pair *pairs;
	size_t pair_count;
	size_t alone_a, alone_b; /* processes and devices without a partner */
};

/*
 * Compares b with a: -1 without memory, when nothing needs to be freed. The reports must outlive
 * the diff.
 */
int diff_make(const struct report *a, const struct report *b, const struct view *view,
	      struct diff *diff);
void diff_fini(struct diff *diff);

/* Is anything comparable at all? */
bool diff_comparable(const struct diff *diff);

/* b's time over a's: 2 for twice as long. 0 where unknown. */
double diff_ratio(const struct diff_pair *pair);

/* Of a window per `units` (`scale` of them), in whole ns: leaves that sum exactly to *unit_ns, by the
 * method of the largest remainders. */
void diff_apportion(const struct window *window, uint64_t units, uint64_t scale,
		    struct diff_side *side);

#endif
