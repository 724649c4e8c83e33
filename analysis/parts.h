/* The parts of a line, set apart by dots: "pid 4242 · host a1 · 2 devices". */
#ifndef PARTS_H
#define PARTS_H

#include <stddef.h>
#include <stdint.h>

/* Zero it to begin. Text beyond the room is cut. */
struct parts {
	char text[1024];
	size_t size;
};

/* The next part. Its text must be printable already. */
__attribute__((format(printf, 2, 3))) void part(struct parts *parts, const char *format, ...);

/* The ending of a noun of which there are so many: "" or "s". */
static inline const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
