/* Splitting at commas outside of brackets. */
#include "template_args.h"

#include <string.h>

struct name_part name_part_of(const char *name)
{
	return (struct name_part){name, strlen(name)};
}

bool name_part_begins(struct name_part part, const char *text)
{
	size_t size = strlen(text);

	return part.size >= size && !memcmp(part.at, text, size);
}

struct name_part name_part_find(struct name_part part, const char *text)
{
	const char *at = part.size ? memmem(part.at, part.size, text, strlen(text)) : NULL;

	if (!at)
		return (struct name_part){part.at, 0};
	return (struct name_part){at, part.size - (size_t)(at - part.at)};
}

struct name_part name_part_find_last(struct name_part part, const char *text)
{
	struct name_part last = {part.at, 0}, next = name_part_find(part, text);

	while (next.size) {
		last = next;
		next = name_part_find((struct name_part){next.at + 1, next.size - 1}, text);
	}
	return last;
}

static struct name_part trimmed(const char *begin, const char *end)
{
	while (begin < end && *begin == ' ')
		begin++;
	while (end > begin && end[-1] == ' ')
		end--;
	return (struct name_part){begin, (size_t)(end - begin)};
}

static void add(struct template_args *args, const char *begin, const char *end)
{
	struct name_part part = trimmed(begin, end);

	if (part.size && args->count < TEMPLATE_ARGS_MOST)
		args->arg[args->count++] = part;
}

bool template_args_list(struct name_part part, struct template_args *args)
{
	const char *end = part.at + part.size, *begin = part.at + 1;
	unsigned depth = 0;

	args->count = 0;
	for (const char *at = part.at; at < end; at++) {
		if (strchr("<({[", *at)) {
			depth++;
		} else if (strchr(">)}]", *at)) {
			if (!--depth) {
				add(args, begin, at);
				return true;
			}
		} else if (!depth) {
			return false;
		} else if (*at == ',' && depth == 1) {
			add(args, begin, at);
			begin = at + 1;
		}
	}
	return false;
}

bool template_args_of(struct name_part part, const char *family, struct template_args *args)
{
	size_t size = strlen(family);

	for (part = name_part_find(part, family); part.size;
	     part = name_part_find((struct name_part){part.at + 1, part.size - 1}, family))
		if (part.size > size && part.at[size] == '<')
			return template_args_list(
				(struct name_part){part.at + size, part.size - size}, args);
	return false;
}

bool name_part_number(struct name_part part, uint64_t *number)
{
	struct name_part after = part;
	uint64_t value = 0;
	size_t digits = 0;

	if (name_part_begins(part, "(")) {
		after = name_part_find_last(part, ")");
		after = (struct name_part){after.at + 1, after.size ? after.size - 1 : 0};
	}
	while (digits < after.size && digits < 18 && after.at[digits] >= '0' &&
	       after.at[digits] <= '9')
		value = value * 10 + (uint64_t)(after.at[digits++] - '0');
	for (size_t i = digits; i < after.size; i++)
		if (after.at[i] != 'u' && after.at[i] != 'l')
			return false;
	if (!digits)
		return false;
	*number = value;
	return true;
}
