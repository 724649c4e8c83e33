/* The line of ceilings and the two tables of --view roofline. */
#include "report_roofline.h"

#include <stdio.h>
#include <string.h>

#include "paragraph.h"
#include "parts.h"
#include "report_kernels.h"
#include "table.h"

#define PIPE_SHOWN 0.05 /* of the kernels' time: ceilings of pipes used less are not named */
#define KNOWN_LEAST 0.5 /* of the kernels' time: FLOPs of less say little of where they are */
#define DATE_COLUMNS 10 /* "2026-12-01" of an ISO time */

struct roof_name report_roofline_name(enum ceiling ceiling)
{
	struct roof_name name;

	snprintf(name.text, sizeof(name.text), "%s",
		 ceiling == CEILING_DRAM_READ ? "memory" : ceiling_name(ceiling));
	for (char *c = name.text; *c; c++)
		if (*c == '_')
			*c = ' ';
	return name;
}

static bool any_calibrated(const struct ceilings *ceilings)
{
	for (unsigned i = 0; i < CEILING_COUNT; i++)
		if (ceilings->of[i].source == CEILING_CALIBRATED)
			return true;
	return false;
}

static void add_ceiling(struct parts *parts, const struct device_report *device,
			enum ceiling ceiling)
{
	const struct ceiling_value *used = &device->ceilings.of[ceiling];
	const struct measure *peak = &device->peaks.of[ceiling].measure;
	struct quantity value = ceiling_quantity(ceiling, used->measure.value);
	struct roof_name name = report_roofline_name(ceiling);

	if (!used->measure.known)
		return;
	if (used->source == CEILING_CALIBRATED && peak->known)
		part(parts, "%s %s (%s)", name.text, value.text,
		     quantity_percent(used->measure.value / peak->value).text);
	else
		part(parts, "%s %s", name.text, value.text);
}

bool report_roofline_uses(const struct device_report *device, enum ceiling pipe)
{
	double own = 0, all = 0;

	for (size_t i = 0; i < device->kernel_count; i++) {
		const struct kernel_report *k = &device->kernels[i];

		all += (double)k->busy_ns;
		own += k->flops.known && k->pipe == pipe ? (double)k->busy_ns : 0;
	}
	return own > PIPE_SHOWN * all;
}

void report_roofline_ceilings(const struct device_report *device, const struct view *view,
			      const struct terminal *terminal)
{
	struct parts parts = {0}, line = {0};
	bool calibrated = any_calibrated(&device->ceilings), any = false;

	add_ceiling(&parts, device, CEILING_DRAM_READ);
	for (unsigned i = CEILING_TENSOR_BF16; i <= CEILING_FP64; i++)
		if (report_roofline_uses(device, (enum ceiling)i))
			add_ceiling(&parts, device, (enum ceiling)i);
	if (!parts.size)
		return;
	for (size_t i = 0; i < device->kernel_count; i++)
		any |= device->kernels[i].roofline.pct.known;
	if (any && !view->roofline)
		part(&parts, "--view roofline");
	if (calibrated)
		part(&line, "Ceilings calibrated%s%.*s (of peak): %s",
		     *device->ceilings.date ? " " : "", DATE_COLUMNS, device->ceilings.date,
		     parts.text);
	else
		part(&line, "Ceilings derived: %s", parts.text);
	paragraph_print(terminal, STYLE_PLAIN, line.text, 0, 2);
}

/* --- FLOPs against time --- */

/* Over the time of the part of the class in which it is known. */
static double rate_of(const struct measure *sum, const struct class_report *c, double known_share)
{
	return sum->value * 1e9 / ((double)c->time_ns * known_share);
}

static void add_class(struct table *table, const struct class_report *c, enum kernel_class class)
{
	table_add(table, "%s", class_words(class));
	table_add(table, "%s", quantity_count(c->launches).text);
	table_add(table, "%s", quantity_percent(c->time_share).text);
	/* 99.8 % is not all. */
	if (c->flops_share.known && c->flops_share.value >= 0.001)
		table_add(table, "%.1f %%", 100 * c->flops_share.value);
	else
		table_add(table, "%s",
			  c->flops_share.known ? quantity_percent(c->flops_share.value).text : "");
	table_add(table, "%s", quantity_percent(c->known_share).text);
	table_add(
		table, "%s",
		c->flops.known && c->known_share > 0
			? quantity_operations(rate_of(&c->flops, c, c->known_share), "FLOP/s").text
			: "");
	table_add(table, "%s",
		  c->bytes.known && c->bytes_known_share > 0
			  ? quantity_rate(rate_of(&c->bytes, c, c->bytes_known_share)).text
			  : "");
}

static void print_classes(const struct device_report *device, const struct terminal *terminal)
{
	static const char *const headings[] = {"kernels", ">launches", ">time",    ">FLOPs",
					       ">known",  ">FLOP/s",   ">bytes/s", NULL};
	double known = classes_known_share(device);
	struct parts parts = {0};
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "\nFLOPs against time, by class of kernels\n");
	part(&parts, "FLOPs are known for kernels with %s of the time%s",
	     quantity_percent(known).text,
	     known < KNOWN_LEAST ? ": too little to say where they are" : "");
	if (known >= KNOWN_LEAST) {
		table_init(&table, headings);
		for (unsigned i = 0; i < CLASS_COUNT; i++)
			if (device->classes[i].launches)
				add_class(&table, &device->classes[i], (enum kernel_class)i);
		table_print(&table, terminal);
		table_fini(&table);
	}
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_DIM, parts.text, 2, 2);
}

/* --- kernels against their roofs --- */

static bool has_work(const struct kernel_report *kernel)
{
	return kernel->roofline.flops_per_s.known || kernel->roofline.bytes_per_s.known;
}

static const char *bytes_mark(const struct kernel_report *kernel)
{
	if (!kernel->roofline.bytes_per_s.known)
		return "";
	if (kernel->bytes_source == EVIDENCE_LIBRARY)
		return "\xe2\x89\xa5";
	return kernel->bytes_source == EVIDENCE_GEOMETRY ? "~" : "";
}

static void add_rates(struct table *table, const struct kernel_report *kernel)
{
	const struct roofline *r = &kernel->roofline;

	table_add(table, "%s%s",
		  r->flops_per_s.known && kernel->flops_source != EVIDENCE_LIBRARY ? "~" : "",
		  r->flops_per_s.known ? quantity_operations(r->flops_per_s.value, "FLOP/s").text
				       : "");
	table_add(table, "%s%s", bytes_mark(kernel),
		  r->bytes_per_s.known ? quantity_rate(r->bytes_per_s.value).text : "");
}

static void add_roof(struct table *table, const struct kernel_report *kernel)
{
	const struct roofline *r = &kernel->roofline;

	if (r->intensity.known)
		table_add(table, "%s", quantity_number(r->intensity.value, 3).text);
	else
		table_add(table, "%s", "");
	table_add(table, "%s", r->pct.known ? quantity_percent(r->pct.value / 100).text : "");
	table_add(table, "%s", r->pct.known ? report_roofline_name(r->roof).text : "");
}

static void print_rooflines(const struct device_report *device, const struct view *view,
			    const struct terminal *terminal)
{
	static const char *const headings[] = {">share",   ">FLOP/s", ">bytes/s", ">FLOP/B",
					       ">of roof", "roof",    "kernel",   NULL};
	struct table table;
	size_t shown = 0, without = 0;

	table_init(&table, headings);
	for (size_t i = 0; i < device->kernel_count; i++) {
		const struct kernel_report *kernel = &device->kernels[i];

		without += !has_work(kernel);
		if (!has_work(kernel) || shown >= view->top)
			continue;
		shown++;
		table_add(&table, "%s", quantity_percent(kernel->share).text);
		add_rates(&table, kernel);
		add_roof(&table, kernel);
		report_kernels_add_name(&table, device, i + 1, i);
	}
	if (shown) {
		terminal_print(terminal, STYLE_BOLD,
			       "\nKernels against their roofs, by share of the %s\n",
			       device->steady.known ? "steady time" : "whole run");
		table_print(&table, terminal);
		fputs("  ", terminal->out);
		paragraph_print(
			terminal, STYLE_DIM,
			"of roof: achieved over the smaller of the pipe's ceiling and FLOP/B x memory \xc2\xb7 "
			"~ an estimate: FLOPs by counters, bytes by name and grid \xc2\xb7 "
			"\xe2\x89\xa5 operands of library calls, each once",
			2, 2);
	}
	table_fini(&table);
	if (device->kernel_count > shown)
		terminal_print(
			terminal, STYLE_DIM,
			"  and %zu more, %zu of them with neither FLOPs nor bytes known (--top %zu)\n",
			device->kernel_count - shown, without, device->kernel_count);
}

void report_roofline_print(const struct device_report *device, const struct view *view,
			   const struct terminal *terminal)
{
	if (!device->kernel_count)
		return;
	print_classes(device, terminal);
	print_rooflines(device, view, terminal);
}
