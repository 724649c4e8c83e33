/* Parsing and evaluation of --fail-if. */
#include "fail_if.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "comparison.h"
#include "figure.h"

struct expression {
	char figure[32];
	enum comparison comparison;
	double number;
	char word[32];
	bool is_word;
};

/* --- parsing --- */

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
	p = comparison_parse(p + strspn(p, " "), &e->comparison);
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
	if (!figure_exists(e->figure)) {
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

/* Notes one value; true when the expression holds for it. */
static bool try_number(const struct expression *e, double value, const char *where,
		       struct fail_if_words *words, enum fail_if_result *result)
{
	if (*result == FAIL_IF_UNKNOWN)
		*result = FAIL_IF_NOT;
	if (!comparison_holds(e->comparison, value, e->number))
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
	if (figure_of_process(process, e->figure, &value))
		return try_number(e, value, where, words, result);
	for (size_t d = 0; d < process->device_count; d++) {
		const struct device_report *device = &process->devices[d];

		if (!view_has_device(view, device))
			continue;
		snprintf(where, sizeof(where), "pid %llu, device %u",
			 (unsigned long long)process->pid, device->index);
		if (e->is_word ? try_word(e, device->verdict.regime, where, words, result)
			       : figure_of_device(device, view, e->figure, &value) &&
					 try_number(e, value, where, words, result))
			return true;
	}
	return false;
}

void fail_if_check_all(const struct option_value *value,
		       enum fail_if_result (*check)(const char *, struct fail_if_words *))
{
	struct fail_if_words words;

	for (unsigned i = 0; i < value->given; i++) {
		if (check(value->text[i], &words) != FAIL_IF_INVALID)
			continue;
		fprintf(stderr, "boundshim: --fail-if %s\n", words.text);
		exit(EXIT_USAGE);
	}
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
