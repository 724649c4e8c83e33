/* How many equal layers a pass of a model has, where its kernels alone do not tell. */
#ifndef LAYERS_H
#define LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYER_SAMPLES 4
#define LAYERS_LEAST 6
#define LAYERS_MOST 200

/* Pieces that follow one another without anything between them. */
struct layer_sample {
	uint64_t begin_ns, end_ns; /* of the first piece's first kernel, and what ends the last */
	uint64_t first;            /* pieces since the sequence last broke off */
	size_t count;              /* pieces */
};

/* Numbers of addresses, the same one always the same; 0 = none, or not known. */
struct layer_operand {
	uint16_t a, b;
};

/* What was measured at each kernel of the samples: rows by sample, piece, kernel. */
struct layer_series {
	struct layer_sample sample[LAYER_SAMPLES];
	unsigned sample_count;
	unsigned kernels;              /* in a piece */
	uint32_t *host_ns;             /* the thread did other things than to launch before it */
	uint32_t *run_ns;              /* kernel */
	uint32_t *apart_ns;            /* from the begin of the kernel before */
	struct layer_operand *operand; /* of the library call that launched it; NULL = of none */
};

/* A pass begins `offset` kernels into each piece whose number is `first` modulo `count`. */
struct layers {
	unsigned count;
	unsigned first;
	unsigned offset;
	bool by_operands; /* what told it */
};

/*
 * True if the pieces are layers, and passes have *layers of them. Operands say so by themselves
 * (layer_operands.h); a pass then begins where the host pauses, if it pauses once in a pass, else
 * with the first piece of a run. Without them, two things must say so that have nothing to do with
 * each other, in the first and in the second half of the samples:
 *
 * - the host pauses before one piece in `count`, in nearly every pass, where it does not before the
 *   others;
 * - the pieces away from that one differ from each other in their kernels' durations, in the same
 *   way in each pass, as layers do whose operands are not the same.
 *
 * The first alone is a line of log every tenth step, a collection of garbage, or the driver's own
 * doing (every 64 launches, seen on an H200); the second alone is memory that two steps take in
 * turns. Fewer layers than LAYERS_LEAST are not looked for: too few are left to differ.
 */
bool layers_find(const struct layer_series *series, struct layers *layers);

#endif
