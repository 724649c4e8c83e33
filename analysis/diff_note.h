/* What stands in the way of comparing two runs, in words. */
#ifndef DIFF_NOTE_H
#define DIFF_NOTE_H

#include "diff.h"

/* Fills pair->notes, once all else of the pair is filled: -1 without memory. */
int diff_note_all(struct diff_pair *pair);

#endif
