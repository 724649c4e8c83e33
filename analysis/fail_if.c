/* Parsing and evaluation of --fail-if. */
#include "fail_if.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum comparison {
	LESS,
	LESS_EQUAL,
	EQUAL,
	NOT_EQUAL,
	GREATER_EQUAL,
	GREATER
};

struct expression {
	char figure[32];
	enum comparison comparison;
	double number;
	char word[32];
	bool is_word;
};

/* --- figures; false where the trace does not know them --- */

static bool leaf_figure(const struct window *window, const char *name, double *value)
{
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		size_t size = strlen(leaf_name((enum leaf)i));

		/* "compute" is pillar and leaf alike, and the same number. */
		if (strncmp(name, leaf_name((enum leaf)i), size) || strcmp(name + size, "_pct"))
			continue;
		*value = 100 * view_leaf_share(window, (enum leaf)i);
		if (i == LEAF_TRACING && window->window_ns)
			*value = 100 * (double)window->leaf_ns[i] / (double)window->window_ns;
		return window->known;
	}
	return false;
}

static bool device_figure(const struct device_report *device, const struct view *view,
			  const char *name, double *value)
{
	static const enum regime pillars[] = {REGIME_COMPUTE, REGIME_MEMORY, REGIME_OVERHEAD,
					      REGIME_OTHER};
	const struct window *window = view_window(view, device);
	double idle = 0;

	if (!strcmp(name, "step_ms") || !strcmp(name, "steps")) {
		*value = name[4] == 's' ? (double)device->steps.count
					: (double)device->steps.period_ns / 1e6;
		return device->steps.known;
	}
	for (unsigned p = 0; p < 4; p++) {
		size_t size = strlen(regime_name(pillars[p]));

		if (!strncmp(name, regime_name(pillars[p]), size) && !strcmp(name + size, "_pct")) {
			*value = 100 * view_pillar_share(window, pillars[p]);
			return window->known;
		}
	}
	if (!strcmp(name, "idle_pct") || !strcmp(name, "busy_pct")) {
		for (unsigned i = 0; i < LEAF_COUNT; i++)
			if (leaf_idle((enum leaf)i))
				idle += view_leaf_share(window, (enum leaf)i);
		*value = *name == 'i' ? 100 * idle : 100 * (1 - idle);
		return window->known;
	}
	if (!strcmp(name, "window_ms")) {
		*value = (double)window->window_ns / 1e6;
		return window->known;
	}
	return leaf_figure(window, name, value);
}

static bool process_figure(const struct process_report *process, const char *name, double *value)
{
	const struct coverage *coverage = &process->coverage;

	if (!strcmp(name, "kernels"))
		*value = (double)coverage->kernels;
	else if (!strcmp(name, "unexplained"))
		*value = (double)coverage->kernels - (double)coverage->kernels_explained;
	else if (!strcmp(name, "lost"))
		*value = (double)coverage->lost;
	else if (!strcmp(name, "incomplete"))
		*value = !process->complete;
	else
		return false;
	return true;
}

static bool known_figure(const char *name)
{
	const struct process_report process = {0};
	const struct view view = {0};
	struct device_report device = {.whole.known = true, .steps.known = true};
	double value;

	return process_figure(&process, name, &value) ||
	       device_figure(&device, &view, name, &value);
}

/* --- parsing --- */

static const char *parse_comparison(const char *p, enum comparison *comparison)
{
	static const struct {
		const char *text;
		enum comparison comparison;
	} all[] = {{"<=", LESS_EQUAL}, {">=", GREATER_EQUAL}, {"==", EQUAL}, {"!=", NOT_EQUAL},
		   {"<", LESS},        {">", GREATER},        {"=", EQUAL}};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strncmp(p, all[i].text, strlen(all[i].text)))
			continue;
		*comparison = all[i].comparison;
		return p + strlen(all[i].text);
	}
	return NULL;
}

static enum fail_if_result invalid(struct fail_if_words *words, const char *expression,
				   const char *why)
{
	snprintf(words->text, sizeof(words->text), "'%.80s': %s", expression, why);
	return FAIL_IF_INVALID;
}

static bool is_regime(const char *word)
{
	for (unsigned i = 0; i < REGIME_COUNT; i++)
		if (!strcmp(word, regime_name((enum regime)i)))
			return true;
	return false;
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
			       "an expression is FIGURE OPERATOR NUMBER, as in overhead_pct>30");
	memcpy(e->figure, p, size);
	p += size;
	p = parse_comparison(p + strspn(p, " "), &e->comparison);
	if (!p)
		return invalid(words, text, "no comparison; one of < <= == != >= >");
	p += strspn(p, " ");
	e->is_word = !strcmp(e->figure, "regime");
	if (e->is_word) {
		size = strspn(p, "abcdefghijklmnopqrstuvwxyz");
		memcpy(e->word, p, size < sizeof(e->word) ? size : 0);
		if (!is_regime(e->word) || p[size] ||
		    (e->comparison != EQUAL && e->comparison != NOT_EQUAL))
			return invalid(
				words, text,
				"regime is compared by == or != with compute, memory, overhead, mixed "
				"or unknown");
		return FAIL_IF_NOT;
	}
	if (!known_figure(e->figure)) {
		snprintf(words->text, sizeof(words->text),
			 "'%.80s': no figure '%s'; `boundshim report --help` lists them", text,
			 e->figure);
		return FAIL_IF_INVALID;
	}
	e->number = strtod(p, &end);
	if (end == p || !isfinite(e->number) || end[strspn(end, " %")])
		return invalid(words, text, "what follows the comparison is not a number");
	return FAIL_IF_NOT;
}

enum fail_if_result fail_if_check(const char *expression, struct fail_if_words *words)
{
	struct expression e;

	return parse(expression, &e, words);
}

/* --- evaluation --- */

static bool holds(enum comparison comparison, double left, double right)
{
	switch (comparison) {
	case LESS:
		return left < right;
	case LESS_EQUAL:
		return left <= right;
	case EQUAL:
		return left == right;
	case NOT_EQUAL:
		return left != right;
	case GREATER_EQUAL:
		return left >= right;
	default:
		return left > right;
	}
}

/* Notes one value; true when the expression holds for it. */
static bool try_number(const struct expression *e, double value, const char *where,
		       struct fail_if_words *words, enum fail_if_result *result)
{
	if (*result == FAIL_IF_UNKNOWN)
		*result = FAIL_IF_NOT;
	if (!holds(e->comparison, value, e->number))
		return false;
	snprintf(words->text, sizeof(words->text), "%s is %.6g (%s)", e->figure, value, where);
	*result = FAIL_IF_HELD;
	return true;
}

static bool try_word(const struct expression *e, enum regime regime, const char *where,
		     struct fail_if_words *words, enum fail_if_result *result)
{
	bool same = !strcmp(e->word, regime_name(regime));

	if (*result == FAIL_IF_UNKNOWN)
		*result = FAIL_IF_NOT;
	if (same != (e->comparison == EQUAL))
		return false;
	snprintf(words->text, sizeof(words->text), "regime is %s (%s)", regime_name(regime), where);
	*result = FAIL_IF_HELD;
	return true;
}

static bool try_process(const struct expression *e, const struct process_report *process,
			const struct view *view, struct fail_if_words *words,
			enum fail_if_result *result)
{
	char where[96];
	double value;

	snprintf(where, sizeof(where), "pid %llu", (unsigned long long)process->pid);
	if (process_figure(process, e->figure, &value))
		return try_number(e, value, where, words, result);
	for (size_t d = 0; d < process->device_count; d++) {
		const struct device_report *device = &process->devices[d];

		if (!view_has_device(view, device))
			continue;
		snprintf(where, sizeof(where), "pid %llu, device %u",
			 (unsigned long long)process->pid, device->index);
		if (e->is_word ? try_word(e, device->verdict.regime, where, words, result)
			       : device_figure(device, view, e->figure, &value) &&
					 try_number(e, value, where, words, result))
			return true;
	}
	return false;
}

enum fail_if_result fail_if_evaluate(const char *expression, const struct report *report,
				     const struct view *view, struct fail_if_words *words)
{
	enum fail_if_result result = FAIL_IF_UNKNOWN;
	struct expression e;

	if (parse(expression, &e, words) == FAIL_IF_INVALID)
		return FAIL_IF_INVALID;
	for (size_t p = 0; p < report->process_count; p++)
		if (view_has_process(view, &report->processes[p]) &&
		    try_process(&e, &report->processes[p], view, words, &result))
			return result;
	if (result == FAIL_IF_UNKNOWN)
		snprintf(words->text, sizeof(words->text), "%s is not known in this trace",
			 e.figure);
	return result;
}
