/* Which kernels and copies, and idle time before which, make outliers longer than steps. */
#ifndef OUTLIER_CAUSES_H
#define OUTLIER_CAUSES_H

#include "account.h"

/* Fills steps->cause from a finished account; nothing where there are no outliers. */
void outlier_causes_fill(const struct vocabulary *vocabulary, const struct account *account,
			 struct steps *steps);

#endif
