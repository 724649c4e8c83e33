/* Hand-made reports for the tests of the printers. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include "analysis/report.h"

/* A training step of tiny kernels: overhead-bound, host its largest leaf. No advice yet. */
void report_fixture_mlp(struct report *report);
/* One large GEMM again and again, with counters: compute-bound. */
void report_fixture_gemm(struct report *report);
/* BOUNDSHIM_MODE=hooks: launches, no device times; cut off by a kill. */
/* A calibrated device; FLOPs by a library call, by counters, and not known. */
void report_fixture_roofline(struct report *report);
void report_fixture_hooks(struct report *report);
/* Two ranks with one device each, the first as mlp, the second as gemm. */
void report_fixture_ranks(struct report *report);
/* Names and command line full of escapes, controls and invalid UTF-8. */
void report_fixture_hostile(struct report *report);

#endif
