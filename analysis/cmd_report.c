/* boundshim report: traces in, an answer out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "analyze.h"
#include "ceilings_file.h"
#include "cmd.h"
#include "fail_if.h"
#include "printable.h"
#include "report_json.h"
#include "report_text.h"

#define TOP_DEFAULT 10
#define PATHS_MOST 1000000

enum option {
	FORMAT,
	VIEW,
	WINDOW,
	TOP,
	PROCESS,
	DEVICE,
	CEILINGS,
	ON,
	FAIL_IF,
	COLOR,
	OPTION_COUNT_
};

#define GPU(name, ...) "|" #name
static const char on_choices[] = "here"
#include "gpu_model.def"
	;
#undef GPU

static const struct option_info option_list[] = {
	[FORMAT] = {"format", 'f', OPTION_CHOICE, "text|json", NULL,
		    "text for people, json for programs (schema boundshim.report/1)", false},
	[VIEW] =
		{"view", 0, OPTION_CHOICE, "summary|roofline", NULL,
		 "what binds the GPU, or FLOP/s and bytes/s of kernels against what it could do; json has both",
		 false},
	[WINDOW] = {"window", 'w', OPTION_CHOICE, "steady|whole", NULL,
		    "bars, gaps and --fail-if speak of the repeating steps, or of the whole run",
		    false},
	[TOP] = {"top", 'n', OPTION_COUNT, "N", "10; all with json", "kernels to list", false},
	[PROCESS] = {"process", 'p', OPTION_COUNT, "PID", NULL, "only this process", false},
	[DEVICE] = {"device", 'd', OPTION_COUNT, "INDEX", NULL, "only this device of each process",
		    false},
	[CEILINGS] = {"ceilings", 0, OPTION_TEXT, "FILE|none", "what calibrate keeps for the GPU",
		      "what the GPU reaches, as calibrate wrote it; none: by its attributes",
		      false},
	[ON] = {"on", 0, OPTION_CHOICE, on_choices, NULL,
		"also predict, for kernels under a roof, where they would stand on another GPU and for how long",
		false},
	[FAIL_IF] =
		{"fail-if", 0, OPTION_TEXT, "EXPR", NULL,
		 "exit with 3 if EXPR holds for a device, as overhead_pct>30; may be given again",
		 false},
	[COLOR] = {"color", 0, OPTION_CHOICE, "auto|always|never", NULL,
		   "auto: on a terminal, unless NO_COLOR is set", false},
	[OPTION_COUNT_] = {0},
};

static const struct option_table options = {
	.command = "boundshim report",
	.arguments = "TRACE|DIR...",
	.description =
		"Says whether a traced workload is bound by compute, memory or overhead, kernel by kernel and as a "
		"whole, why, and what it is worth to fix.",
	.notes =
		"Figures for --fail-if: idle_pct, busy_pct, compute_pct, memory_pct, overhead_pct, other_pct, each leaf "
		"(host_pct, sync_pct, dram_pct ...), step_ms, steps, window_ms, tracing_pct, kernels, unexplained, "
		"lost, incomplete, and regime (regime!=compute).\n\n"
		"Labels and percentages are of the hardware's peaks whatever --ceilings says; it tells how near "
		"kernels come to what the GPU really reaches (--view roofline; roofline_pct in json).\n\n"
		"Exit status: 0 done (also for a trace that was cut off), 1 a file was damaged, foreign or of an "
		"incompatible version (what is intact is reported) or that of --ceilings cannot be used (derived "
		"ones are), 2 wrong usage, 3 a --fail-if expression held.",
	.options = option_list,
	.least_arguments = 1,
	.most_arguments = PATHS_MOST,
};

/* Is there anything of the process and device that were asked for? */
static bool has_part(const struct report *report, const struct view *view)
{
	for (size_t p = 0; p < report->process_count; p++) {
		if (!view_has_process(view, &report->processes[p]))
			continue;
		if (!view->one_device)
			return true;
		for (size_t d = 0; d < report->processes[p].device_count; d++)
			if (view_has_device(view, &report->processes[p].devices[d]))
				return true;
	}
	return false;
}

static int judge(const struct option_value *value, const struct report *report,
		 const struct view *view)
{
	struct fail_if_words words;
	int status = EXIT_DONE;

	for (unsigned i = 0; i < value->given; i++) {
		enum fail_if_result result = fail_if_evaluate(value->text[i], report, view, &words);

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

static int print(const struct report *report, const struct view *view,
		 const struct option_value *values)
{
	struct terminal terminal;

	if (values[FORMAT].choice == 1) {
		if (report_json_print(report, view, stdout) == 0)
			return EXIT_DONE;
		fputs("boundshim: the report could not be written as JSON: out of memory or write error\n",
		      stderr);
		return EXIT_FAILED;
	}
	terminal = terminal_of(stdout, (enum color_when)values[COLOR].choice);
	report_text_print(report, view, &terminal);
	return EXIT_DONE;
}

/*
 * Puts the ceilings of file `from`, or those kept, over the derived ones. Says each different reason
 * why a file cannot be used; only one that was asked for fails the report.
 */
static int use_ceilings(struct report *report, const char *from)
{
	struct ceilings_words words = {""}, said = {""};
	int status = EXIT_DONE;

	for (size_t p = 0; p < report->process_count; p++)
		for (size_t d = 0; d < report->processes[p].device_count; d++) {
			struct device_report *device = &report->processes[p].devices[d];
			char *line;

			if (ceilings_of(&device->ceilings, &device->attributes, device->uuid, from,
					&words)) {
				roofline_fill(device);
				continue;
			}
			status = from ? EXIT_FAILED : EXIT_DONE;
			if (!strcmp(words.text, said.text))
				continue;
			said = words;
			line = printable_copy(words.text, PRINTABLE_LINE, sizeof(words.text));
			fprintf(stderr, "boundshim: %s; ceilings are derived instead\n", line);
			free(line);
		}
	return status;
}

static struct view view_of(const struct option_value *values)
{
	return (struct view){
		.whole = values[WINDOW].choice == 1,
		.roofline = values[VIEW].choice == 1,
		.top = values[TOP].given            ? values[TOP].count
		       : values[FORMAT].choice == 1 ? 0
						    : TOP_DEFAULT,
		.one_process = values[PROCESS].given,
		.process = values[PROCESS].count,
		.one_device = values[DEVICE].given,
		.device = (unsigned)values[DEVICE].count,
		.on = values[ON].choice ? gpu_model((enum gpu_name)(values[ON].choice - 1)) : NULL,
	};
}

static int run(int argc, char **argv)
{
	struct option_value values[OPTION_COUNT_ + 1];
	int first = options_parse(&options, argc, argv, values), status, judged = EXIT_DONE;
	struct analyze_notes notes = {0};
	struct report report;
	struct view view = view_of(values);

	fail_if_check_all(&values[FAIL_IF], fail_if_check);
	report_init(&report);
	status = analyze_paths((const char *const *)argv + first, (size_t)(argc - first), &report,
			       &notes);
	analyze_notes_print(&notes);
	if (!report.process_count) {
		if (!notes.count)
			fputs("boundshim: no trace to report on\n", stderr);
		status = EXIT_FAILED;
	} else if (!has_part(&report, &view)) {
		fputs("boundshim: the trace has no such process or device; without --process and --device the report "
		      "lists them\n",
		      stderr);
		status = EXIT_FAILED;
	} else {
		const struct option_value *ceilings = &values[CEILINGS];

		if (use_ceilings(&report, ceilings->given ? ceilings->text[ceilings->given - 1]
							  : NULL) != EXIT_DONE)
			status = EXIT_FAILED;
		advice_fill(&report);
		if (print(&report, &view, values) != EXIT_DONE)
			status = EXIT_FAILED;
		judged = judge(&values[FAIL_IF], &report, &view);
	}
	analyze_notes_fini(&notes);
	report_fini(&report);
	return status != EXIT_DONE ? status : judged;
}

const struct command cmd_report = {
	.name = "report",
	.summary = "say what binds a traced workload, and what to do about it",
	.options = &options,
	.run = run,
};
