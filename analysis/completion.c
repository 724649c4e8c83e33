/* The bash script that completes boundshim's commands and options. */
#include "completion.h"

#include <ctype.h>

/* "text|json" as words; nothing for other values. */
static void print_choices(const struct option_info *option, FILE *out)
{
	for (const char *p = option->value; *p; p++)
		fputc(*p == '|' ? ' ' : *p, out);
}

static void print_command(const struct command *command, FILE *out)
{
	const struct option_info *options = command->options->options;

	fprintf(out, "\t%s)\n\t\tcase $option in\n", command->name);
	for (; options->name; options++) {
		if (options->type == OPTION_FLAG || options->value_optional)
			continue;
		fprintf(out, "\t\t--%s", options->name);
		if (options->letter)
			fprintf(out, " | -%c", options->letter);
		fputs(") words='", out);
		if (options->type == OPTION_CHOICE)
			print_choices(options, out);
		fputs("' ;;\n", out);
	}
	fputs("\t\t*) words='--help", out);
	for (options = command->options->options; options->name; options++)
		fprintf(out, " --%s", options->name);
	fprintf(out, "' files=1 ;;\n\t\tesac\n\t\t;;\n");
}

void completion_print_bash(const struct command *const *commands, FILE *out)
{
	fputs("# bash completion of boundshim; printed by `boundshim --completion`\n"
	      "_boundshim() {\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]} words='' files=\n"
	      "\tif [[ $current == = ]]; then current=; fi\n"
	      "\tif [[ $option == = ]]; then option=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (unsigned i = 0; commands[i]; i++)
		print_command(commands[i], out);
	fputs("\tesac\n\tif [[ $COMP_CWORD == 1 ]]; then words='--help --version", out);
	for (unsigned i = 0; commands[i]; i++)
		fprintf(out, " %s", commands[i]->name);
	fputs("'; fi\n"
	      "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "\tif [[ -n $files && $current != -* ]]; then\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	      "\tfi\n"
	      "}\n"
	      "complete -o filenames -F _boundshim boundshim\n",
	      out);
}
