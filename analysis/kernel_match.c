/* Two sorted lists walked side by side, three times, each time with a shorter key. */
#include "kernel_match.h"

#include <stdlib.h>
#include <string.h>

enum depth {
	DEPTH_NAME,
	DEPTH_SHAPE,
	DEPTH_ALL,
};

/* The kernels of a device by name, shape and resources; those that found a partner are NULL. */
struct list {
	const struct kernel_report **kernel;
	size_t count;
};

static int compare_numbers(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int compare_three(const uint32_t x[3], const uint32_t y[3])
{
	for (unsigned i = 3; i-- > 0;)
		if (x[i] != y[i])
			return compare_numbers(x[i], y[i]);
	return 0;
}

static uint64_t blocks_of(const struct kernel_report *k)
{
	return (uint64_t)k->grid[0] * k->grid[1] * k->grid[2];
}

static int compare(const struct kernel_report *x, const struct kernel_report *y, enum depth depth)
{
	int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");

	if (order || depth == DEPTH_NAME)
		return order;
	order = compare_numbers(blocks_of(x), blocks_of(y));
	order = order ? order : compare_three(x->grid, y->grid);
	order = order ? order : compare_three(x->block, y->block);
	if (order || depth == DEPTH_SHAPE)
		return order;
	order = compare_numbers(x->registers, y->registers);
	return order ? order : compare_numbers(x->shared_bytes, y->shared_bytes);
}

static int by_all(const void *x, const void *y)
{
	return compare(*(const struct kernel_report *const *)x,
		       *(const struct kernel_report *const *)y, DEPTH_ALL);
}

static int list_init(struct list *list, const struct device_report *device)
{
	list->count = device->kernel_count;
	list->kernel = malloc((list->count + 1) * sizeof(*list->kernel));
	if (!list->kernel)
		return -1;
	for (size_t i = 0; i < list->count; i++)
		list->kernel[i] = &device->kernels[i];
	qsort(list->kernel, list->count, sizeof(*list->kernel), by_all);
	return 0;
}

/* Closes the gaps that partners left. */
static void compact(struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->kernel[i])
			list->kernel[kept++] = list->kernel[i];
	list->count = kept;
}

static void add(struct kernel_match *rows, size_t *count, const struct kernel_report *a,
		const struct kernel_report *b)
{
	bool same = a && b && !compare(a, b, DEPTH_SHAPE);

	rows[(*count)++] = (struct kernel_match){same     ? KERNEL_MATCH_SAME
						 : a && b ? KERNEL_MATCH_RESHAPED
						 : a      ? KERNEL_MATCH_WENT
							  : KERNEL_MATCH_APPEARED,
						 a, b};
}

static void pair(struct list *a, struct list *b, enum depth depth, struct kernel_match *rows,
		 size_t *count)
{
	size_t i = 0, j = 0;

	while (i < a->count && j < b->count) {
		int order = compare(a->kernel[i], b->kernel[j], depth);

		if (!order) {
			add(rows, count, a->kernel[i], b->kernel[j]);
			a->kernel[i++] = NULL;
			b->kernel[j++] = NULL;
		} else if (order < 0) {
			i++;
		} else {
			j++;
		}
	}
	compact(a);
	compact(b);
}

struct kernel_match *kernel_match(const struct device_report *a, const struct device_report *b,
				  size_t *count)
{
	size_t most = a->kernel_count + b->kernel_count + 1;
	struct list left = {0}, right = {0};
	struct kernel_match *rows = malloc(most * sizeof(*rows));

	*count = 0;
	if (!rows || list_init(&left, a) || list_init(&right, b)) {
		free(rows);
		rows = NULL;
		goto out;
	}
	pair(&left, &right, DEPTH_ALL, rows, count);
	pair(&left, &right, DEPTH_SHAPE, rows, count);
	pair(&left, &right, DEPTH_NAME, rows, count);
	for (size_t i = 0; i < left.count; i++)
		add(rows, count, left.kernel[i], NULL);
	for (size_t i = 0; i < right.count; i++)
		add(rows, count, NULL, right.kernel[i]);
out:
	free(left.kernel);
	free(right.kernel);
	return rows;
}
