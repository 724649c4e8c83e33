/* Steps of reports that are compared, where some are passes and others the layers of passes. */
#ifndef LAYER_STEPS_H
#define LAYER_STEPS_H

#include "report.h"

/*
 * The evidence for layers (layers.h) may be in one trace of a program and not in the next. Where
 * steps of one device are as many kernels as one layer of another's, the latter's steps become its
 * layers: one layer is then compared with one layer.
 */
void layer_steps_agree(struct report *reports, size_t count);

#endif
