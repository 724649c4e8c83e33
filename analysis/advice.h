/* What to change, and what it can save: only what the figures of the trace support. */
#ifndef ADVICE_H
#define ADVICE_H

#include "report.h"

/*
 * Fills the advice of every device of a report whose windows, steps, kernels, gaps and copies are
 * there, largest saving first. Nothing is advised that is on already, nor for a device whose
 * verdict is unknown. An estimate is given only where arithmetic bounds it. Exits when out of
 * memory.
 */
void advice_fill(struct report *report);

#endif
