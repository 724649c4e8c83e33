/* All ceilings of the devices, as JSON. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

/*
 * Measures device `only`, or all visible ones if it is negative, one after the other, and prints
 * one object of schema boundshim.ceilings/1 on stdout, progress on stderr. Returns the exit status.
 */
int calibrate(int only);

#endif
