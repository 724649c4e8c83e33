/* A trace as text, row by row. */
#ifndef DUMP_H
#define DUMP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Prints every row of a trace in the canonical form of scripts/bstdump: what the file holds, in
 * file order, then damage, what was skipped, missing and torn, losses and completeness. `table` (an
 * id) restricts the rows; 0 means all. Returns 0, or 1 when the file is refused or damaged inside.
 */
int dump_print(const uint8_t *data, size_t size, unsigned table, FILE *out);

#endif
