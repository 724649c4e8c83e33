/* Names and command lines are other people's bytes; nothing of them may steer the terminal. */
#define _XOPEN_SOURCE 700
#include "printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define LINE_LIMIT 4096

/* Decodes one code point of UTF-8 (RFC 3629); its length, or 0 where the bytes are not valid. */
static size_t decode(const char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *p = (const uint8_t *)text;
	size_t size = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

	if ((p[0] >= 0x80 && p[0] < 0xc2) || p[0] > 0xf4)
		return 0;
	*code = size == 1 ? p[0] : p[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	if (*code < least[size] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return size;
}

/* Control characters, and the formatting ones of Unicode that hide or reorder what follows. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe0fff);
}

static size_t spell(char out[16], uint32_t code, enum printable_for target)
{
	if (target == PRINTABLE_JSON && (code == '\n' || code == '\t')) {
		out[0] = (char)code;
		return 1;
	}
	if (code == '\n' || code == '\t') {
		memcpy(out, code == '\n' ? "\\n" : "\\t", 2);
		return 2;
	}
	return (size_t)snprintf(out, 16, code < 0x100 ? "\\x%02x" : "\\u{%x}", code);
}

char *printable_copy(const char *text, enum printable_for target, size_t limit)
{
	char *out = malloc(limit + 4), piece[16];
	size_t size = 0, taken, length;
	uint32_t code;

	if (!out) {
		fputs("boundshim: out of memory\n", stderr);
		exit(1);
	}
	for (text = text ? text : ""; *text; text += taken) {
		taken = decode(text, &code);
		if (!taken) {
			memcpy(piece, "\xef\xbf\xbd", 3);
			length = 3;
			taken = 1;
		} else if (is_control(code)) {
			length = spell(piece, code, target);
		} else {
			memcpy(piece, text, taken);
			length = taken;
		}
		if (size + length > limit) {
			memcpy(out + size, "...", 3);
			size += 3;
			break;
		}
		memcpy(out + size, piece, length);
		size += length;
	}
	out[size] = '\0';
	return out;
}

/* wcwidth where the locale knows the character, else one column. */
static size_t columns_of(uint32_t code)
{
	int columns = code < 0x80 ? 1 : wcwidth((wchar_t)code);

	return columns < 0 ? 1 : (size_t)columns;
}

size_t printable_columns(const char *text)
{
	size_t columns = 0, taken;
	uint32_t code = 0;

	for (; *text; text += taken) {
		taken = decode(text, &code);
		columns += taken ? columns_of(code) : 1;
		taken += !taken;
	}
	return columns;
}

void printable_cut(char *text, size_t columns)
{
	size_t at = 0, used = 0, taken;
	uint32_t code = 0;

	if (printable_columns(text) <= columns)
		return;
	while (text[at]) {
		taken = decode(text + at, &code);
		if (used + (taken ? columns_of(code) : 1) + 2 > columns)
			break;
		used += taken ? columns_of(code) : 1;
		at += taken + !taken;
	}
	/* What is cut off had more than two columns, so at least two bytes. */
	memcpy(text + at, "..", 3);
}

char *printable_line(const char *text, size_t columns)
{
	char *line = printable_copy(text, PRINTABLE_LINE, LINE_LIMIT);

	printable_cut(line, columns);
	return line;
}
