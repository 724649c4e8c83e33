/* What a trace holds about pieces of a run that may be layers. */
#ifndef LAYERS_READ_H
#define LAYERS_READ_H

#include "clock.h"
#include "layers.h"
#include "library.h"
#include "trace.h"

struct layer_input {
	struct trace *trace;
	const struct clock *clock;
	unsigned device;
	struct library *library; /* of which the calls' operands are; NULL = none */
};

/*
 * Fills the rows of a series of which the samples are given; they are the caller's to give back
 * with layer_series_fini, whatever the result. -1 without memory, or where the samples are not what
 * they are said to be: a kernel has no call, another thread's calls lie in between, or data is
 * copied to or from the host in every piece, which is then a step of its own.
 */
int layer_series_read(const struct layer_input *input, struct layer_series *series);
void layer_series_fini(struct layer_series *series);

#endif
