/* Completion of the command line by bash, from the option tables. */
#ifndef COMPLETION_H
#define COMPLETION_H

#include <stdio.h>

#include "cmd.h"

/* Prints a script for bash that completes `commands` (ends with NULL), their options and their
 * options' choices. */
void completion_print_bash(const struct command *const *commands, FILE *out);

#endif
