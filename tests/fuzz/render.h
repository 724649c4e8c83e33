/* A report, and two compared, in every form that the command prints: each must be what its kind promises, whatever the
 * trace holds. */
#ifndef BOUNDSHIM_TESTS_FUZZ_RENDER_H
#define BOUNDSHIM_TESTS_FUZZ_RENDER_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/advice.h"
#include "analysis/analyze.h"
#include "analysis/diff.h"
#include "analysis/diff_json.h"
#include "analysis/diff_text.h"
#include "analysis/report_json.h"
#include "analysis/report_text.h"
#include "analysis/scale.h"
#include "analysis/scale_json.h"
#include "analysis/scale_text.h"

static inline void must(int good)
{
	if (!good)
		abort();
}

struct rendering {
	char *text;
	size_t size;
	struct terminal terminal;
};

static inline void render_begin(struct rendering *r)
{
	r->text = NULL;
	r->size = 0;
	r->terminal = (struct terminal){.out = open_memstream(&r->text, &r->size), .columns = 100};
	must(r->terminal.out != NULL);
}

/* Nothing in it moves a cursor or sets a title: no control character but the end of a line, neither C0 nor, as UTF-8
 * has them, C1. */
static inline void render_end_text(struct rendering *r)
{
	must(fclose(r->terminal.out) == 0);
	for (size_t i = 0; i < r->size; i++) {
		unsigned char c = (unsigned char)r->text[i];

		must(c == '\n' || (c >= 0x20 && c != 0x7f));
		must(c != 0xc2 || (unsigned char)r->text[i + 1] >= 0xa0);
	}
	free(r->text);
}

/* One JSON object; jansson refuses what is not UTF-8. */
static inline void render_end_json(struct rendering *r)
{
	json_t *root;

	must(fclose(r->terminal.out) == 0);
	root = json_loadb(r->text, r->size, 0, NULL);
	must(json_is_object(root));
	json_decref(root);
	free(r->text);
}

static inline void check_window(const struct window *window)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += window->leaf_ns[i];
	must(sum == window->window_ns);
}

static inline void render_report(struct report *report)
{
	struct rendering r;

	for (size_t p = 0; p < report->process_count; p++) {
		for (size_t d = 0; d < report->processes[p].device_count; d++) {
			check_window(&report->processes[p].devices[d].whole);
			check_window(&report->processes[p].devices[d].steady);
		}
	}
	advice_fill(report);
	for (unsigned form = 0; form < 4; form++) {
		struct view view = {.whole = form & 1, .top = 10, .roofline = form >> 1};

		render_begin(&r);
		report_text_print(report, &view, &r.terminal);
		render_end_text(&r);
	}
	render_begin(&r);
	must(report_json_print(report, &(struct view){.top = 0}, r.terminal.out) == 0);
	render_end_json(&r);
}

static inline void render_diff(const struct report *a, const struct report *b)
{
	const struct view view = {.top = 10};
	struct rendering r;
	struct diff diff;

	must(diff_make(a, b, &view, &diff) == 0);
	for (size_t i = 0; i < diff.pair_count; i++) {
		uint64_t sum = 0;

		for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++)
			sum += diff.pairs[i].a.leaf_ns[leaf];
		must(!diff.pairs[i].comparable || sum == diff.pairs[i].a.unit_ns);
	}
	render_begin(&r);
	diff_text_print(&diff, &view, &r.terminal);
	render_end_text(&r);
	render_begin(&r);
	must(diff_json_print(&diff, &view, r.terminal.out) == 0);
	render_end_json(&r);
	diff_fini(&diff);
}

/* `reports` are two, of these amounts of work. */
static inline void render_scale(const struct report *reports)
{
	const struct work work = {
		.source = WORK_GIVEN, .confidence = CONFIDENCE_HIGH, .amount = {1, 2}};
	const struct view view = {.top = 10};
	struct rendering r;
	struct scale scale;
	size_t culprit;

	if (scale_make(reports, 2, &work, &view, &scale, &culprit) == SCALE_DONE) {
		render_begin(&r);
		scale_text_print(&scale, &view, &r.terminal);
		render_end_text(&r);
		render_begin(&r);
		must(scale_json_print(&scale, &view, r.terminal.out) == 0);
		render_end_json(&r);
	}
	scale_fini(&scale);
}

#endif
