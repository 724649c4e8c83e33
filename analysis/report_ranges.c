/* An indented tree: shares of the window, then what a range's own time is. */
#include "report_ranges.h"

#include <stdlib.h>

#include "paragraph.h"
#include "parts.h"
#include "printable.h"
#include "quantity.h"
#include "table.h"

#define NAME_COLUMNS 60
#define SHOWN 0.005 /* of the window: time outside of ranges below is not named */
/* Libraries have ranges of their own, as CUB: where all ranges hold less, they are no answer. */
#define RANGES_SHOWN 0.01

static const struct range_window *window_of(const struct range_report *range,
					    const struct view *view,
					    const struct device_report *device)
{
	return view_window(view, device) == &device->steady ? &range->steady : &range->whole;
}

/* Without the cost of tracing, as all shares are. */
static double time_of(const uint64_t leaf_ns[LEAF_COUNT])
{
	double sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += i == LEAF_TRACING ? 0 : (double)leaf_ns[i];
	return sum;
}

static double pillar_share(const uint64_t leaf_ns[LEAF_COUNT], enum regime pillar)
{
	double all = time_of(leaf_ns), sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		if (i != LEAF_TRACING && leaf_pillar((enum leaf)i) == pillar)
			sum += (double)leaf_ns[i];
	return all > 0 ? sum / all : 0;
}

static int by_time(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The time that a range must have to be among the `top` largest: those around it have it too. */
static double least_shown(const struct device_report *device, const struct view *view)
{
	size_t count = device->ranges.count;
	double *time = calloc(count, sizeof(*time)), least;

	for (size_t i = 0; time && i < count; i++)
		time[i] = time_of(window_of(&device->ranges.range[i], view, device)->total_ns);
	if (time)
		qsort(time, count, sizeof(*time), by_time);
	least = time && view->top && view->top < count ? time[view->top - 1] : 0;
	free(time);
	return least;
}

static void add_name(struct table *table, const struct range_report *range)
{
	char *name = range->name ? printable_line(range->name, NAME_COLUMNS) : NULL;
	char *domain = range->domain ? printable_line(range->domain, NAME_COLUMNS) : NULL;

	table_add(table, "%*s%s%s%s", 2 * (int)(range->depth < 20 ? range->depth : 20), "",
		  domain ? domain : "", domain ? ":" : "", name ? name : "(no name)");
	free(name);
	free(domain);
}

static void add_row(struct table *table, const struct range_report *range,
		    const struct range_window *window, double base)
{
	static const enum regime pillars[] = {REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD,
					      REGIME_OTHER};
	double total = time_of(window->total_ns);

	table_add(table, "%s", quantity_percent(total / base).text);
	table_add(table, "%s", quantity_percent(time_of(window->self_ns) / base).text);
	for (unsigned p = 0; p < 4; p++)
		table_add(table, "%s",
			  quantity_percent(pillar_share(window->total_ns, pillars[p])).text);
	table_add(table, "%s", quantity_count(window->count).text);
	table_add(table, "%s",
		  window->count ? quantity_time(total / (double)window->count).text : "");
	add_name(table, range);
}

static void print_notes(const struct device_report *device, const struct view *view, double base,
			const struct terminal *terminal)
{
	const struct ranges_report *ranges = &device->ranges;
	double outside = time_of(window_of(&ranges->outside, view, device)->self_ns) / base;
	double stranger = time_of(window_of(&ranges->stranger, view, device)->self_ns) / base;
	struct parts parts = {0};

	part(&parts, "self: not in a range inside; the pillars are of total");
	if (outside >= SHOWN)
		part(&parts, "outside of all ranges %s", quantity_percent(outside).text);
	if (stranger >= SHOWN)
		part(&parts,
		     "launched by threads that never opened one, as autograd's backward thread, %s",
		     quantity_percent(stranger).text);
	if (ranges->crowded)
		part(&parts, "%s range%s found no room and count as the one around them",
		     quantity_count(ranges->crowded).text, plural(ranges->crowded));
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_DIM, parts.text, 2, 2);
}

static double share_in_ranges(const struct device_report *device, const struct view *view)
{
	double base = (double)view_base_ns(view_window(view, device));
	double outside = time_of(window_of(&device->ranges.outside, view, device)->self_ns);

	return device->ranges.known && base > 0 ? 1 - outside / base : 0;
}

void report_ranges_print(const struct device_report *device, const struct view *view,
			 const struct terminal *terminal)
{
	static const char *const headings[] = {">total",    ">self",  ">compute", ">memory",
					       ">overhead", ">other", ">count",   ">mean",
					       "range",     NULL};
	double base = (double)view_base_ns(view_window(view, device));
	size_t shown = 0, with_time = 0;
	struct table table;
	double least;

	if (share_in_ranges(device, view) < RANGES_SHOWN)
		return;
	least = least_shown(device, view);
	table_init(&table, headings);
	for (size_t i = 0; i < device->ranges.count; i++) {
		const struct range_report *range = &device->ranges.range[i];
		const struct range_window *window = window_of(range, view, device);
		double time = time_of(window->total_ns);

		with_time += time > 0;
		if (time <= 0 || time < least || shown >= view->top)
			continue;
		add_row(&table, range, window, base);
		shown++;
	}
	terminal_print(terminal, STYLE_BOLD,
		       "\nRanges (NVTX), by the device's time for what they launched\n");
	table_print(&table, terminal);
	if (with_time > shown)
		terminal_print(terminal, STYLE_DIM, "  and %zu more (--top %zu)\n",
			       with_time - shown, with_time);
	print_notes(device, view, base, terminal);
	table_fini(&table);
}
