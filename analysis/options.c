/* Option tables become argp's tables and argp's calls become values. */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BASE 256
#define OPTION_LIMIT 32
#define HELP_BYTES 512
#define DESCRIPTION_BYTES 4096

struct parse {
	const struct option_table *table;
	struct option_value *values;
	unsigned arguments;
	int first_argument;
};

static int choice_index(const char *choices, const char *text)
{
	size_t size = strlen(text);

	for (int i = 0; *choices; i++) {
		size_t length = strcspn(choices, "|");

		if (length == size && !memcmp(choices, text, size))
			return i;
		choices += length + (choices[length] == '|');
	}
	return -1;
}

static void parse_count(struct argp_state *state, const struct option_info *option,
			struct option_value *value, const char *text)
{
	char *end;

	errno = 0;
	value->count = strtoull(text, &end, 10);
	if (errno || *end || end == text || strchr(text, '-'))
		argp_error(state, "--%s: '%s' is not a whole number", option->name, text);
}

static void parse_value(struct argp_state *state, const struct option_info *option,
			struct option_value *value, const char *text)
{
	char *end;
	int choice;

	if (value->given < OPTION_REPEATS)
		value->text[value->given] = text;
	else
		argp_error(state, "--%s: given more than %d times", option->name, OPTION_REPEATS);
	value->given++;
	switch (option->type) {
	case OPTION_FLAG:
	case OPTION_TEXT:
		break;
	case OPTION_COUNT:
		parse_count(state, option, value, text);
		break;
	case OPTION_SECONDS:
		value->seconds = strtod(text, &end);
		if (*end || end == text || !isfinite(value->seconds) || value->seconds < 0)
			argp_error(state, "--%s: '%s' is not a number of seconds", option->name,
				   text);
		break;
	case OPTION_CHOICE:
		choice = choice_index(option->value, text);
		if (choice < 0)
			argp_error(state, "--%s: '%s' is none of %s", option->name, text,
				   option->value);
		value->choice = (unsigned)choice;
		break;
	}
}

static error_t handle(int key, char *text, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct option_info *options = parse->table->options;

	if (key == 'h') {
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	}
	for (unsigned i = 0; options[i].name; i++) {
		if (key != KEY_BASE + (int)i && !(options[i].letter && key == options[i].letter))
			continue;
		parse_value(state, &options[i], &parse->values[i], text);
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		if (parse->arguments++ == 0)
			parse->first_argument = state->next - 1;
		if (parse->table->program)
			state->next = state->argc;
		else if (parse->arguments > parse->table->most_arguments)
			argp_error(state, "one argument too many: '%s'", text);
		return 0;
	}
	if (key == ARGP_KEY_END && parse->arguments < parse->table->least_arguments)
		argp_error(state, "%s is missing", parse->table->arguments);
	return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

/* The help line of one option, with its default. */
static const char *help_of(const struct option_info *option, char out[HELP_BYTES])
{
	if (!option->fallback || !*option->fallback)
		return option->help;
	snprintf(out, HELP_BYTES, "%s (default %s)", option->help, option->fallback);
	return out;
}

int options_parse(const struct option_table *table, int argc, char **argv,
		  struct option_value *values)
{
	struct argp_option list[OPTION_LIMIT + 2] = {0};
	static char help[OPTION_LIMIT][HELP_BYTES]; /* argp keeps the pointers */
	char description[DESCRIPTION_BYTES];
	struct parse parse = {.table = table, .values = values, .first_argument = argc};
	unsigned n = 0;

	for (; table->options[n].name; n++) {
		const struct option_info *option = &table->options[n];

		values[n] = (struct option_value){0};
		list[n] = (struct argp_option){
			.name = option->name,
			.key = option->letter ? option->letter : KEY_BASE + (int)n,
			.arg = option->type == OPTION_FLAG ? NULL : option->value,
			.flags = option->value_optional ? OPTION_ARG_OPTIONAL : 0,
			.doc = help_of(option, help[n]),
		};
	}
	list[n] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
	snprintf(description, sizeof(description), "%s%s%s", table->description,
		 table->notes ? "\v" : "", table->notes ? table->notes : "");

	const struct argp argp = {
		.options = list,
		.parser = handle,
		.args_doc = table->arguments,
		.doc = description,
	};

	argp_err_exit_status = 2;
	argv[0] = (char *)table->command;
	/* what is wrong with the arguments ends the program in there */
	if (argp_parse(&argp, argc, argv, table->program ? ARGP_IN_ORDER : 0, NULL, &parse) != 0) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	return parse.arguments ? parse.first_argument : argc;
}
