/* Lines on stderr. */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "quiet.h"

#define LINE_BYTES 512
#define LINES_LIMIT 32 /* a tracer that floods stderr breaks the programs that parse it */

static int level = 1;
static _Atomic int lines;

static void print(const char *format, va_list args)
{
	static const char head[] = "boundshim: ";
	char line[LINE_BYTES];
	struct quiet quiet;
	int saved = errno, n;
	ssize_t done;

	if (atomic_fetch_add_explicit(&lines, 1, memory_order_relaxed) >= LINES_LIMIT)
		return;
	memcpy(line, head, sizeof(head) - 1);
	n = vsnprintf(line + sizeof(head) - 1, sizeof(line) - sizeof(head), format, args);
	if (n < 0)
		n = 0;
	n += (int)sizeof(head) - 1;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	quiet_begin(&quiet);
	done = write(STDERR_FILENO, line, (size_t)n);
	quiet_end(&quiet);
	(void)done; /* nowhere to say so */
	errno = saved;
}

void log_line(const char *format, ...)
{
	va_list args;

	if (level < 1)
		return;
	va_start(args, format);
	print(format, args);
	va_end(args);
}

void log_detail(const char *format, ...)
{
	va_list args;

	if (level < 2)
		return;
	va_start(args, format);
	print(format, args);
	va_end(args);
}

void log_set_level(int new_level)
{
	level = new_level;
	atomic_store_explicit(&lines, 0, memory_order_relaxed);
}
