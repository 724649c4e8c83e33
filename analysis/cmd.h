/* The subcommands: one file cmd_<name>.c each. */
#ifndef CMD_H
#define CMD_H

#include "options.h"

struct command {
	const char *name;
	const char *summary;
	const struct option_table *options;
	int (*run)(int argc, char **argv); /* argv[0] is the subcommand; returns the exit status */
};

/* Exit statuses that scripts rely on. */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_HELD = 3, /* a --fail-if expression held */
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
};

extern const struct command cmd_record;
extern const struct command cmd_report;
extern const struct command cmd_diff;
extern const struct command cmd_info;
extern const struct command cmd_calibrate;

#endif
