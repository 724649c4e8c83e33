/* What to change, and what it can save: only what the figures of the trace support. */
#ifndef ADVICE_H
#define ADVICE_H

#include "report.h"

/*
 * Fills the advice of every device of a report, largest saving first, from what was simulated
 * (whatif.h): nothing is advised that is on already, or that saves less than WHATIF_WORTH of a
 * step. Where there are no steps to simulate, only waits are spoken of, bounded by their leaf. Exits
 * when out of memory.
 */
void advice_fill(struct report *report);

#endif
