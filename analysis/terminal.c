/* Width, colour and the fate of standard output. */
#include "terminal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 100
#define COLUMNS_LEAST 60
#define COLUMNS_MOST 160

static unsigned width_of(FILE *out)
{
	const char *variable = getenv("COLUMNS");
	unsigned long columns = variable ? strtoul(variable, NULL, 10) : 0;
	struct winsize size;

	if (!columns && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (!columns)
		return COLUMNS_DEFAULT;
	if (columns < COLUMNS_LEAST)
		return COLUMNS_LEAST;
	return columns > COLUMNS_MOST ? COLUMNS_MOST : (unsigned)columns;
}

static bool takes_color(FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

struct terminal terminal_of(FILE *out, enum color_when when)
{
	return (struct terminal){
		.out = out,
		.columns = width_of(out),
		.color = when == COLOR_ALWAYS || (when == COLOR_AUTO && takes_color(out)),
	};
}

void terminal_style(const struct terminal *terminal, enum style style)
{
	static const char *const codes[] = {
		[STYLE_PLAIN] = "0",      [STYLE_BOLD] = "1",    [STYLE_DIM] = "2",
		[STYLE_COMPUTE] = "32",   [STYLE_MEMORY] = "34", [STYLE_OVERHEAD] = "33",
		[STYLE_WARNING] = "1;31",
	};

	if (terminal->color)
		fprintf(terminal->out, "\033[%sm", codes[style]);
}

void terminal_print(const struct terminal *terminal, enum style style, const char *format, ...)
{
	va_list args;

	if (style != STYLE_PLAIN)
		terminal_style(terminal, style);
	va_start(args, format);
	vfprintf(terminal->out, format, args);
	va_end(args);
	if (style != STYLE_PLAIN)
		terminal_style(terminal, STYLE_PLAIN);
}

/* A full disk may show only when the last buffer is written. */
static void check(void)
{
	int failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout) == 0 && !failed)
		return;
	if (errno)
		fprintf(stderr, "boundshim: standard output: %s\n", strerror(errno));
	else
		fputs("boundshim: standard output: write error\n", stderr);
	_exit(1);
}

void terminal_check_at_exit(void)
{
	atexit(check);
}
