/* Word wrap. */
#include "paragraph.h"

#include <stdlib.h>
#include <string.h>

#include "printable.h"

#define TEXT_LIMIT 4096

void paragraph_print(const struct terminal *terminal, enum style style, const char *text,
		     unsigned used, unsigned indent)
{
	bool begun = false;

	terminal_style(terminal, style);
	while (*text) {
		size_t size = strcspn(text, " "), columns;
		char word[512];

		if (size == 0) {
			text++;
			continue;
		}
		size = size < sizeof(word) - 1 ? size : sizeof(word) - 1;
		memcpy(word, text, size);
		word[size] = '\0';
		text += size;
		columns = printable_columns(word);
		if (begun && used + 1 + columns > terminal->columns) {
			fprintf(terminal->out, "\n%*s", (int)indent, "");
			used = indent;
			begun = false;
		}
		fprintf(terminal->out, "%s%s", begun ? " " : "", word);
		used += (unsigned)columns + begun;
		begun = true;
	}
	terminal_style(terminal, STYLE_PLAIN);
	fputc('\n', terminal->out);
}

void paragraph_warn(const struct terminal *terminal, const char *text)
{
	char *line = printable_copy(text, PRINTABLE_LINE, TEXT_LIMIT);

	terminal_print(terminal, STYLE_WARNING, "! ");
	paragraph_print(terminal, STYLE_PLAIN, line, 2, 2);
	free(line);
}
