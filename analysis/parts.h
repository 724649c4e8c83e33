/* Parts of a line, set apart by dots: "132 SMs · 1980 MHz". */
#ifndef PARTS_H
#define PARTS_H

#include <stddef.h>

/* Zero it to begin. What has no room is cut. */
struct parts {
	char text[1024];
	size_t size;
};

__attribute__((format(printf, 2, 3))) void parts_add(struct parts *parts, const char *format, ...);

#endif
