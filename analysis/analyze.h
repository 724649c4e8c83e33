/* From trace files to a report. */
#ifndef ANALYZE_H
#define ANALYZE_H

#include "report.h"

/* Something to say about one trace, for stderr: "boundshim: PATH: TEXT". */
struct analyze_note {
	char *path;
	char *text;
	bool failure; /* damage, a foreign or unreadable file; else a warning (a torn tail) */
};

struct analyze_notes {
	struct analyze_note *note;
	size_t count;
};

/*
 * Reads each path: a trace, or a directory whose *.bst files are read, and those of its
 * directories. What is intact of every trace becomes a process of `report` (report_init first; the
 * caller frees it with report_fini). `notes` gets one entry for each trace that is not whole or
 * cannot be read, to be freed with analyze_notes_fini; it may be NULL.
 *
 * Returns the exit status of the contract: 0, also for torn tails; 1 when a file was damaged
 * inside, foreign, of an incompatible version, unreadable, or when there was no trace at all.
 * report->failures counts those. One thread at a time.
 */
int analyze_paths(const char *const *paths, size_t count, struct report *report,
		  struct analyze_notes *notes);

/* To stderr, a line each. */
void analyze_notes_print(const struct analyze_notes *notes);
void analyze_notes_fini(struct analyze_notes *notes);

#endif
