/* One counter for each cause of lost records. Any thread, no locks. */
#ifndef LOSS_H
#define LOSS_H

#include <stdint.h>

#include "trace/format.h"

/* `cause` is one of BST_ENUM_LOSS_*. */
void loss_add(enum bst_enum cause, uint64_t count);

/* All counters, saturating, in order of cause (1 to BST_CAUSE_COUNT). */
void loss_read(uint32_t out[BST_CAUSE_COUNT]);

void loss_reset(void);

#endif
