/* Parsing and evaluation, on the figures of both sides. */
#include "diff_fail_if.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "figure.h"

struct expression {
	char figure[32];
	enum comparison comparison;
	double number;
	bool is_change;
	bool is_percent; /* of A's figure */
};

/* --- figures --- */

/* The part of a name before `suffix`; false if it does not end in that. */
static bool stem_of(const char *name, const char *suffix, char stem[32])
{
	size_t size = strlen(name), tail = strlen(suffix);

	if (size <= tail || size >= 32 || strcmp(name + size - tail, suffix) != 0)
		return false;
	memcpy(stem, name, size - tail);
	stem[size - tail] = '\0';
	return true;
}

/* Time per unit in a leaf or pillar, or with a kernel or anything running. */
static bool time_figure(const struct diff_side *side, const char *name, double *value)
{
	double per = side->window && side->window->window_ns
			     ? (double)side->unit_ns / (double)side->window->window_ns
			     : 0;
	bool found = false;
	char stem[32];

	if (!stem_of(name, "_ms", stem))
		return false;
	if (!strcmp(stem, "kernel") || !strcmp(stem, "busy")) {
		uint64_t ns = !side->window  ? 0
			      : *stem == 'k' ? side->window->kernel_ns
					     : side->window->busy_ns;

		*value = (double)ns * per / 1e6;
		return true;
	}
	*value = 0;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		if (strcmp(stem, leaf_name((enum leaf)i)) != 0 &&
		    strcmp(stem, regime_name(leaf_pillar((enum leaf)i))) != 0)
			continue;
		*value += (double)side->leaf_ns[i] / 1e6;
		found = true;
	}
	return found;
}

static bool side_figure(const struct diff_side *side, const struct view *view, const char *name,
			double *value)
{
	return time_figure(side, name, value) ||
	       figure_of_device(side->device, view, name, value) ||
	       figure_of_process(side->process, name, value);
}

static bool exists(const char *name)
{
	const struct diff_side none = {0};
	double value;

	return figure_exists(name) || time_figure(&none, name, &value);
}

/* --- parsing --- */

static enum fail_if_result invalid(struct fail_if_words *words, const char *expression,
				   const char *why)
{
	snprintf(words->text, sizeof(words->text), "'%.80s': %s", expression, why);
	return FAIL_IF_INVALID;
}

static bool is_regime(const char *expression)
{
	return !strncmp(expression + strspn(expression, " "), "regime", 6);
}

static enum fail_if_result parse(const char *text, struct expression *e,
				 struct fail_if_words *words)
{
	const char *p = text + strspn(text, " ");
	size_t size = strspn(p, "abcdefghijklmnopqrstuvwxyz_");
	char *end;

	*e = (struct expression){0};
	if (!size || size >= sizeof(e->figure))
		return invalid(words, text,
			       "an expression is FIGURE OPERATOR NUMBER, as in step_ms>+5%");
	memcpy(e->figure, p, size);
	p = comparison_parse(p + size + strspn(p + size, " "), &e->comparison);
	if (!p)
		return invalid(words, text, "no comparison; one of < <= == != >= >");
	if (!exists(e->figure)) {
		snprintf(words->text, sizeof(words->text),
			 "'%.80s': no figure '%s'; `boundshim diff --help` lists them", text,
			 e->figure);
		return FAIL_IF_INVALID;
	}
	p += strspn(p, " ");
	e->is_change = *p == '+' || *p == '-';
	e->number = strtod(p, &end);
	if (end == p || !isfinite(e->number) || end[strspn(end, " %")])
		return invalid(words, text, "what follows the comparison is not a number");
	e->is_percent = e->is_change && strchr(end, '%');
	return FAIL_IF_NOT;
}

enum fail_if_result diff_fail_if_check(const char *expression, struct fail_if_words *words)
{
	struct expression e;

	return is_regime(expression) ? fail_if_check(expression, words)
				     : parse(expression, &e, words);
}

/* --- evaluation --- */

/* What is compared with the number; infinite for a change from nothing to something. */
static double quantity_compared(const struct expression *e, double a, double b)
{
	if (!e->is_change)
		return b;
	if (!e->is_percent)
		return b - a;
	if (a == b)
		return 0;
	return a != 0 ? 100 * (b - a) / fabs(a) : copysign(INFINITY, b);
}

static bool within_noise(const struct expression *e, const struct diff_pair *pair)
{
	return e->is_change && !strcmp(e->figure, "step_ms") && pair->tested && !pair->significant;
}

static bool try_pair(const struct expression *e, const struct diff_pair *pair,
		     const struct view *view, struct fail_if_words *words, bool *known)
{
	double a = 0, b;

	if (!pair->comparable || !side_figure(&pair->b, view, e->figure, &b) ||
	    (e->is_change && !side_figure(&pair->a, view, e->figure, &a)))
		return false;
	*known = true;
	if (!comparison_holds(e->comparison, quantity_compared(e, a, b), e->number) ||
	    within_noise(e, pair))
		return false;
	if (e->is_change)
		snprintf(words->text, sizeof(words->text),
			 "%s is %.6g in A and %.6g in B (pid %llu, device %u)", e->figure, a, b,
			 (unsigned long long)pair->b.process->pid, pair->b.device->index);
	else
		snprintf(words->text, sizeof(words->text), "%s is %.6g in B (pid %llu, device %u)",
			 e->figure, b, (unsigned long long)pair->b.process->pid,
			 pair->b.device->index);
	return true;
}

enum fail_if_result diff_fail_if_evaluate(const char *expression, const struct diff *diff,
					  const struct report *report, const struct view *view,
					  struct fail_if_words *words)
{
	struct expression e;
	bool known = false;

	if (is_regime(expression))
		return fail_if_evaluate(expression, report, view, words);
	if (parse(expression, &e, words) == FAIL_IF_INVALID)
		return FAIL_IF_INVALID;
	for (size_t i = 0; i < diff->pair_count; i++)
		if (try_pair(&e, &diff->pairs[i], view, words, &known))
			return FAIL_IF_HELD;
	if (known)
		return FAIL_IF_NOT;
	snprintf(words->text, sizeof(words->text), "%s is not known in both", e.figure);
	return FAIL_IF_UNKNOWN;
}
