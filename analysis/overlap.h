/* What ran in each sample: two streams, kernels and samples, met as they come. */
#ifndef OVERLAP_H
#define OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How much later than a sample's end a kernel that belongs into it may still be announced. */
#define OVERLAP_SLACK_NS UINT64_C(250000)

struct overlap_kernel {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t stream;
	uint16_t column;
};

#define OVERLAP_VALUES 16
#define OVERLAP_IDLE UINT16_MAX
#define OVERLAP_SEVERAL (UINT16_MAX - 1)

struct overlap_sample {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t present;
	double value[OVERLAP_VALUES];
};

/* A sample that is complete. Shares are of its length, in the order in which the columns first ran
 * in it. */
struct overlap_row {
	const struct overlap_sample *sample;
	const uint16_t *column;
	const float *share;
	size_t count;
	double busy;           /* share in which any kernel ran */
	uint16_t first_column; /* what ran as the sample began; or OVERLAP_IDLE, OVERLAP_SEVERAL */
	uint16_t last_column;  /* as it ended */
};

/* 0, or -1 to be handed on. */
typedef int (*overlap_take)(void *taker, const struct overlap_row *row);

/*
 * Kernels running side by side each count in full: what a sample measured is the sum over what ran,
 * and a value is what a kernel adds while it runs. On one stream, kernels run one after the other:
 * the part of a kernel before the end of its predecessor (programmatic dependent launch) is left to
 * the predecessor (DESIGN section 1).
 */
struct overlap {
	struct overlap_kernel *kernel; /* that may reach into a sample to come, by begin */
	size_t kernels, kernel_capacity;
	struct overlap_sample *sample; /* not complete yet, a queue from `first` on */
	size_t first, samples, sample_capacity;
	uint16_t *column;
	float *share;
	size_t column_capacity, share_capacity;
	uint64_t latest_ns; /* the latest begin of all that was announced */
	uint64_t late;      /* kernels that came after a sample they reach into was handed out */
	uint64_t handed_ns; /* end of the last sample that was handed out */
	overlap_take take;
	void *taker;
};

/* Zeroed, with take and taker set, is ready. */
void overlap_fini(struct overlap *o);

/*
 * Kernels and samples come in the order of begin, kernels among samples by no more than
 * OVERLAP_SLACK_NS out of it. The kernel's length that counts (see above) goes to *length_ns. -1
 * without memory, or what `take` returned.
 */
int overlap_add_kernel(struct overlap *o, const struct overlap_kernel *kernel, uint64_t *length_ns);
int overlap_add_sample(struct overlap *o, const struct overlap_sample *sample);

/* Nothing comes any more: hands out what is left. */
int overlap_finish(struct overlap *o);

#endif
