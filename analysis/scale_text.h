/* How time grows with work, for people. */
#ifndef SCALE_TEXT_H
#define SCALE_TEXT_H

#include "scale.h"
#include "terminal.h"

/* Prints the answer first, then each size, the leaves, and the kernels. */
void scale_text_print(const struct scale *scale, const struct view *view,
		      const struct terminal *terminal);

#endif
