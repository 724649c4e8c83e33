/* The answer in a line, then what it rests on. */
#include "diff_text.h"

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
#define CAUSES 2        /* leaves named in the answer */
#define CAUSE_LEAST 0.2 /* of the change: below, a leaf is not named as its cause */
#define SHOWN 0.001     /* of the unit: leaves that neither had nor changed so much have no row */
#define UNSURE 0.5      /* a label believed less carries a question mark */
#define MANY_TIMES 10   /* from here on a growth is given as a factor */
#define UNTESTED_SAME 0.01 /* change of a window that is called none */

/* "a step", "the steady part", "1,000 kernel launches" */
static const char *unit_words(const struct diff_pair *pair)
{
	if (pair->basis == DIFF_STEP)
		return "a step";
	if (pair->basis == DIFF_LAUNCH)
		return "1,000 kernel launches";
	return pair->a.window == &pair->a.device->whole ? "the whole run" : "the steady part";
}

/* --- the answer --- */

static int64_t leaf_change(const struct diff_pair *pair, unsigned leaf)
{
	return (int64_t)(pair->b.leaf_ns[leaf] - pair->a.leaf_ns[leaf]);
}

static int64_t mean_change(const struct diff_pair *pair)
{
	return (int64_t)(pair->b.unit_ns - pair->a.unit_ns);
}

/* Do the labels of kernels rest on the same on both sides? */
static bool same_evidence(const struct diff_pair *pair)
{
	return (pair->a.device->counters.samples > 0) == (pair->b.device->counters.samples > 0);
}

/* Is this leaf a label of kernels, by evidence? */
static bool is_label(unsigned leaf)
{
	return !leaf_idle((enum leaf)leaf) && leaf != LEAF_TRANSFER && leaf != LEAF_COMMUNICATION;
}

struct cause {
	const char *name;
	int64_t change_ns;
};

/* The leaves; those that are labels of kernels in one, where the evidence changed and time only
 * moved between them. */
static void find_causes(const struct diff_pair *pair, struct cause causes[LEAF_COUNT])
{
	bool merge = !same_evidence(pair);

	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		unsigned at = merge && is_label(i) ? 0 : i;

		causes[i].change_ns = 0;
		causes[i].name = merge && is_label(i) ? "kernels" : leaf_name((enum leaf)i);
		causes[at].change_ns += leaf_change(pair, i);
	}
}

static int by_size(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return (x->change_ns < y->change_ns) - (x->change_ns > y->change_ns);
}

/* ", mostly host -150 us, launch -40 us": what changed most, in the direction of the whole. */
static void add_causes(char *text, size_t room, const struct diff_pair *pair)
{
	bool up = pair->change_ns.value > 0;
	double least = CAUSE_LEAST * fabs((double)mean_change(pair));
	struct cause causes[LEAF_COUNT];

	find_causes(pair, causes);
	qsort(causes, LEAF_COUNT, sizeof(causes[0]), by_size);
	for (unsigned n = 0; n < CAUSES; n++) {
		const struct cause *cause = &causes[up ? n : LEAF_COUNT - 1 - n];
		double change = (double)cause->change_ns;
		size_t size = strlen(text);

		if (change == 0 || (up ? change : -change) < least)
			return;
		snprintf(text + size, room - size, "%s%s %s", n ? ", " : ", mostly ", cause->name,
			 quantity_time_change(change).text);
	}
}

/* "; bound by memory, was overhead" */
static void add_regimes(char *text, size_t room, const struct diff_pair *pair)
{
	enum regime a = pair->a.device->verdict.regime, b = pair->b.device->verdict.regime;
	size_t size = strlen(text);

	if (a != b && a != REGIME_UNKNOWN && b != REGIME_UNKNOWN)
		snprintf(text + size, room - size, "; bound by %s, was %s", regime_name(b),
			 regime_name(a));
}

static bool unchanged(const struct diff_pair *pair)
{
	if (pair->tested)
		return !pair->significant;
	return fabs(pair->change_ns.value) < UNTESTED_SAME * pair->a.typical_ns;
}

/* "B is 1.23x faster", "no change beyond noise" */
static void answer_title(const struct diff_pair *pair, char *text, size_t room)
{
	double ratio = diff_ratio(pair);

	if (unchanged(pair))
		snprintf(text, room, "No change%s",
			 pair->tested && pair->change_ns.value != 0 ? " beyond noise" : "");
	else if (ratio < 1)
		snprintf(text, room, "B is %s faster",
			 ratio > 0 ? quantity_factor(1 / ratio).text : "infinitely");
	else
		snprintf(text, room, "B is %s slower", quantity_factor(ratio).text);
}

static void answer_words(const struct diff_pair *pair, char *text, size_t room)
{
	const struct measure *change = &pair->change_ns;
	double base = pair->a.typical_ns;
	size_t size;

	size = (size_t)snprintf(text, room, "%s %s -> %s (%s, %s", unit_words(pair),
				quantity_time(base).text, quantity_time(pair->b.typical_ns).text,
				quantity_time_change(change->value).text,
				quantity_percent_change(base > 0 ? change->value / base : 0).text);
	if (pair->tested)
		snprintf(text + size, room - size, "; 95 %% interval %s to %s, %s)",
			 quantity_time_change(change->low).text,
			 quantity_time_change(change->high).text,
			 pair->significant ? "significant" : "within noise");
	else
		snprintf(text + size, room - size, "; nothing tells it from noise)");
	if (!unchanged(pair))
		add_causes(text, room, pair);
	add_regimes(text, room, pair);
}

static enum style answer_style(const struct diff_pair *pair)
{
	if (unchanged(pair))
		return STYLE_BOLD;
	return pair->change_ns.value < 0 ? STYLE_COMPUTE : STYLE_WARNING;
}

static void print_answer(const struct diff_pair *pair, const struct terminal *terminal)
{
	char title[64], words[512];
	unsigned used;

	if (!pair->comparable) {
		terminal_print(terminal, STYLE_BOLD, "Not comparable");
		fputs("  the notes below say why\n", terminal->out);
		return;
	}
	answer_title(pair, title, sizeof(title));
	answer_words(pair, words, sizeof(words));
	used = (unsigned)strlen(title) + 2;
	terminal_style(terminal, STYLE_BOLD);
	terminal_print(terminal, answer_style(pair), "%s", title);
	fputs("  ", terminal->out);
	paragraph_print(terminal, STYLE_BOLD, words, used, used);
}

/* --- what ran --- */

static void print_side(const char *name, const struct diff_side *side, const struct diff_pair *pair,
		       const struct terminal *terminal)
{
	const struct process_report *process = side->process;
	const struct verdict *verdict = &side->device->verdict;
	const struct steps *steps = &side->device->steps;
	char *command = printable_line(process->command && *process->command ? process->command
									     : process->path,
				       terminal->columns - 6);
	char *gpu = printable_line(side->device->name, 40),
	     *rank = printable_line(process->rank, 20);
	struct parts parts = {0};

	terminal_print(terminal, STYLE_BOLD, "%s  %s\n", name, command);
	part(&parts, "pid %" PRIu64, process->pid);
	if (*rank)
		part(&parts, "rank %s", rank);
	part(&parts, "%s", gpu);
	if (pair->basis == DIFF_STEP && pair->comparable)
		part(&parts, "%s steps of %s (%s to %s), %s kernels each",
		     quantity_count(steps->count).text,
		     quantity_time((double)steps->period_ns).text,
		     quantity_time((double)steps->low_ns).text,
		     quantity_time((double)steps->high_ns).text,
		     quantity_count(steps->kernels).text);
	else
		part(&parts, "%s of %s", unit_words(pair),
		     quantity_time((double)side->window->window_ns).text);
	fputs("   ", terminal->out);
	paragraph_print(terminal, STYLE_PLAIN, parts.text, 3, 3);
	if (pair->comparable) {
		char *sentence = printable_line(verdict->sentence, 400);

		fputs("   ", terminal->out);
		terminal_print(terminal, label_style(verdict->regime), "%s",
			       label_title(verdict->regime));
		fputs("  ", terminal->out);
		paragraph_print(terminal, STYLE_PLAIN, sentence,
				5 + (unsigned)strlen(label_title(verdict->regime)), 5);
		free(sentence);
	}
	free(command);
	free(gpu);
	free(rank);
}

static void print_notes(const struct diff_pair *pair, const struct terminal *terminal)
{
	for (size_t i = 0; i < pair->note_count; i++)
		paragraph_warn(terminal, pair->notes[i]);
}

/* --- leaves --- */

/* "0" rather than "0.00 ns" where there is nothing. */
static void add_time(struct table *table, uint64_t ns)
{
	table_add(table, "%s", ns ? quantity_time((double)ns).text : "0");
}

static void add_time_row(struct table *table, const char *name, uint64_t a_ns, uint64_t b_ns)
{
	double change = (double)b_ns - (double)a_ns;

	table_add(table, "%s", name);
	add_time(table, a_ns);
	add_time(table, b_ns);
	table_add(table, "%s", quantity_time_change(change).text);
	if (a_ns && b_ns / a_ns < MANY_TIMES)
		table_add(table, "%s", quantity_percent_change(change / (double)a_ns).text);
	else
		table_add(table, "%s",
			  a_ns ? quantity_factor((double)b_ns / (double)a_ns).text : "");
}

/* The leaves; those of no account in one row. */
static void print_leaves(const struct diff_pair *pair, const struct terminal *terminal)
{
	static const char *const headings[] = {"", ">A", ">B", ">change", ">", NULL};
	uint64_t least = (uint64_t)(SHOWN * (double)(pair->a.unit_ns + pair->b.unit_ns) / 2);
	uint64_t small_a = 0, small_b = 0;
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "\nWhere %s changed%s\n",
		       pair->basis == DIFF_STEP ? "the step" : unit_words(pair),
		       pair->basis == DIFF_STEP ? ", mean of all steps: the leaves add up to it"
						: "");
	table_init(&table, headings);
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		if (pair->a.leaf_ns[i] <= least && pair->b.leaf_ns[i] <= least) {
			small_a += pair->a.leaf_ns[i];
			small_b += pair->b.leaf_ns[i];
			continue;
		}
		add_time_row(&table, leaf_name((enum leaf)i), pair->a.leaf_ns[i],
			     pair->b.leaf_ns[i]);
	}
	if (small_a || small_b)
		add_time_row(&table, "others", small_a, small_b);
	add_time_row(&table, "all", pair->a.unit_ns, pair->b.unit_ns);
	table_print(&table, terminal);
	table_fini(&table);
}

/* --- kernels --- */

static void add_count_change(struct table *table, const struct kernel_change *k)
{
	if (!k->match.a)
		table_add(table, "%s", quantity_number(k->launches_b, 3).text);
	else if (!k->match.b || !k->count_changed)
		table_add(table, "%s", quantity_number(k->launches_a, 3).text);
	else
		table_add(table, "%s -> %s", quantity_number(k->launches_a, 3).text,
			  quantity_number(k->launches_b, 3).text);
}

static void add_mean_change(struct table *table, const struct kernel_change *k)
{
	const struct kernel_report *a = k->match.a, *b = k->match.b;

	if (a && b)
		table_add(table, "%s -> %s", quantity_time(a->mean_ns).text,
			  quantity_time(b->mean_ns).text);
	else
		table_add(table, "%s", quantity_time((a ? a : b)->mean_ns).text);
}

static void add_what(struct table *table, const struct kernel_change *k)
{
	const struct kernel_report *a = k->match.a, *b = k->match.b;
	const char *reshaped = k->match.kind == KERNEL_MATCH_RESHAPED ? "reshaped, " : "";

	if (!a || !b)
		table_add(table, "%s", a ? "went" : "appeared");
	else if (k->pace < 0)
		table_add(table, "%s%s faster", reshaped,
			  quantity_factor(a->mean_ns / fmax(b->mean_ns, 1)).text);
	else if (k->pace > 0)
		table_add(table, "%s%s slower", reshaped,
			  quantity_factor(b->mean_ns / fmax(a->mean_ns, 1)).text);
	else if (k->match.kind == KERNEL_MATCH_RESHAPED)
		table_add(table, "%s", "reshaped");
	else if (k->count_changed)
		table_add(table, "%s", k->launches_b > k->launches_a ? "more often" : "less often");
	else
		table_add(table, "%s", "regime");
}

static const char *doubt(const struct kernel_report *kernel)
{
	return kernel->verdict.leaf != LEAF_UNKNOWN && kernel->verdict.confidence < UNSURE ? "?"
											   : "";
}

static void add_label_change(struct table *table, const struct kernel_change *k)
{
	const struct kernel_report *a = k->match.a, *b = k->match.b;
	const struct kernel_report *one = b ? b : a;

	if (a && b && a->verdict.leaf != b->verdict.leaf)
		table_add(table, "%s%s -> %s%s", leaf_name(a->verdict.leaf), doubt(a),
			  leaf_name(b->verdict.leaf), doubt(b));
	else
		table_add(table, "%s%s", leaf_name(one->verdict.leaf), doubt(one));
}

static uint64_t volume(const uint32_t size[3])
{
	return (uint64_t)size[0] * size[1] * size[2];
}

/* "[64x256] name"; both shapes where they differ. */
static void add_name(struct table *table, const struct kernel_change *k)
{
	const struct kernel_report *a = k->match.a, *b = k->match.b, *one = a ? a : b;
	const char *name = one->short_name ? one->short_name : one->name;
	char *line = printable_line(name && *name ? name : "(no name)", NAME_COLUMNS);

	if (k->match.kind == KERNEL_MATCH_RESHAPED)
		table_add(table, "[%" PRIu64 "x%" PRIu64 " -> %" PRIu64 "x%" PRIu64 "] %s",
			  volume(a->grid), volume(a->block), volume(b->grid), volume(b->block),
			  line);
	else
		table_add(table, "[%" PRIu64 "x%" PRIu64 "] %s", volume(one->grid),
			  volume(one->block), line);
	free(line);
}

static size_t told(const struct diff_pair *pair)
{
	size_t count = 0;

	for (size_t i = 0; i < pair->kernel_count; i++)
		count += kernel_change_told(&pair->kernels[i]);
	return count;
}

static void add_kernel_rows(struct table *table, const struct diff_pair *pair, size_t most)
{
	for (size_t i = 0; i < pair->kernel_count && most; i++) {
		const struct kernel_change *k = &pair->kernels[i];

		if (!kernel_change_told(k))
			continue;
		table_add(table, "%s", quantity_time_change(k->change_ns).text);
		add_what(table, k);
		add_count_change(table, k);
		add_mean_change(table, k);
		add_label_change(table, k);
		add_name(table, k);
		most--;
	}
}

static void print_kernels(const struct diff_pair *pair, const struct view *view,
			  const struct terminal *terminal)
{
	static const char *const headings[] = {">change",  "what",   ">launches", ">mean",
					       "bound by", "kernel", NULL};
	size_t count = told(pair), same = pair->kernel_count - count;
	struct table table;

	if (!pair->kernel_count)
		return;
	if (!count) {
		terminal_print(terminal, STYLE_DIM,
			       "\nNone of %zu kernels appeared, went, or changed beyond noise\n",
			       pair->kernel_count);
		return;
	}
	terminal_print(terminal, STYLE_BOLD, "\nKernels that changed, by time per %s\n",
		       pair->kernel_basis == DIFF_STEP     ? "step"
		       : pair->kernel_basis == DIFF_LAUNCH ? "1,000 kernel launches"
							   : "window");
	table_init(&table, headings);
	add_kernel_rows(&table, pair, view->top);
	table_print(&table, terminal);
	table_fini(&table);
	if (count > view->top)
		terminal_print(terminal, STYLE_DIM, "  and %zu more that changed (--top %zu)\n",
			       count - view->top, count);
	if (same)
		terminal_print(terminal, STYLE_DIM, "  %zu more without a change beyond noise\n",
			       same);
}

/* --- the whole --- */

static void print_pair(const struct diff_pair *pair, const struct view *view,
		       const struct terminal *terminal)
{
	print_answer(pair, terminal);
	fputc('\n', terminal->out);
	print_side("A", &pair->a, pair, terminal);
	print_side("B", &pair->b, pair, terminal);
	print_notes(pair, terminal);
	if (!pair->comparable)
		return;
	print_leaves(pair, terminal);
	print_kernels(pair, view, terminal);
	if (pair->tested)
		terminal_print(
			terminal, STYLE_DIM,
			"\nThe interval is of the steps of these two runs; other runs of the same program may "
			"differ by more.\n");
}

static void add_summary_row(struct table *table, const struct diff_pair *pair)
{
	char *rank = printable_line(pair->a.process->rank, 12);
	char title[64];

	table_add(table, "%s", rank);
	table_add(table, "%" PRIu64, pair->a.process->pid);
	table_add(table, "%" PRIu64, pair->b.process->pid);
	table_add(table, "%u", pair->a.device->index);
	if (pair->comparable)
		answer_title(pair, title, sizeof(title));
	table_add(table, "%s", pair->comparable ? quantity_time(pair->a.typical_ns).text : "");
	table_add(table, "%s", pair->comparable ? quantity_time(pair->b.typical_ns).text : "");
	table_add(table, "%s", regime_name(pair->a.device->verdict.regime));
	table_add(table, "%s", regime_name(pair->b.device->verdict.regime));
	table_add(table, "%s", pair->comparable ? title : "Not comparable");
	free(rank);
}

static void print_summary(const struct diff *diff, const struct terminal *terminal)
{
	static const char *const headings[] = {">rank", ">pid A", ">pid B",     ">device",
					       ">A",    ">B",     "A bound by", "B bound by",
					       "",      NULL};
	struct table table;

	terminal_print(terminal, STYLE_BOLD, "%zu pairs of processes and devices\n",
		       diff->pair_count);
	table_init(&table, headings);
	for (size_t i = 0; i < diff->pair_count; i++)
		add_summary_row(&table, &diff->pairs[i]);
	table_print(&table, terminal);
	table_fini(&table);
	fputc('\n', terminal->out);
}

void diff_text_print(const struct diff *diff, const struct view *view,
		     const struct terminal *terminal)
{
	char text[128];

	if (diff->pair_count > 1)
		print_summary(diff, terminal);
	if (diff->alone_a || diff->alone_b) {
		snprintf(
			text, sizeof(text),
			"%zu processes or devices of A and %zu of B have no partner and are left out.",
			diff->alone_a, diff->alone_b);
		paragraph_warn(terminal, text);
	}
	for (size_t i = 0; i < diff->pair_count; i++) {
		if (i)
			fputc('\n', terminal->out);
		print_pair(&diff->pairs[i], view, terminal);
	}
}
