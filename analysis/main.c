/* The boundshim command: finds the subcommand. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "completion.h"
#include "memory.h"
#include "terminal.h"

static const struct command *const commands[] = {&cmd_record, &cmd_report,    &cmd_diff,
						 &cmd_info,   &cmd_calibrate, NULL};

static void print_help(FILE *out)
{
	fputs("Usage: boundshim COMMAND [OPTION...] [ARGUMENT...]\n"
	      "Is a GPU workload bound by compute, by memory or by overhead, and what is it worth to fix?\n\n"
	      "Commands:\n",
	      out);
	for (unsigned i = 0; commands[i]; i++)
		fprintf(out, "  %-11s%s\n", commands[i]->name, commands[i]->summary);
	fputs("\nOptions:\n"
	      "  --help        this text; `boundshim COMMAND --help` has each command's options\n"
	      "  --version     the version\n"
	      "  --completion  a script for bash: eval \"$(boundshim --completion)\"\n\n"
	      "Begin with:\n"
	      "  boundshim record -o run.bst python train.py\n"
	      "  boundshim report run.bst\n",
	      out);
}

static const struct command *find(const char *name)
{
	for (unsigned i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	/* For the widths of characters only: numbers and words stay as they are everywhere. */
	setlocale(LC_CTYPE, "C.UTF-8");
	terminal_check_at_exit();
	memory_ends_it();
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	command = find(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("boundshim " BOUNDSHIM_VERSION);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--completion")) {
		completion_print_bash(commands, stdout);
		return EXIT_DONE;
	}
	fprintf(stderr, "boundshim: '%s' is not a command; `boundshim --help` lists them\n",
		argv[1]);
	return EXIT_USAGE;
}
