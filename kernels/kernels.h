/* The micro-kernels: each saturates one unit of the GPU, or none on purpose. kernels.def lists
 * them. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdbool.h>

#include "kernels/work.h"

struct micro_kernel {
	const char *name;
	const char *saturates;
	const char *metric;
	const char *leaf;
	const char *blind;
	const char *sized;
	/* Allocates, fills and poisons; sets the geometry and what a launch moves or computes. */
	void (*prepare)(struct work *work);
	/* Enqueues one launch on the default stream. */
	void (*launch)(const struct work *work);
	/* After the last launch ended: did work->launches launches leave what they must? */
	bool (*check)(const struct work *work);
};

#define KERNEL(name, saturates, metric, leaf, blind, sized)                                        \
	void name##_prepare(struct work *work);                                                    \
	void name##_launch(const struct work *work);                                               \
	bool name##_check(const struct work *work);
#include "kernels/kernels.def"
#undef KERNEL

/* Ends with an entry whose name is NULL. */
extern const struct micro_kernel micro_kernels[];

/* NULL if there is none of this name. */
const struct micro_kernel *micro_kernel_find(const char *name);

/* Launches once and counts it. Exits with a sentence on stderr when CUDA refuses. */
void micro_kernel_launch(const struct micro_kernel *kernel, struct work *work);

#endif
