/* What a device could do at most, by its attributes and a table of architectures. */
#ifndef PEAKS_H
#define PEAKS_H

#include "report.h"
#include "vocabulary.h"

struct peaks {
	struct measure dram_bytes_per_s;
	struct measure tensor_flops; /* dense, fp16 and bf16 with fp32 sums */
	struct measure fma_flops;    /* fp32, not on tensor cores */
	struct measure clock_mhz;
};

/*
 * Peaks of a device of the trace. DRAM: memory clock x 2 x bus width (the formula of CUDA's
 * deviceQuery). Arithmetic: SMs x operations for each SM and clock (peaks.def) x clock; `low` at
 * the clock of the vendor's data sheet, `high` at the highest clock. Unknown architectures have no
 * peak: none is guessed.
 */
struct peaks peaks_of(const struct vocabulary *v, uint32_t device);

#endif
