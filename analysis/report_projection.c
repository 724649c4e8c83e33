/* Where the roofs are, what the kernels under them would take, and what is not in that. */
#include "report_projection.h"

#include <stdio.h>

#include "paragraph.h"
#include "parts.h"
#include "projection.h"
#include "report_kernels.h"
#include "report_roofline.h"
#include "table.h"

static void print_roofs(const struct device_report *device, const struct ceilings *there,
			const struct terminal *terminal)
{
	struct parts parts = {0};

	part(&parts, "memory %s, here %s",
	     ceiling_quantity(CEILING_DRAM_READ, there->of[CEILING_DRAM_READ].measure.value).text,
	     ceiling_quantity(CEILING_DRAM_READ, device->peaks.of[CEILING_DRAM_READ].measure.value)
		     .text);
	for (unsigned i = CEILING_TENSOR_BF16; i <= CEILING_FP64; i++) {
		struct measure here = projection_ridge(&device->peaks, (enum ceiling)i);
		struct measure ridge = projection_ridge(there, (enum ceiling)i);
		struct roof_name name = report_roofline_name((enum ceiling)i);

		if (!report_roofline_uses(device, (enum ceiling)i))
			continue;
		if (ridge.known && here.known)
			part(&parts, "%s %s, ridge at %s FLOP/B, here %s", name.text,
			     ceiling_quantity((enum ceiling)i, there->of[i].measure.value).text,
			     quantity_number(ridge.value, 3).text,
			     quantity_number(here.value, 3).text);
		else
			part(&parts, "%s: not there", name.text);
	}
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_PLAIN, parts.text, 2, 2);
}

static void print_sum(const struct projection_sum *sum, const struct terminal *terminal)
{
	struct parts parts = {0};

	if (!sum->time.known) {
		part(&parts, "no kernel stands under a roof here: nothing is predicted");
	} else {
		part(&parts,
		     "kernels under a roof here, %s of the kernels' time: %s (%s to %s) as long there",
		     quantity_percent(sum->covered).text, quantity_factor(sum->time.value).text,
		     quantity_factor(sum->time.low).text, quantity_factor(sum->time.high).text);
		part(&parts, "%s of that time changes its roof", quantity_percent(sum->moved).text);
	}
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_BOLD, parts.text, 2, 2);
}

static void add_kernel(struct table *table, const struct device_report *device, size_t i,
		       const struct projection *p)
{
	const struct kernel_report *k = &device->kernels[i];

	table_add(table, "%s", quantity_percent(k->share).text);
	table_add(table, "%s",
		  k->roofline.intensity.known ? quantity_number(k->roofline.intensity.value, 3).text
					      : "");
	table_add(table, "%s", report_roofline_name(p->here).text);
	table_add(table, "%s", report_roofline_name(p->there).text);
	table_add(table, "%s", quantity_time(k->mean_ns).text);
	table_add(table, "%s", quantity_time(k->mean_ns * p->time.value).text);
	table_add(table, "%s", quantity_factor(p->time.value).text);
	report_kernels_add_name(table, device, i + 1, i);
}

static void print_kernels(const struct device_report *device, const struct view *view,
			  const struct ceilings *there, const struct terminal *terminal)
{
	static const char *const headings[] = {">share",     ">FLOP/B",    "roof here",
					       "roof there", ">mean here", ">there",
					       ">times",     "kernel",     NULL};
	struct table table;
	size_t shown = 0;

	table_init(&table, headings);
	for (size_t i = 0; i < device->kernel_count && shown < view->top; i++) {
		struct projection p = projection_of(&device->kernels[i], &device->peaks, there);

		if (!p.known)
			continue;
		add_kernel(&table, device, i, &p);
		shown++;
	}
	if (shown)
		table_print(&table, terminal);
	table_fini(&table);
}

void report_projection_print(const struct device_report *device, const struct view *view,
			     const struct terminal *terminal)
{
	struct ceilings there;
	struct projection_sum sum;

	if (!view->on || !device->kernel_count)
		return;
	there = ceilings_derive(&view->on->attributes);
	sum = projection_sum(device, &there);
	terminal_print(terminal, STYLE_BOLD, "\nOn %s, a prediction\n", view->on->words);
	print_roofs(device, &there, terminal);
	print_sum(&sum, terminal);
	print_kernels(device, view, &there, terminal);
	fputs("  ", terminal->out);
	paragraph_print(
		terminal, STYLE_DIM,
		"same FLOPs and bytes, each kernel as near to its roof as here; another L2, what libraries would run "
		"there, and the CPU are not in it",
		2, 2);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_DIM, view->on->source, 2, 2);
}
