/* Growing an array by one row: the one place that does it. */
#ifndef ARRAY_H
#define ARRAY_H

#include <stddef.h>
#include <stdlib.h>

/*
 * Room for `need` rows of `size` bytes in *block, which has room for *capacity: 0, or -1 without
 * memory, when nothing changed.
 */
static inline int array_reserve(void **block, size_t *capacity, size_t need, size_t size)
{
	size_t grown = *capacity ? *capacity + *capacity / 2 : 16;
	void *p;

	if (need <= *capacity)
		return 0;
	if (grown < need)
		grown = need;
	p = reallocarray(*block, grown, size);
	if (!p)
		return -1;
	*block = p;
	*capacity = grown;
	return 0;
}

#endif
