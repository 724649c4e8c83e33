/* Command lines: one table per subcommand gives parsing, help, man page and completion. A thin
 * layer over glibc's argp. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,    /* no value */
	OPTION_TEXT,    /* any value */
	OPTION_COUNT,   /* a whole number */
	OPTION_SECONDS, /* a decimal number, 0 or more */
	OPTION_CHOICE,  /* one of option.value, which lists them: "text|json" */
};

struct option_info {
	const char *name; /* long name; NULL ends a table */
	char letter;      /* short name, or 0 */
	enum option_type type;
	const char *value;    /* name of the value in the help; the choices of a CHOICE */
	const char *fallback; /* said in the help as the default; may be NULL or empty */
	const char *help;
	bool value_optional; /* TEXT only */
};

struct option_table {
	const char *command; /* "boundshim report" */
	const char *arguments;
	const char *description; /* shown under the usage line */
	const char *notes;       /* shown after the options; may be NULL */
	const struct option_info *options;
	unsigned least_arguments;
	unsigned most_arguments;
	bool program; /* the first argument begins another program's command line */
};

#define OPTION_REPEATS 16

/* What was given for the option of the same place in the table. */
struct option_value {
	unsigned given; /* times */
	const char
		*text[OPTION_REPEATS]; /* the first OPTION_REPEATS values; NULL for one left out */
	uint64_t count;
	double seconds;
	unsigned choice; /* index into the choices */
};

/*
 * Parses argv (argv[0] is the subcommand's name) into `values`, one per option, and returns the
 * index of the first argument in argv, which is reordered so that arguments come last. Exits: 0
 * after --help, 2 with a sentence on stderr when the command line is not right.
 */
int options_parse(const struct option_table *table, int argc, char **argv,
		  struct option_value *values);

#endif
