/* From the accounts of a device to its part of the report. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "account.h"
#include "survey.h"

/* Where a kernel's utilisations can come from; each may be NULL. */
struct evidence_sources {
	const struct counters *counters;
	const struct library *library;
	const struct ceilings *ceilings;
};

/*
 * Labels all signatures for one device, by the means that the survey found: an array of *count
 * rows, owned by the caller; NULL without memory.
 */
struct signature_label *summary_labels(const struct vocabulary *v, uint32_t device,
				       const struct device_survey *survey,
				       const struct evidence_sources *sources, size_t *count);

/* What summary_device reads. `steps` is NULL where none were found. */
struct summary_input {
	const struct trace *trace;
	uint32_t device;
	const struct account *account;   /* finished */
	const struct counters *counters; /* NULL if nothing was sampled */
	const struct library *library;   /* NULL if no call was seen */
	const struct step_list *steps;
	uint64_t origin_ns; /* of the report's times */
};

/* Name, peaks and other fixed properties. */
void summary_identity(const struct vocabulary *v, uint32_t device, struct device_report *report);

/* Fills all but the advice. Lists stay shorter without memory. */
void summary_device(const struct summary_input *input, struct device_report *report);

/* What ended a gap: a kernel's short name, "copy host to device" ...; owned by the caller. */
char *summary_gap_words(const struct vocabulary *vocabulary, const struct worst_gap *gap);

/* The words for a gap statistic. */
void summary_gaps(const struct trace *trace, const struct gap_stat *stat, uint64_t origin_ns,
		  struct gap_report *report);

#endif
