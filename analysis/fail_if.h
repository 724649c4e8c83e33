/* The expressions of --fail-if: one comparison of one figure of the report with a number or a word.
 */
#ifndef FAIL_IF_H
#define FAIL_IF_H

#include "options.h"
#include "view.h"

enum fail_if_result {
	FAIL_IF_NOT,     /* the comparison is false everywhere */
	FAIL_IF_HELD,    /* true for at least one device or process */
	FAIL_IF_UNKNOWN, /* the figure is known nowhere */
	FAIL_IF_INVALID, /* not an expression */
};

/* What an expression came to, in words: "overhead_pct is 94.0 (pid 4242, device 0)". */
struct fail_if_words {
	char text[256];
};

/* Is this an expression? Otherwise `words` says what is wrong. */
enum fail_if_result fail_if_check(const char *expression, struct fail_if_words *words);

/* Ends the program with words and EXIT_USAGE if `check` finds that a value of --fail-if is no expression. */
void fail_if_check_all(const struct option_value *value,
		       enum fail_if_result (*check)(const char *expression,
						    struct fail_if_words *words));

/*
 * Evaluates "overhead_pct>30", "step_ms >= 2.5", "regime==overhead". Figures are those of the
 * view's window; the help of `report` lists them. The first device for which it holds goes into
 * `words`.
 */
enum fail_if_result fail_if_evaluate(const char *expression, const struct report *report,
				     const struct view *view, struct fail_if_words *words);

#endif
