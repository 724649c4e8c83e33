/* The comparison of two runs for people. */
#ifndef DIFF_TEXT_H
#define DIFF_TEXT_H

#include "diff.h"
#include "terminal.h"

/* Prints the answer first, then what each run was, the leaves, and the kernels that changed. */
void diff_text_print(const struct diff *diff, const struct view *view,
		     const struct terminal *terminal);

#endif
