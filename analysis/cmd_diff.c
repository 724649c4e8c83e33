/* boundshim diff: two runs in, what changed and why out; or runs of several sizes, and how time
 * grows. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze.h"
#include "cmd.h"
#include "diff.h"
#include "diff_fail_if.h"
#include "diff_json.h"
#include "diff_text.h"
#include "layer_steps.h"
#include "scale_json.h"
#include "scale_text.h"

#define TOP_DEFAULT 10

enum option {
	FORMAT,
	WINDOW,
	TOP,
	FAIL_IF,
	SCALE,
	WORK,
	COLOR,
	OPTION_COUNT_
};

static const struct option_info option_list[] = {
	[FORMAT] = {"format", 'f', OPTION_CHOICE, "text|json", NULL,
		    "text for people, json for programs (schema boundshim.diff/1, with "
		    "--scale boundshim.scale/1)",
		    false},
	[WINDOW] = {"window", 'w', OPTION_CHOICE, "steady|whole", NULL,
		    "compare the repeating steps, or the whole runs", false},
	[TOP] = {"top", 'n', OPTION_COUNT, "N", "10; all with json", "kernels to list", false},
	[FAIL_IF] = {"fail-if", 0, OPTION_TEXT, "EXPR", NULL,
		     "exit with 3 if EXPR holds, as step_ms>+5%; may be given again", false},
	[SCALE] =
		{"scale", 's', OPTION_FLAG, NULL, NULL,
		 "the traces are of one program at different sizes: how does time grow with the work?",
		 false},
	[WORK] = {"work", 0, OPTION_TEXT, "N,N...", NULL,
		  "with --scale: the work of each trace, as batch sizes; else it is inferred",
		  false},
	[COLOR] = {"color", 0, OPTION_CHOICE, "auto|always|never", NULL,
		   "auto: on a terminal, unless NO_COLOR is set", false},
	[OPTION_COUNT_] = {0},
};

static const struct option_table options = {
	.command = "boundshim diff",
	.arguments = "A B...",
	.description =
		"Compares two runs of a workload, A and B, each a trace or a folder of traces (or with --scale, runs of several sizes): how much faster or "
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
		"With --scale growth is the elasticity of time with work: near 0 what binds does not depend on the work, "
		"which is overhead's mark; near 1 a unit of the GPU is full, arithmetic or memory. Without --work the work is "
		"inferred from FLOPs of library calls, grids or copies, and the output says how.\n\n"
		"Exit status: 0 done, 1 nothing could be compared or a file was damaged (what is intact is compared), 2 "
		"wrong usage, 3 a --fail-if expression held.",
	.options = option_list,
	.least_arguments = 2,
	.most_arguments = WORK_RUNS_MOST,
};

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

static int said_as_json(int status)
{
	if (status == 0)
		return EXIT_DONE;
	fputs("boundshim: the comparison could not be written as JSON: out of memory or write error\n",
	      stderr);
	return EXIT_FAILED;
}

static struct view view_of(const struct option_value *values)
{
	return (struct view){
		.whole = values[WINDOW].choice == 1,
		.top = values[TOP].given            ? values[TOP].count
		       : values[FORMAT].choice == 1 ? 0
						    : TOP_DEFAULT,
	};
}

/* --- two runs --- */

static int print(const struct diff *diff, const struct view *view,
		 const struct option_value *values)
{
	struct terminal terminal;

	if (values[FORMAT].choice == 1)
		return said_as_json(diff_json_print(diff, view, stdout));
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
	const struct view view = view_of(values);
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

/* --- runs of several sizes --- */

static int print_scale(const struct scale *scale, const struct view *view,
		       const struct option_value *values)
{
	struct terminal terminal;

	if (values[FORMAT].choice == 1)
		return said_as_json(scale_json_print(scale, view, stdout));
	terminal = terminal_of(stdout, (enum color_when)values[COLOR].choice);
	scale_text_print(scale, view, &terminal);
	return EXIT_DONE;
}

static int grow(const struct report *reports, char **paths, size_t count, const struct work *work,
		const struct option_value *values)
{
	const struct view view = view_of(values);
	struct scale scale;
	size_t culprit = 0;
	int status = EXIT_FAILED;

	switch (scale_make(reports, count, work, &view, &scale, &culprit)) {
	case SCALE_DONE:
		status = print_scale(&scale, &view, values);
		break;
	case SCALE_NO_TIMES:
		fprintf(stderr, "boundshim: %s: no kernel times, so nothing grows\n",
			paths[culprit]);
		break;
	case SCALE_NO_WORK:
		fputs("boundshim: the traces do not tell how much more work one did than another; say it with "
		      "--work, as --work 1,2,4\n",
		      stderr);
		break;
	case SCALE_NO_MEMORY:
		fputs("boundshim: out of memory\n", stderr);
		break;
	}
	scale_fini(&scale);
	return status;
}

/* --- the command --- */

static void usage(const char *words)
{
	fprintf(stderr, "boundshim diff: %s\n", words);
	exit(EXIT_USAGE);
}

/* What belongs to --scale alone, and what does not go with it. */
static void check_usage(const struct option_value *values, size_t count, struct work *work)
{
	const char *words;

	fail_if_check_all(&values[FAIL_IF], diff_fail_if_check);
	if (!values[SCALE].given && count > 2)
		usage("two traces are compared; --scale takes more");
	if (!values[SCALE].given && values[WORK].given)
		usage("--work goes with --scale");
	if (values[SCALE].given && values[FAIL_IF].given)
		usage("--fail-if compares two runs and does not go with --scale");
	if (values[WORK].given &&
	    !work_parse(values[WORK].text[values[WORK].given - 1], count, work, &words)) {
		fprintf(stderr, "boundshim diff: --work: %s\n", words);
		exit(EXIT_USAGE);
	}
}

static int run(int argc, char **argv)
{
	struct option_value values[OPTION_COUNT_ + 1];
	int first = options_parse(&options, argc, argv, values), status = EXIT_DONE, compared;
	struct report reports[WORK_RUNS_MOST];
	size_t count = (size_t)(argc - first), readable = 0;
	struct work work;

	check_usage(values, count, &work);
	for (size_t i = 0; i < count; i++) {
		if (read_side(argv[first + (int)i], &reports[i]) != EXIT_DONE)
			status = EXIT_FAILED;
		readable += reports[i].process_count > 0;
	}
	if (readable < count) {
		fputs("boundshim: diff needs traces that can all be read\n", stderr);
		status = EXIT_FAILED;
	} else {
		layer_steps_agree(reports, count);
		compared = values[SCALE].given ? grow(reports, argv + first, count,
						      values[WORK].given ? &work : NULL, values)
					       : compare(&reports[0], &reports[1], values);
		status = status != EXIT_DONE ? status : compared;
	}
	for (size_t i = 0; i < count; i++)
		report_fini(&reports[i]);
	return status;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "compare two runs: what became faster or slower, and why",
	.options = &options,
	.run = run,
};
