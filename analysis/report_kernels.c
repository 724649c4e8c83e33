/* One row for each kernel, the largest share first. */
#include "report_kernels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "quantity.h"

#define NAME_COLUMNS 60

static const char *evidence_word(enum evidence evidence)
{
	static const char *const words[] = {
		[EVIDENCE_NONE] = "none",         [EVIDENCE_PRIOR] = "prior",
		[EVIDENCE_GEOMETRY] = "geometry", [EVIDENCE_LIBRARY] = "library",
		[EVIDENCE_COUNTERS] = "counters",
	};

	return words[evidence];
}

static void add_measure(struct table *table, const struct measure *measure)
{
	if (measure->known)
		table_add(table, "%.0f %%", measure->value);
	else
		table_add(table, "%s", "");
}

/* "dram", "latency, leans to cache", "dram?" when it is little more than a guess. */
static void add_label(struct table *table, const struct kernel_report *kernel)
{
	const struct verdict *verdict = &kernel->verdict;
	bool leans = verdict->leaf == LEAF_LATENCY && kernel->leans != LEAF_UNKNOWN &&
		     kernel->leans != LEAF_LATENCY;

	table_add(table, "%s%s%s%s", leaf_name(verdict->leaf), leans ? "/" : "",
		  leans ? leaf_name(kernel->leans) : "",
		  verdict->leaf != LEAF_UNKNOWN && verdict->confidence < CONFIDENCE_UNSURE ? "?"
											   : "");
}

/* Does another row that is shown have the same short name? Then geometry tells them apart. */
static bool ambiguous(const struct device_report *device, size_t shown, size_t index)
{
	for (size_t i = 0; i < shown; i++)
		if (i != index && device->kernels[i].short_name &&
		    device->kernels[index].short_name &&
		    !strcmp(device->kernels[i].short_name, device->kernels[index].short_name))
			return true;
	return false;
}

void report_kernels_add_name(struct table *table, const struct device_report *device, size_t shown,
			     size_t index)
{
	const struct kernel_report *kernel = &device->kernels[index];
	const char *name = kernel->short_name ? kernel->short_name : kernel->name;
	char *line = printable_line(name && *name ? name : "(no name)", NAME_COLUMNS);

	if (ambiguous(device, shown, index))
		table_add(table, "[%" PRIu64 "x%" PRIu64 "] %s",
			  (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2],
			  (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2], line);
	else
		table_add(table, "%s", line);
	free(line);
}

void report_kernels_print(const struct device_report *device, const struct view *view,
			  const struct terminal *terminal)
{
	static const char *const headings[] = {">share",   ">launches", ">mean",
					       "bound by", ">tensor",   ">dram",
					       "evidence", "kernel",    NULL};
	size_t shown = device->kernel_count < view->top ? device->kernel_count : view->top;
	double rest = 0;
	struct table table;

	if (!device->kernel_count)
		return;
	terminal_print(terminal, STYLE_BOLD, "\nKernels, by share of the %s\n",
		       device->steady.known ? "steady time" : "whole run");
	table_init(&table, headings);
	for (size_t i = 0; i < shown; i++) {
		const struct kernel_report *kernel = &device->kernels[i];

		table_add(&table, "%s", quantity_percent(kernel->share).text);
		table_add(&table, "%s", quantity_count(kernel->launches).text);
		table_add(&table, "%s", quantity_time(kernel->mean_ns).text);
		add_label(&table, kernel);
		add_measure(&table, &kernel->tensor_pct);
		add_measure(&table, &kernel->dram_pct);
		table_add(&table, "%s", evidence_word(kernel->evidence));
		report_kernels_add_name(&table, device, shown, i);
	}
	table_print(&table, terminal);
	table_fini(&table);
	for (size_t i = shown; i < device->kernel_count; i++)
		rest += device->kernels[i].share;
	if (shown < device->kernel_count)
		terminal_print(terminal, STYLE_DIM, "  and %zu more with %s together (--top %zu)\n",
			       device->kernel_count - shown, quantity_percent(rest).text,
			       device->kernel_count);
}
