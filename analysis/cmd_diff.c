/* boundshim diff: two runs in, what changed and why out. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze.h"
#include "cmd.h"
#include "diff.h"
#include "diff_fail_if.h"
#include "diff_json.h"
#include "diff_text.h"

#define TOP_DEFAULT 10
#define PATHS_MOST 2

enum option {
	FORMAT,
	WINDOW,
	TOP,
	FAIL_IF,
	COLOR,
	OPTION_COUNT_
};

static const struct option_info option_list[] = {
	[FORMAT] = {"format", 'f', OPTION_CHOICE, "text|json", NULL,
		    "text for people, json for programs (schema boundshim.diff/1)", false},
	[WINDOW] = {"window", 'w', OPTION_CHOICE, "steady|whole", NULL,
		    "compare the repeating steps, or the whole runs", false},
	[TOP] = {"top", 'n', OPTION_COUNT, "N", "10; all with json", "kernels to list", false},
	[FAIL_IF] = {"fail-if", 0, OPTION_TEXT, "EXPR", NULL,
		     "exit with 3 if EXPR holds, as step_ms>+5%; may be given again", false},
	[COLOR] = {"color", 0, OPTION_CHOICE, "auto|always|never", NULL,
		   "auto: on a terminal, unless NO_COLOR is set", false},
	[OPTION_COUNT_] = {0},
};

static const struct option_table options = {
	.command = "boundshim diff",
	.arguments = "A B",
	.description =
		"Compares two runs of a workload, A and B, each a trace or a folder of traces: how much faster or "
		"slower a step became and whether that is more than noise, which leaves and which kernels it comes "
		"from, and what binds each.",
	.notes =
		"Expressions of --fail-if compare B with A where the number has a sign: step_ms>+5% (by more than 5 % of "
		"A's), step_ms>+0.2 (by more than 0.2 ms), overhead_pct>+3 (by more than 3 points); without a sign they "
		"speak of B alone. Figures are those of `boundshim report`, and per step kernel_ms (with a kernel "
		"running), busy_ms, and each pillar and leaf (overhead_ms, host_ms ...). A change of step_ms that is "
		"within noise does not hold; other figures have no test and are compared as they are.\n\n"
		"A change of the step is significant if the 95 % confidence interval of the difference of the medians, by "
		"20 stretches of each run, excludes zero and the change is 1 % or more.\n\n"
		"Exit status: 0 done, 1 nothing could be compared or a file was damaged (what is intact is compared), 2 "
		"wrong usage, 3 a --fail-if expression held.",
	.options = option_list,
	.least_arguments = 2,
	.most_arguments = PATHS_MOST,
};

static void check_expressions(const struct option_value *value)
{
	struct fail_if_words words;

	for (unsigned i = 0; i < value->given; i++) {
		if (diff_fail_if_check(value->text[i], &words) != FAIL_IF_INVALID)
			continue;
		fprintf(stderr, "boundshim: --fail-if %s\n", words.text);
		exit(EXIT_USAGE);
	}
}

static int read_side(const char *path, struct report *report)
{
	struct analyze_notes notes = {0};
	int status;

	report_init(report);
	status = analyze_paths(&path, 1, report, &notes);
	analyze_notes_print(&notes);
	analyze_notes_fini(&notes);
	return status;
}

static int print(const struct diff *diff, const struct view *view,
		 const struct option_value *values)
{
	struct terminal terminal;

	if (values[FORMAT].choice == 1) {
		if (diff_json_print(diff, view, stdout) == 0)
			return EXIT_DONE;
		fputs("boundshim: the comparison could not be written as JSON: out of memory or write error\n",
		      stderr);
		return EXIT_FAILED;
	}
	terminal = terminal_of(stdout, (enum color_when)values[COLOR].choice);
	diff_text_print(diff, view, &terminal);
	return EXIT_DONE;
}

static int judge(const struct option_value *value, const struct diff *diff,
		 const struct report *report, const struct view *view)
{
	struct fail_if_words words;
	int status = EXIT_DONE;

	for (unsigned i = 0; i < value->given; i++) {
		enum fail_if_result result =
			diff_fail_if_evaluate(value->text[i], diff, report, view, &words);

		if (result == FAIL_IF_NOT)
			continue;
		fprintf(stderr, "boundshim: --fail-if %s: %s\n", value->text[i], words.text);
		/* A gate that cannot be judged must not pass. */
		if (result != FAIL_IF_HELD)
			status = EXIT_FAILED;
		else if (status == EXIT_DONE)
			status = EXIT_HELD;
	}
	return status;
}

static int compare(const struct report *a, const struct report *b,
		   const struct option_value *values)
{
	const struct view view = {
		.whole = values[WINDOW].choice == 1,
		.top = values[TOP].given            ? values[TOP].count
		       : values[FORMAT].choice == 1 ? 0
						    : TOP_DEFAULT,
	};
	int status, judged;
	struct diff diff;

	if (diff_make(a, b, &view, &diff)) {
		fputs("boundshim: out of memory\n", stderr);
		return EXIT_FAILED;
	}
	status = print(&diff, &view, values);
	judged = judge(&values[FAIL_IF], &diff, b, &view);
	if (!diff_comparable(&diff)) {
		fputs("boundshim: the two have nothing that can be compared\n", stderr);
		status = EXIT_FAILED;
	}
	diff_fini(&diff);
	return status != EXIT_DONE ? status : judged;
}

static int run(int argc, char **argv)
{
	struct option_value values[OPTION_COUNT_ + 1];
	int first = options_parse(&options, argc, argv, values), status = EXIT_DONE, compared;
	struct report report[2];

	check_expressions(&values[FAIL_IF]);
	for (int i = 0; i < 2; i++)
		if (read_side(argv[first + i], &report[i]) != EXIT_DONE)
			status = EXIT_FAILED;
	if (report[0].process_count && report[1].process_count) {
		compared = compare(&report[0], &report[1], values);
		status = status != EXIT_DONE ? status : compared;
	} else {
		fputs("boundshim: diff needs two traces that can be read\n", stderr);
		status = EXIT_FAILED;
	}
	report_fini(&report[0]);
	report_fini(&report[1]);
	return status;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two runs: what became faster or slower, and why",
	.options = &options,
	.run = run,
};
