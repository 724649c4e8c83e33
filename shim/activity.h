/* CUPTI's activity records become rows. Writer thread only. */
#ifndef ACTIVITY_H
#define ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

#include "output.h"

/*
 * One record, `kind` as in CUpti_ActivityKind. Kinds that were not asked for are counted (unknown_record) and skipped. Names
 * that it points to are CUPTI's and are copied.
 */
void activity_record(struct output *output, uint32_t kind, const uint8_t *record);

/* Bounded tables; once for each output. 0, or -1 without memory. */
int activity_init(void);

#endif
