/* The first screen: what ran, what binds it, which kernels, where the GPU waited, what to do, what
 * was not seen. */
#include "report_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "label.h"
#include "outliers.h"
#include "paragraph.h"
#include "parts.h"
#include "printable.h"
#include "quantity.h"
#include "report_collectives.h"
#include "report_kernels.h"
#include "report_projection.h"
#include "report_ranges.h"
#include "report_roofline.h"
#include "table.h"

#define BAR_COLUMNS 25 /* of 100 % */
#define LEAVES_COLUMN (2 + 9 + 7 + 2 + BAR_COLUMNS + 2)
#define SHOWN 0.005     /* leaves below are not named */
#define WAIT_SHOWN 0.01 /* nor idle time and copies below */
#define HOST_SHOWN 0.05 /* nor what the CPU did in host time, if it ran for the rest */
#define TEXT_LIMIT 4096
#define NAME_COLUMNS 60
#define CAUSE_COLUMNS 40
#define CAUSE_SHOWN 0.5 /* of the leaf that grew: a kernel that explains less does not explain it */
#define CLOCK_HELD 0.97 /* of the highest clock: below, something held it down */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* --- what ran --- */

__attribute__((format(printf, 2, 3))) static void warn(const struct terminal *terminal,
						       const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	paragraph_warn(terminal, text);
}

static void print_process(const struct process_report *process, const struct terminal *terminal)
{
	char *command = printable_line(process->command && *process->command ? process->command
									     : process->path,
				       terminal->columns);
	char *host = printable_line(process->host, 40), *rank = printable_line(process->rank, 20);
	char *version = printable_line(process->version, 20);
	struct parts parts = {0};

	terminal_print(terminal, STYLE_BOLD, "%s\n", command);
	if (process->pid)
		part(&parts, "pid %" PRIu64, process->pid);
	if (*host)
		part(&parts, "host %s", host);
	if (*rank)
		part(&parts, "rank %s", rank);
	if (process->driver_version)
		part(&parts, "CUDA driver %u.%u", process->driver_version / 1000,
		     process->driver_version % 1000 / 10);
	if (process->traced_ns)
		part(&parts, "%s traced", quantity_time((double)process->traced_ns).text);
	if (*version)
		part(&parts, "boundshim %s", version);
	paragraph_print(terminal, STYLE_PLAIN, parts.text, 0, 2);
	free(command);
	free(host);
	free(rank);
	free(version);
}

/* Were any kernels or copies recorded? */
static bool has_records(const struct process_report *process)
{
	return process->device_count && process->coverage.kernels + process->coverage.copies > 0;
}

static void print_process_warnings(const struct process_report *process,
				   const struct terminal *terminal)
{
	if (!process->complete)
		warn(terminal, "This trace is incomplete: %s. The figures are of what is there.",
		     process->incomplete_reason ? process->incomplete_reason : "it was cut off");
	if (!has_records(process))
		warn(terminal,
		     "No device times were recorded (mode %s%s%s): launches were counted, but what binds the GPU "
		     "cannot be told.",
		     process->mode ? process->mode : "unknown", process->cupti ? "; CUPTI " : "",
		     or_empty(process->cupti));
}

/* "; 1.05 s of it waiting for memcpy": the kernel or copy that makes outliers what they are, if one
 * does. */
static void outlier_words(const struct steps *steps, double more_ns, char *text, size_t size)
{
	const struct outlier_cause *cause = &steps->cause[0];
	char *what;

	text[0] = '\0';
	if (!steps->cause_count || cause->more_ns < CAUSE_SHOWN * more_ns)
		return;
	what = printable_line(cause->what, CAUSE_COLUMNS);
	snprintf(text, size, "; %s %s %s", quantity_time(cause->more_ns).text,
		 cause->idle ? "waiting for" : "by", what);
	free(what);
}

/* "apart: start-up 9.80 s, 12 warm-up steps, 3 outliers of 1.20 s (1.10 s more in host; 1.05 s waiting for
 * gemm)": what the steady part leaves out. */
static void add_apart(struct parts *parts, const struct device_report *device, uint64_t startup_ns)
{
	const struct steps *steps = &device->steps;
	struct outliers outliers = outliers_of(device);
	char text[400] = "", cause[160];
	size_t size = 0;

	if (startup_ns)
		size += (size_t)snprintf(text, sizeof(text), ", start-up %s",
					 quantity_time((double)startup_ns).text);
	if (steps->known && steps->warmup_count)
		size += (size_t)snprintf(text + size, sizeof(text) - size, ", %s warm-up step%s",
					 quantity_count(steps->warmup_count).text,
					 plural(steps->warmup_count));
	if (steps->known && steps->outlier_count)
		size += (size_t)snprintf(text + size, sizeof(text) - size, ", %s outlier%s",
					 quantity_count(steps->outlier_count).text,
					 plural(steps->outlier_count));
	if (outliers.known && outliers.more_ns[outliers.grew] > 0) {
		outlier_words(steps, outliers.more_ns[outliers.grew], cause, sizeof(cause));
		snprintf(text + size, sizeof(text) - size, " of %s (%s more in %s%s)",
			 quantity_time(outliers.mean_ns).text,
			 quantity_time(outliers.more_ns[outliers.grew]).text,
			 leaf_name(outliers.grew), cause);
	}
	if (size)
		part(parts, "apart: %s", text + 2);
}

static void print_steps(const struct device_report *device, const struct process_report *process,
			const struct view *view, const struct terminal *terminal)
{
	const struct steps *steps = &device->steps;
	char layers[32] = "";
	struct parts parts = {0};

	if (view->whole || !device->steady.known) {
		part(&parts, "the whole run, %s",
		     quantity_time((double)device->whole.window_ns).text);
		if (!device->steady.known)
			part(&parts, "no steady part found");
		paragraph_print(terminal, STYLE_PLAIN, parts.text, 0, 2);
		return;
	}
	if (steps->layers)
		snprintf(layers, sizeof(layers), " in %u equal layers", steps->layers);
	if (steps->known)
		part(&parts, "%s step%s of %s (%s to %s), %s kernel%s%s each",
		     quantity_count(steps->count).text, plural(steps->count),
		     quantity_time((double)steps->period_ns).text,
		     quantity_time((double)steps->low_ns).text,
		     quantity_time((double)steps->high_ns).text,
		     quantity_count(steps->kernels).text, plural(steps->kernels), layers);
	else
		part(&parts, "no repeating step found: %s of device activity",
		     quantity_time((double)device->steady.window_ns).text);
	add_apart(&parts, device, process->startup_ns);
	paragraph_print(terminal, STYLE_PLAIN, parts.text, 0, 2);
}

/* The highest clock, and the one that ran if it was another: a product at the power limit runs at
 * two thirds of it. */
static void add_clock(struct parts *parts, const struct device_report *device)
{
	double most = (double)device->attributes.clock_khz / 1e3;
	double ran = device->sm_clock_hz.value / 1e6;

	if (most > 0 && device->sm_clock_hz.known && ran < CLOCK_HELD * most)
		part(parts, "%.0f of %.0f MHz while busy", ran, most);
	else if (most > 0)
		part(parts, "%.0f MHz", most);
}

static void print_device(const struct device_report *device, const struct process_report *process,
			 const struct view *view, const struct terminal *terminal)
{
	char *name = printable_line(device->name && *device->name ? device->name : "unknown", 60);
	struct parts parts = {0};

	part(&parts, "%s", strcmp(name, "unknown") ? name : "unknown GPU");
	if (process->device_count > 1 || device->index)
		part(&parts, "device %u", device->index);
	if (device->attributes.sm_count)
		part(&parts, "%" PRIu64 " SMs", device->attributes.sm_count);
	add_clock(&parts, device);
	terminal_print(terminal, STYLE_PLAIN, "%s\n", parts.text);
	print_steps(device, process, view, terminal);
	if (device->shared)
		warn(terminal,
		     "Something else used this GPU during the run: counter evidence and the split of idle "
		     "time are withheld.");
	if (device->mps)
		warn(terminal,
		     "Run under MPS: kernels of other processes may run beside these and make "
		     "them longer, and a limit on SMs makes the GPU smaller.");
	if (device->mig)
		warn(terminal,
		     "An instance of a GPU (MIG): its memory and caches have a part of the "
		     "GPU's throughput, peaks are those that the driver tells.");
	free(name);
}

/* --- the verdict and the pillars --- */

static const char *confidence_word(double confidence)
{
	if (confidence >= 0.75)
		return "high";
	return confidence >= CONFIDENCE_UNSURE ? "medium" : "low";
}

static void print_verdict(const struct verdict *verdict, const char *scope,
			  const struct terminal *terminal)
{
	const char *title = label_title(verdict->regime);
	char *sentence = printable_copy(verdict->sentence ? verdict->sentence
							  : "the trace does not say what binds it",
					PRINTABLE_LINE, TEXT_LIMIT);
	struct parts parts = {0};

	part(&parts, "%s%s", scope, sentence);
	if (verdict->regime != REGIME_UNKNOWN)
		part(&parts, "confidence %s", confidence_word(verdict->confidence));
	terminal_style(terminal, STYLE_BOLD);
	terminal_print(terminal, label_style(verdict->regime), "%s", title);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_BOLD, parts.text, (unsigned)strlen(title) + 2,
			(unsigned)strlen(title) + 2);
	free(sentence);
}

/* A bar in eighths of a column; returns its columns. */
static unsigned print_bar(const struct terminal *terminal, enum style style, double share)
{
	static const char *const eighths[] = {"",
					      "\xe2\x96\x8f",
					      "\xe2\x96\x8e",
					      "\xe2\x96\x8d",
					      "\xe2\x96\x8c",
					      "\xe2\x96\x8b",
					      "\xe2\x96\x8a",
					      "\xe2\x96\x89",
					      "\xe2\x96\x88"};
	unsigned left = share > 0 ? (unsigned)(share * BAR_COLUMNS * 8 + 0.5) : 0, used = 0;

	left = left > BAR_COLUMNS * 8 ? BAR_COLUMNS * 8 : left;
	terminal_style(terminal, style);
	for (; left; left -= left < 8 ? left : 8, used++)
		fputs(eighths[left < 8 ? left : 8], terminal->out);
	terminal_style(terminal, STYLE_PLAIN);
	return used;
}

/* A share without its sign, which stands at the pillar already. */
static struct quantity percent_number(double share)
{
	struct quantity q = quantity_percent(share);

	q.text[strcspn(q.text, " ")] = '\0';
	return q;
}

static void print_pillar(const struct window *window, enum regime pillar,
			 const struct terminal *terminal)
{
	double share = view_pillar_share(window, pillar);
	struct parts parts = {0};
	unsigned used;

	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		double leaf = view_leaf_share(window, (enum leaf)i);

		if (leaf_pillar((enum leaf)i) == pillar && leaf >= SHOWN)
			part(&parts, "%s %s", leaf_name((enum leaf)i), percent_number(leaf).text);
	}
	/* "compute 84 % ... compute 84 %" would say it twice. */
	if (pillar == REGIME_COMPUTE)
		parts.text[0] = '\0';
	fprintf(terminal->out, "  %-9s%7s", regime_name(pillar), quantity_percent(share).text);
	if (share * BAR_COLUMNS * 8 >= 0.5)
		fputs("  ", terminal->out);
	used = print_bar(terminal, label_style(pillar), share);
	used += share * BAR_COLUMNS * 8 >= 0.5 ? 0 : -2u;
	if (!parts.text[0]) {
		fputc('\n', terminal->out);
		return;
	}
	fprintf(terminal->out, "%*s", (int)(BAR_COLUMNS - used) + 2, "");
	paragraph_print(terminal, STYLE_PLAIN, parts.text, LEAVES_COLUMN, LEAVES_COLUMN);
}

static void print_pillars(const struct window *window, const struct terminal *terminal)
{
	print_pillar(window, REGIME_COMPUTE, terminal);
	print_pillar(window, REGIME_MEMORY, terminal);
	print_pillar(window, REGIME_OVERHEAD, terminal);
	if (view_pillar_share(window, REGIME_OTHER) > SHOWN)
		print_pillar(window, REGIME_OTHER, terminal);
	terminal_print(
		terminal, STYLE_DIM,
		"  nvidia-smi would show GPU-Util of about %s: time with any kernel or copy, however small\n",
		quantity_percent(view_utilisation(window)).text);
}

/* --- waiting and copying --- */

/* Is this leaf idle time worth a row? */
static bool waited(const struct window *window, enum leaf leaf)
{
	return leaf_idle(leaf) && leaf != LEAF_TRACING &&
	       view_leaf_share(window, leaf) >= WAIT_SHOWN;
}

/* What the thread did meanwhile, where the trace has measured most of it and it did not just run. */
static void host_words(const struct host_parts *host, uint64_t all_ns, struct parts *parts)
{
	double all = (double)all_ns, blocked = (double)host->blocked_ns / all;
	double preempted = (double)host->preempted_ns / all;

	if (2 * host->unmeasured_ns > all_ns || blocked + preempted < HOST_SHOWN)
		return;
	part(parts, "of host, the CPU ran %s%s%s%s%s",
	     quantity_percent(1 - blocked - preempted).text,
	     blocked >= SHOWN ? ", slept (data, locks, I/O) " : "",
	     blocked >= SHOWN ? quantity_percent(blocked).text : "",
	     preempted >= SHOWN ? ", waited for a core " : "",
	     preempted >= SHOWN ? quantity_percent(preempted).text : "");
}

/* What the leaves of the table mean, once below it. */
static void print_meanings(const struct window *window, const struct terminal *terminal)
{
	double queue = view_base_ns(window)
			       ? (double)window->launch_queue_gap_ns / (double)view_base_ns(window)
			       : 0;
	struct parts parts = {0};

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		if (waited(window, (enum leaf)i))
			part(&parts, "%s: %s", leaf_name((enum leaf)i), leaf_words((enum leaf)i));
	if (waited(window, LEAF_HOST))
		host_words(&window->host, window->leaf_ns[LEAF_HOST], &parts);
	if (queue >= SHOWN)
		part(&parts, "%s of the time, inside launch, lies between kernels already queued",
		     quantity_percent(queue).text);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_DIM, parts.text, 2, 2);
}

static void print_gaps(const struct device_report *device, const struct view *view,
		       const struct terminal *terminal)
{
	static const char *const headings[] = {"idle in", ">share",   ">per step",      ">gaps",
					       ">mean",   ">longest", "longest before", NULL};
	const struct window *window = view_window(view, device);
	bool per_step = device->steps.known && device->steps.count && window == &device->steady;
	/* Gaps are those of the steady part where there is one. */
	bool counted = window == &device->steady || !device->steady.known;
	static const struct gap_report none;
	struct table table;

	table_init(&table, headings);
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		const struct gap_report *gaps = counted ? &device->gaps[i] : &none;
		char *before;

		if (!waited(window, (enum leaf)i))
			continue;
		before = printable_line(gaps->worst_count ? gaps->worst[0].before : "",
					NAME_COLUMNS);
		table_add(&table, "%s", leaf_name((enum leaf)i));
		table_add(&table, "%s",
			  quantity_percent(view_leaf_share(window, (enum leaf)i)).text);
		table_add(&table, "%s",
			  per_step ? quantity_time((double)window->leaf_ns[i] /
						   (double)device->steps.count)
					     .text
				   : "");
		table_add(&table, "%s", gaps->count ? quantity_count(gaps->count).text : "");
		table_add(&table, "%s",
			  gaps->count
				  ? quantity_time((double)gaps->total_ns / (double)gaps->count).text
				  : "");
		table_add(&table, "%s",
			  gaps->worst_count ? quantity_time((double)gaps->worst[0].duration_ns).text
					    : "");
		table_add(&table, "%s", before);
		free(before);
	}
	if (table.cell_count) {
		terminal_print(terminal, STYLE_BOLD, "\nWhere the GPU waited\n");
		table_print(&table, terminal);
		print_meanings(window, terminal);
	}
	table_fini(&table);
}

static void print_copies(const struct device_report *device, const struct view *view,
			 const struct terminal *terminal)
{
	static const char *const headings[] = {">share", ">exposed",  ">copies", ">each",
					       ">rate",  "direction", NULL};
	const struct window *window = view_window(view, device);
	double base = (double)view_base_ns(window);
	struct table table;

	table_init(&table, headings);
	for (size_t i = 0; base > 0 && i < device->copy_count && i < view->top; i++) {
		const struct copy_report *copy = &device->copies[i];
		bool path = copy->source && copy->target && *copy->source && *copy->target;

		if ((double)copy->total_ns < WAIT_SHOWN * base || !copy->count)
			continue;
		table_add(&table, "%s", quantity_percent((double)copy->total_ns / base).text);
		table_add(&table, "%s", quantity_percent((double)copy->exposed_ns / base).text);
		table_add(&table, "%s", quantity_count(copy->count).text);
		table_add(&table, "%s",
			  quantity_bytes((double)copy->bytes / (double)copy->count).text);
		table_add(&table, "%s",
			  quantity_rate((double)copy->bytes * 1e9 / (double)copy->total_ns).text);
		table_add(&table, "%s%s%s%s%s%s", copy->direction, path ? " (" : "",
			  path ? copy->source : "", path ? " to " : "", path ? copy->target : "",
			  path ? ")" : "");
	}
	if (table.cell_count) {
		terminal_print(terminal, STYLE_BOLD, "\nCopies (exposed: while no kernel ran)\n");
		table_print(&table, terminal);
	}
	table_fini(&table);
}

/* --- what to do --- */

/* "3.20x (2.60x to 3.50x)  a step 1.83 ms -> 571 us"; "(up to 1.30x)" where nothing is certain to
 * be saved. */
static void print_gain(const struct advice *advice, double now, const struct terminal *terminal)
{
	const struct measure *saves = &advice->saves_ns;
	bool up_to = advice->speedup.low <= 1.005;
	bool sure = advice->speedup.high - advice->speedup.low < 0.02;

	if (!advice->speedup.known)
		return;
	fputs("  ", terminal->out);
	terminal_style(terminal, STYLE_BOLD);
	fprintf(terminal->out, "%.2fx", advice->speedup.value);
	terminal_style(terminal, STYLE_PLAIN);
	if (up_to)
		fprintf(terminal->out, " (up to %.2fx)", advice->speedup.high);
	else if (!sure)
		fprintf(terminal->out, " (%.2fx to %.2fx)", advice->speedup.low,
			advice->speedup.high);
	if (now > 0 && saves->known)
		fprintf(terminal->out, "  a step %s -> %s", quantity_time(now).text,
			quantity_time(now - saves->value).text);
}

/* What the figures stand on, and that they do not add up. */
static void print_simulation(const struct device_report *device, const struct terminal *terminal)
{
	const struct whatif *w = &device->whatif;
	struct parts parts = {0};

	if (!w->known)
		return;
	if (device->advice_count > 1 && w->together.known)
		part(&parts,
		     "Effects do not add up: all together, at the same batch, make a step of %s to %s",
		     quantity_time(w->together.low).text, quantity_time(w->together.high).text);
	part(&parts,
	     "simulated: %s steps played unchanged take %s each, recorded were %s, without "
	     "tracing %s",
	     quantity_count(w->steps).text, quantity_time(w->replayed_ns).text,
	     quantity_time(w->recorded_ns).text, quantity_time(w->base_ns).text);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_DIM, parts.text, 2, 2);
}

static void print_advice(const struct device_report *device, const struct terminal *terminal)
{
	if (device->steps.known && device->whatif.reason)
		terminal_print(terminal, STYLE_DIM, "\nNo advice with figures: %s\n",
			       device->whatif.reason);
	if (!device->advice_count)
		return;
	terminal_print(terminal, STYLE_BOLD, "\nWorth doing\n");
	for (size_t i = 0; i < device->advice_count; i++) {
		const struct advice *advice = &device->advice[i];
		char *why = printable_copy(advice->why, PRINTABLE_LINE, TEXT_LIMIT);
		char *how = printable_copy(advice->how, PRINTABLE_LINE, TEXT_LIMIT);

		terminal_print(terminal, STYLE_PLAIN, "  %zu. ", i + 1);
		terminal_print(terminal, STYLE_BOLD, "%s", advice->title);
		print_gain(advice, device->whatif.base_ns, terminal);
		fputc('\n', terminal->out);
		if (*why)
			fputs("     ", terminal->out),
				paragraph_print(terminal, STYLE_PLAIN, why, 5, 5);
		if (*how)
			fputs("     Try: ", terminal->out),
				paragraph_print(terminal, STYLE_PLAIN, how, 10, 5);
		free(why);
		free(how);
	}
	print_simulation(device, terminal);
}

/* --- coverage, losses, own cost --- */

static void add_kernels_part(struct parts *parts, const struct coverage *coverage)
{
	uint64_t missing = coverage->kernels - coverage->kernels_explained;

	if (!coverage->kernels) {
		part(parts, "%s launch calls counted, no kernel records",
		     quantity_count(coverage->launches_seen ? coverage->launches_seen
							    : coverage->launches_hooked)
			     .text);
		return;
	}
	if (coverage->kernels_explained >= coverage->kernels)
		part(parts, "%s kernels, all explained", quantity_count(coverage->kernels).text);
	else
		part(parts, "%s kernels, %s not explained", quantity_count(coverage->kernels).text,
		     quantity_count(missing).text);
}

static void add_cost_part(struct parts *parts, const struct process_report *process,
			  const struct view *view)
{
	double tracing = 0, device = 0, time = 0;
	const char *bound;

	for (size_t i = 0; i < process->device_count; i++) {
		const struct window *window = view_window(view, &process->devices[i]);

		if (!window->known)
			continue;
		tracing += (double)window->leaf_ns[LEAF_TRACING];
		device += (double)window->tracing_device_ns;
		time += (double)window->window_ns;
	}
	if (time <= 0)
		return;
	/* Costs of calls are those of a tight loop: docs/accounting.md. */
	bound = tracing / time < SHOWN ? "" : "at least ";
	if (device / time < SHOWN)
		part(parts, "tracing cost %s%s, taken out", bound,
		     quantity_percent(tracing / time).text);
	else
		part(parts, "tracing cost %s%s (CPU %s, GPU %s), taken out", bound,
		     quantity_percent(tracing / time).text,
		     quantity_percent((tracing - device) / time).text,
		     quantity_percent(device / time).text);
}

/* Where the units' figures come from, or why there are none. */
static void add_counters_part(struct parts *parts, const struct process_report *process)
{
	for (size_t i = 0; i < process->device_count; i++) {
		const struct counters_report *c = &process->devices[i].counters;
		char *reason = c->reason ? printable_line(c->reason, 120) : NULL;

		if (c->known && c->samples)
			part(parts, "%s counter samples", quantity_count(c->samples).text);
		if (c->known && reason)
			part(parts, "counters %s: %s", c->samples ? "ended" : "off", reason);
		free(reason);
	}
}

static void print_coverage(const struct process_report *process, const struct view *view,
			   const struct terminal *terminal)
{
	const struct coverage *coverage = &process->coverage;
	uint64_t launches =
		coverage->launches_seen ? coverage->launches_seen : coverage->launches_hooked;
	struct parts parts = {0};

	fputc('\n', terminal->out);
	add_kernels_part(&parts, coverage);
	if (coverage->lost)
		part(&parts, "%s record%s lost", quantity_count(coverage->lost).text,
		     plural(coverage->lost));
	else
		part(&parts, "nothing lost");
	add_counters_part(&parts, process);
	add_cost_part(&parts, process, view);
	if (coverage->trace_bytes && launches)
		part(&parts, "%s, %s B/launch", quantity_bytes((double)coverage->trace_bytes).text,
		     quantity_number((double)coverage->trace_bytes / (double)launches, 2).text);
	paragraph_print(terminal, STYLE_DIM, parts.text, 0, 2);
	if (!coverage->lost)
		return;
	parts = (struct parts){0};
	for (size_t i = 0; i < coverage->dropped_count; i++) {
		char *cause = printable_line(coverage->dropped[i].cause, 40);

		if (coverage->dropped[i].count)
			part(&parts, "%s %s", cause,
			     quantity_count(coverage->dropped[i].count).text);
		free(cause);
	}
	terminal_print(terminal, STYLE_WARNING, "! ");
	fputs("lost: ", terminal->out);
	paragraph_print(terminal, STYLE_PLAIN, parts.text, 8, 2);
}

/* --- the whole --- */

static void print_device_block(const struct device_report *device,
			       const struct process_report *process, const struct view *view,
			       const struct terminal *terminal)
{
	const struct window *window = view_window(view, device);

	print_device(device, process, view, terminal);
	report_roofline_ceilings(device, view, terminal);
	fputc('\n', terminal->out);
	print_verdict(&device->verdict,
		      view->whole && device->steady.known ? "in the steady part, " : "", terminal);
	/* Bars of nothing but unknown would only look like an answer. */
	if (!window->known || !has_records(process))
		return;
	if (view->roofline) {
		report_roofline_print(device, view, terminal);
		report_projection_print(device, view, terminal);
		return;
	}
	fputc('\n', terminal->out);
	print_pillars(window, terminal);
	report_kernels_print(device, view, terminal);
	report_projection_print(device, view, terminal);
	report_ranges_print(device, view, terminal);
	print_gaps(device, view, terminal);
	print_copies(device, view, terminal);
	print_advice(device, terminal);
}

static void print_process_block(const struct process_report *process, const struct view *view,
				const struct terminal *terminal)
{
	static const struct verdict unknown = {.regime = REGIME_UNKNOWN, .leaf = LEAF_UNKNOWN};
	bool first = true;

	print_process(process, terminal);
	print_process_warnings(process, terminal);
	if (!process->device_count) {
		fputc('\n', terminal->out);
		print_verdict(&unknown, "", terminal);
	}
	for (size_t i = 0; i < process->device_count; i++) {
		if (!view_has_device(view, &process->devices[i]))
			continue;
		if (!first)
			fputc('\n', terminal->out);
		first = false;
		print_device_block(&process->devices[i], process, view, terminal);
	}
	print_coverage(process, view, terminal);
}

static size_t device_total(const struct report *report, const struct view *view)
{
	size_t total = 0;

	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++)
			total += view_has_process(view, &report->processes[p]) &&
				 view_has_device(view, &report->processes[p].devices[d]);
	return total;
}

static void add_summary_row(struct table *table, const struct process_report *process,
			    const struct device_report *device, const struct view *view)
{
	const struct window *window = view_window(view, device);
	char *rank = printable_line(process->rank, 12), *host = printable_line(process->host, 24);
	char *name = printable_line(device->name, 40);

	table_add(table, "%s", rank);
	table_add(table, "%" PRIu64, process->pid);
	table_add(table, "%s", host);
	table_add(table, "%u", device->index);
	table_add(table, "%s",
		  device->steps.known ? quantity_time((double)device->steps.period_ns).text : "");
	table_add(table, "%s", quantity_percent(view_pillar_share(window, REGIME_COMPUTE)).text);
	table_add(table, "%s", quantity_percent(view_pillar_share(window, REGIME_MEMORY)).text);
	table_add(table, "%s", quantity_percent(view_pillar_share(window, REGIME_OVERHEAD)).text);
	table_add(table, "%s", quantity_percent(view_pillar_share(window, REGIME_OTHER)).text);
	table_add(table, "%s", regime_name(device->verdict.regime));
	table_add(table, "%s", name);
	free(rank);
	free(host);
	free(name);
}

static void print_summary(const struct report *report, const struct view *view,
			  const struct terminal *terminal)
{
	static const char *const headings[] = {">rank",  ">pid",     "host",    ">device",
					       ">step",  ">compute", ">memory", ">overhead",
					       ">other", "bound by", "GPU",     NULL};
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "%zu processes, %zu devices\n", report->process_count,
		       device_total(report, view));
	print_verdict(&report->verdict, "", terminal);
	fputc('\n', terminal->out);
	table_init(&table, headings);
	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++)
			if (view_has_process(view, &report->processes[p]) &&
			    view_has_device(view, &report->processes[p].devices[d]))
				add_summary_row(&table, &report->processes[p],
						&report->processes[p].devices[d], view);
	table_print(&table, terminal);
	table_fini(&table);
	fputc('\n', terminal->out);
}

void report_text_print(const struct report *report, const struct view *view,
		       const struct terminal *terminal)
{
	bool first = true;

	if (device_total(report, view) > 1)
		print_summary(report, view, terminal);
	report_collectives_print(report, terminal);
	for (size_t i = 0; i < report->process_count; i++) {
		if (!view_has_process(view, &report->processes[i]))
			continue;
		if (!first)
			fputc('\n', terminal->out);
		first = false;
		print_process_block(&report->processes[i], view, terminal);
	}
}
