/* The answer in a line, then one table for sizes, one for leaves, one for kernels. */
#include "scale_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "label.h"
#include "paragraph.h"
#include "parts.h"
#include "printable.h"
#include "quantity.h"
#include "table.h"

#define NAME_COLUMNS 60
#define BUSY_LEAST 0.5 /* of the time with a kernel or copy, where no label decides */
#define SHOWN 0.005    /* of the largest size's time: smaller leaves have no row */

/* --- the answer --- */

static const char *growth_title(enum growth growth)
{
	switch (growth) {
	case GROWTH_NONE:
		return "Time hardly grows with the work";
	case GROWTH_PART:
		return "Part of the time grows with the work";
	case GROWTH_IN_STEP:
		return "Time grows in step with the work";
	case GROWTH_MORE:
		return "Time grows faster than the work";
	default:
		return "How time grows is not known";
	}
}

/* Without the sign of a negative zero. */
static double tidy(double value)
{
	return fabs(value) < 0.005 ? 0 : value;
}

/* "0.02 (0.00 to 0.04)" */
static struct quantity elasticity_text(const struct measure *elasticity)
{
	struct quantity q = {""};

	if (!elasticity->known)
		return q;
	if (isfinite(elasticity->low))
		snprintf(q.text, sizeof(q.text), "%.2f (%.2f to %.2f)", tidy(elasticity->value),
			 tidy(elasticity->low), tidy(elasticity->high));
	else
		snprintf(q.text, sizeof(q.text), "%.2f", tidy(elasticity->value));
	return q;
}

/* "4x", "1.33x" */
static struct quantity work_text(double work)
{
	struct quantity q;

	snprintf(q.text, sizeof(q.text), "%.3gx", work);
	return q;
}

/* Is the GPU at work most of the time, by its label or, where that is undecided, by the clock? */
static bool is_busy(const struct scale_run *run)
{
	enum regime regime = run->device->verdict.regime;

	if (regime == REGIME_OVERHEAD)
		return false;
	return regime == REGIME_COMPUTE || regime == REGIME_MEMORY ||
	       view_utilisation(run->window) >= BUSY_LEAST;
}

/* What growth and the largest trace's own label say together. */
static const char *meaning(enum growth growth, const struct scale_run *run)
{
	bool agree = growth_agrees(growth, run->device->verdict.regime), busy = is_busy(run);

	switch (growth) {
	case GROWTH_NONE:
		return agree ? "larger sizes are nearly free: overhead binds, as the trace says"
		       : busy ? "the GPU is busy with what does not depend on the size, as weights that are "
				"read once"
			      : "larger sizes are nearly free, as where overhead binds";
	case GROWTH_PART:
		return busy ? "the GPU is busy, in part with what does not depend on the size"
			    : "the rest is overhead that larger sizes spread over more work";
	case GROWTH_IN_STEP:
	case GROWTH_MORE:
		return agree ? "a unit of the GPU is full, as the trace says: larger sizes gain nothing"
		       : busy ? "a unit of the GPU is full, though the trace does not say which"
			      : "what the GPU waits for grows too: look for work of the CPU, copies or "
				"launches for each item";
	default:
		return "the sizes do not tell";
	}
}

static void print_answer(const struct scale *scale, const struct terminal *terminal)
{
	size_t last = scale->count - 1;
	enum growth growth = scale_growth(scale, &scale->whole);
	const char *title = growth_title(growth);
	unsigned used = (unsigned)strlen(title) + 2;
	char text[512];

	snprintf(
		text, sizeof(text),
		"%s the work takes %s -> %s, %s the time; between the largest sizes elasticity %s: %s",
		work_text(scale->run[last].work).text, quantity_time(scale->whole.time_ns[0]).text,
		quantity_time(scale->whole.time_ns[last]).text,
		quantity_factor(scale->whole.time_ns[last] / fmax(scale->whole.time_ns[0], 1)).text,
		elasticity_text(&scale->whole.between[last]).text,
		meaning(growth, &scale->run[last]));
	terminal_print(terminal, STYLE_BOLD, "%s", title);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_BOLD, text, used, used);
}

static const char *confidence_words(enum confidence confidence)
{
	static const char *const words[] = {[CONFIDENCE_NONE] = "none",
					    [CONFIDENCE_LOW] = "low",
					    [CONFIDENCE_MEDIUM] = "medium",
					    [CONFIDENCE_HIGH] = "high"};

	return words[confidence];
}

static void print_work(const struct work *work, const struct terminal *terminal)
{
	struct parts parts = {0};

	if (work->source == WORK_GIVEN) {
		part(&parts, "Work as given");
	} else {
		part(&parts, "Work by the %s%s%s", work_source_words(work->source),
		     work->agrees ? ", and the " : "",
		     work->agrees ? work_source_words(work->agrees) : "");
		part(&parts, "confidence %s", confidence_words(work->confidence));
		if (work->confidence < CONFIDENCE_HIGH)
			part(&parts, "--work says it better");
	}
	paragraph_print(terminal, STYLE_DIM, parts.text, 0, 2);
}

/* --- warnings --- */

static void warn_run(const struct scale *scale, size_t i, const struct terminal *terminal)
{
	const struct scale_run *run = &scale->run[i], *first = &scale->run[0];
	char text[512], size[40];

	snprintf(size, sizeof(size), "Size %s", work_text(run->work).text);
	if (!run->process->complete) {
		snprintf(text, sizeof(text), "%s is incomplete: %s.", size,
			 run->process->incomplete_reason ? run->process->incomplete_reason
							 : "it was cut off");
		paragraph_warn(terminal, text);
	}
	if (run->process->coverage.lost) {
		snprintf(text, sizeof(text), "%s lost %s records.", size,
			 quantity_count(run->process->coverage.lost).text);
		paragraph_warn(terminal, text);
	}
	if (run->device->shared) {
		snprintf(text, sizeof(text), "Something else used the GPU while %s ran.", size);
		paragraph_warn(terminal, text);
	}
	if (first->device->name && run->device->name &&
	    strcmp(first->device->name, run->device->name) != 0) {
		snprintf(text, sizeof(text), "%s ran on another GPU: %.100s, not %.100s.", size,
			 run->device->name, first->device->name);
		paragraph_warn(terminal, text);
	}
}

static void print_warnings(const struct scale *scale, const struct terminal *terminal)
{
	for (size_t i = 0; i < scale->count; i++)
		warn_run(scale, i, terminal);
	if (!scale->per_step)
		paragraph_warn(
			terminal,
			"Windows are compared, not steps: how long each run was counts as growth.");
}

/* --- tables --- */

/* The end of a path, with the folder it is in: what tells traces apart. */
static const char *path_end(const char *path)
{
	unsigned slashes = 0;
	const char *p = path + strlen(path);

	while (p > path && slashes < 2)
		slashes += *--p == '/';
	return slashes == 2 ? p + 1 : path;
}

static void print_runs(const struct scale *scale, const struct terminal *terminal)
{
	static const char *const headings[] = {">work",       ">time",     "growth",
					       ">throughput", ">launches", "bound by",
					       "by growth",   "trace",     NULL};
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "\nSizes, by time of %s\n",
		       scale->per_step ? "the median step" : "the window");
	table_init(&table, headings);
	for (size_t i = 0; i < scale->count; i++) {
		const struct scale_run *run = &scale->run[i];
		double time = scale->whole.time_ns[i];
		double gained = time > 0 ? run->work * scale->whole.time_ns[0] / time : 0;
		char *path =
			printable_line(run->process->path ? path_end(run->process->path) : "", 200);

		table_add(&table, "%s", work_text(run->work).text);
		table_add(&table, "%s", quantity_time(time).text);
		table_add(&table, "%s", i ? elasticity_text(&scale->whole.between[i]).text : "");
		table_add(&table, "%s", gained > 0 ? quantity_factor(gained).text : "");
		table_add(&table, "%s", quantity_count(run->launches).text);
		table_add(&table, "%s", regime_name(run->device->verdict.regime));
		table_add(&table, "%s",
			  i ? growth_regime_words(growth_of(&scale->whole.between[i])) : "");
		table_add(&table, "%s", path);
		free(path);
	}
	table_print(&table, terminal);
	table_fini(&table);
	if (scale->count > 2)
		terminal_print(terminal, STYLE_DIM, "  over all sizes: time ~ work^%s\n",
			       elasticity_text(&scale->whole.over).text);
}

/* Times at both ends, growth over all and at the end, and what it says. */
static void add_series(struct table *table, const struct scale *scale,
		       const struct scale_series *series)
{
	size_t last = scale->count - 1;

	table_add(table, "%s",
		  series->time_ns[0] > 0 ? quantity_time(series->time_ns[0]).text : "0");
	table_add(table, "%s",
		  series->time_ns[last] > 0 ? quantity_time(series->time_ns[last]).text : "0");
	table_add(table, "%s", elasticity_text(&series->over).text);
	table_add(table, "%s",
		  scale->count > 2 ? elasticity_text(&series->between[last]).text : "");
}

static void print_leaves(const struct scale *scale, const struct terminal *terminal)
{
	static const char *const headings[] = {"",       ">smallest",   ">largest",
					       "growth", "last growth", NULL};
	size_t last = scale->count - 1;
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "\nLeaves%s\n",
		       scale->per_step ? ", mean of a step" : "");
	table_init(&table, headings);
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		const struct scale_series *series = &scale->leaf[i];

		if (series->time_ns[last] < SHOWN * scale->whole.time_ns[last] &&
		    series->time_ns[0] < SHOWN * scale->whole.time_ns[0])
			continue;
		table_add(&table, "%s", leaf_name((enum leaf)i));
		add_series(&table, scale, series);
	}
	table_print(&table, terminal);
	table_fini(&table);
}

static void add_kernel_name(struct table *table, const struct scale_kernel *kernel)
{
	char *line;

	if (!kernel->name) {
		table_add(table, "(%s kernels that not every size has)", kernel->category);
		return;
	}
	line = printable_line(kernel->short_name ? kernel->short_name : kernel->name, NAME_COLUMNS);
	table_add(table, "%s", line);
	free(line);
}

/* Both labels where they differ and it ran at both ends. */
static void add_label(struct table *table, const struct scale_kernel *kernel, size_t last)
{
	enum leaf from = kernel->leaf[0], to = kernel->leaf[last];

	if (from == to || !kernel->launches[0] || !kernel->launches[last])
		table_add(table, "%s", leaf_name(kernel->launches[last] ? to : from));
	else
		table_add(table, "%s -> %s", leaf_name(from), leaf_name(to));
}

static void print_kernels(const struct scale *scale, const struct view *view,
			  const struct terminal *terminal)
{
	static const char *const headings[] = {">smallest", ">largest", "growth", "last growth",
					       "bound by",  "kernel",   NULL};
	size_t last = scale->count - 1;
	struct table table;

	if (!scale->kernel_count)
		return;
	terminal_print(terminal, STYLE_BOLD, "\nKernels, all shapes of a name together%s\n",
		       scale->per_step ? ", by time of a step" : "");
	table_init(&table, headings);
	for (size_t i = 0; i < scale->kernel_count && i < view->top; i++) {
		const struct scale_kernel *kernel = &scale->kernels[i];

		add_series(&table, scale, &kernel->series);
		add_label(&table, kernel, last);
		add_kernel_name(&table, kernel);
	}
	table_print(&table, terminal);
	table_fini(&table);
	if (scale->kernel_count > view->top)
		terminal_print(terminal, STYLE_DIM, "  and %zu more (--top %zu)\n",
			       scale->kernel_count - view->top, scale->kernel_count);
}

void scale_text_print(const struct scale *scale, const struct view *view,
		      const struct terminal *terminal)
{
	print_answer(scale, terminal);
	print_work(&scale->work, terminal);
	print_warnings(scale, terminal);
	print_runs(scale, terminal);
	print_leaves(scale, terminal);
	print_kernels(scale, view, terminal);
	terminal_print(
		terminal, STYLE_DIM,
		"\nGrowth 0: time does not depend on the size; 1: it grows in step; intervals (95 %%) are of the "
		"times alone.\n");
}
