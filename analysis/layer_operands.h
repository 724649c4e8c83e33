/* Where the layers' operands lie: how many pieces of a run make a pass, by which addresses come back. */
#ifndef LAYER_OPERANDS_H
#define LAYER_OPERANDS_H

#include "layers.h"

/*
 * Pieces of a pass, 2 to LAYERS_MOST; 0 = operands do not say. They do where, with few exceptions,
 *
 * - A of each single matrix product (filter of a convolution, weights of an RNN) that comes back at
 *   all at its place of the piece comes back after the same number of pieces, in all samples, and is
 *   another one in each of the pieces until then. Frameworks that store by row hand weights over as
 *   A. One weight that is the same in each piece makes the piece a step of its own, whatever its
 *   inputs do;
 * - at one of these places B does not stay where it is: rotating inputs of one weight, handed over
 *   the other way round, look like layers but for that.
 *
 * A that never comes back says nothing (it was allocated anew), nor does a batch of matrices: those
 * are activations most often. A loop that takes weights and inputs in turns by itself, as a benchmark
 * does against caches, is a pass to this rule: it is one round of its loop.
 */
unsigned layer_operands_count(const struct layer_series *series);

#endif
