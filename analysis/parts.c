/* Joins with a middle dot. */
#include "parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void parts_add(struct parts *parts, const char *format, ...)
{
	size_t room = sizeof(parts->text) - parts->size;
	va_list args;
	int n;

	if (parts->size && room > 4) {
		memcpy(parts->text + parts->size, " \xc2\xb7 ", 5);
		parts->size += 4;
		room -= 4;
	}
	va_start(args, format);
	n = vsnprintf(parts->text + parts->size, room, format, args);
	va_end(args);
	parts->size += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}
