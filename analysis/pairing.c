/* Pairing, the surest sign first. */
#include "pairing.h"

#include <stdlib.h>
#include <string.h>

typedef bool (*alike_fn)(const struct process_report *a, const struct process_report *b);

static bool equal(const char *x, const char *y)
{
	return x && *x && y && !strcmp(x, y);
}

static bool same_rank(const struct process_report *a, const struct process_report *b)
{
	return equal(a->rank, b->rank);
}

static bool same_command(const struct process_report *a, const struct process_report *b)
{
	return equal(a->command, b->command);
}

static bool any(const struct process_report *a, const struct process_report *b)
{
	(void)a;
	(void)b;
	return true;
}

#define NOBODY SIZE_MAX

/* partner[i]: of process i of `a`, its process of `b`. */
static void match(const struct report *a, const struct report *b, alike_fn alike, size_t *partner,
		  bool *taken)
{
	for (size_t i = 0; i < a->process_count; i++) {
		for (size_t j = 0; partner[i] == NOBODY && j < b->process_count; j++) {
			if (taken[j] || !alike(&a->processes[i], &b->processes[j]))
				continue;
			partner[i] = j;
			taken[j] = true;
		}
	}
}

static const struct device_report *device_for(const struct device_report *device,
					      const struct process_report *from,
					      const struct process_report *in)
{
	for (size_t i = 0; i < in->device_count; i++)
		if (in->devices[i].index == device->index)
			return &in->devices[i];
	return from->device_count == 1 && in->device_count == 1 ? &in->devices[0] : NULL;
}

static void pair_devices(const struct process_report *a, const struct process_report *b,
			 struct pairing_list *list)
{
	size_t before = list->count, paired;

	for (size_t i = 0; i < a->device_count; i++) {
		const struct device_report *other = device_for(&a->devices[i], a, b);

		if (other)
			list->pair[list->count++] = (struct pairing){a, b, &a->devices[i], other};
	}
	paired = list->count - before;
	list->alone_a += a->device_count - paired;
	list->alone_b += b->device_count - paired;
}

static size_t device_total(const struct report *report)
{
	size_t total = 0;

	for (size_t i = 0; i < report->process_count; i++)
		total += report->processes[i].device_count;
	return total;
}

int pairing_make(const struct report *a, const struct report *b, struct pairing_list *list)
{
	size_t *partner = malloc((a->process_count + 1) * sizeof(*partner));
	bool *taken = calloc(b->process_count + 1, sizeof(*taken));
	int status = -1;

	*list = (struct pairing_list){0};
	list->pair = malloc((device_total(a) + 1) * sizeof(*list->pair));
	if (!partner || !taken || !list->pair)
		goto out;
	for (size_t i = 0; i < a->process_count; i++)
		partner[i] = NOBODY;
	match(a, b, same_rank, partner, taken);
	match(a, b, same_command, partner, taken);
	match(a, b, any, partner, taken);
	for (size_t i = 0; i < a->process_count; i++) {
		if (partner[i] == NOBODY)
			list->alone_a++;
		else
			pair_devices(&a->processes[i], &b->processes[partner[i]], list);
	}
	for (size_t j = 0; j < b->process_count; j++)
		list->alone_b += !taken[j];
	status = 0;
out:
	if (status)
		pairing_fini(list);
	free(partner);
	free(taken);
	return status;
}

void pairing_fini(struct pairing_list *list)
{
	free(list->pair);
	*list = (struct pairing_list){0};
}
