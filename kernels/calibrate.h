/* All ceilings of the devices, as JSON. */
#ifndef CALIBRATE_H
#define CALIBRATE_H

/*
 * Measures device `only`, or all visible ones if it is negative, one after the other, and prints on
 * stdout one object, on stderr how it gets on. Returns the exit status.
 *
 *	{"schema": "boundshim.ceilings/1", "devices": [
 *	  {"uuid": "GPU-...", "name": "...", "driver": "580.95.05", "date": "2026-12-01T00:00:00Z",
 *	   "attributes": {"cc_major": 9, ...},              as in the trace's table device
 *	   "ceilings": {"dram_read": {"value", "low", "high", "unit", "n"}, ...},
 *	   "skipped": {"tensor_fp8": "why", ...}}]}
 *
 * value, low and high are the median, the 10th and the 90th percentile of n samples; units are
 * bytes/s, op/s (an FMA is two) and ns. Keys may be added, never renamed.
 */
int calibrate(int only);

#endif
