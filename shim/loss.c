/* Counting what was lost. */
#include "loss.h"

#include <stdatomic.h>

static _Atomic uint64_t lost[BST_CAUSE_COUNT];

void loss_add(enum bst_enum cause, uint64_t count)
{
	/* relaxed: counters are read for reporting, nothing is ordered by them */
	atomic_fetch_add_explicit(&lost[cause - 1], count, memory_order_relaxed);
}

void loss_read(uint32_t out[BST_CAUSE_COUNT])
{
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++) {
		uint64_t n = atomic_load_explicit(&lost[i], memory_order_relaxed);

		out[i] = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	}
}

void loss_reset(void)
{
	for (unsigned i = 0; i < BST_CAUSE_COUNT; i++)
		atomic_store_explicit(&lost[i], 0, memory_order_relaxed);
}
