/* Builds the JSON tree with jansson. */
#include "diff_json.h"

#include "json_value.h"
#include "label.h"
#include "significance.h"

static json_t *signed_count(uint64_t a, uint64_t b)
{
	return json_integer((json_int_t)(b - a));
}

static const char *basis_name(enum diff_basis basis)
{
	static const char *const names[] = {
		[DIFF_STEP] = "step", [DIFF_WINDOW] = "window", [DIFF_LAUNCH] = "1000 launches"};

	return names[basis];
}

static json_t *side_of(const struct diff_side *side)
{
	const struct process_report *process = side->process;
	const struct device_report *device = side->device;
	const struct steps *steps = &device->steps;
	bool ranked = process->rank && *process->rank;

	return json_pack("{s:o, s:o, s:o, s:o, s:b, s:i, s:o, s:o, s:o, s:o}", "trace",
			 json_text(process->path), "command", json_text(process->command), "pid",
			 json_count(process->pid), "rank", json_text(ranked ? process->rank : NULL),
			 "complete", (int)process->complete, "device", (int)device->index, "name",
			 json_text(device->name), "steps",
			 steps->known ? json_count(steps->count) : json_null(), "kernels_per_step",
			 steps->known ? json_count(steps->kernels) : json_null(), "verdict",
			 json_verdict(&device->verdict));
}

static json_t *times_of(uint64_t a, uint64_t b)
{
	return json_pack("{s:o, s:o, s:o}", "a_ns", json_count(a), "b_ns", json_count(b),
			 "change_ns", signed_count(a, b));
}

static json_t *leaves_of(const struct diff_pair *pair)
{
	json_t *leaves = json_object();

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		json_object_set_new(leaves, leaf_name((enum leaf)i),
				    times_of(pair->a.leaf_ns[i], pair->b.leaf_ns[i]));
	return leaves;
}

/* The headline: the median step, or the window. */
static json_t *time_of(const struct diff_pair *pair)
{
	double ratio = diff_ratio(pair);

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "a_ns", json_number(pair->a.typical_ns),
			 "b_ns", json_number(pair->b.typical_ns), "change_ns",
			 json_measure(&pair->change_ns), "ratio",
			 ratio > 0 ? json_number(ratio) : json_null(), "significant",
			 pair->tested ? json_boolean(pair->significant) : json_null());
}

/* NULL where the run does not have it. */
static json_t *kernel_side(const struct kernel_report *kernel, double launches, double busy_ns)
{
	if (!kernel)
		return json_null();
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:s}", "grid", json_three(kernel->grid),
		"block", json_three(kernel->block), "launches", json_number(launches), "busy_ns",
		json_number(busy_ns), "mean_ns", json_number(kernel->mean_ns), "regime",
		regime_name(kernel->verdict.regime), "leaf", leaf_name(kernel->verdict.leaf),
		"confidence", json_number(kernel->verdict.confidence), "evidence",
		label_evidence(kernel->evidence));
}

static json_t *kernel_of(const struct kernel_change *k)
{
	static const char *const kinds[] = {[KERNEL_MATCH_SAME] = "same",
					    [KERNEL_MATCH_RESHAPED] = "reshaped",
					    [KERNEL_MATCH_APPEARED] = "appeared",
					    [KERNEL_MATCH_WENT] = "went"};
	const struct kernel_report *a = k->match.a, *b = k->match.b, *one = a ? a : b;
	struct measure mean = a && b ? significance_of_kernel(a, b) : (struct measure){0};

	return json_pack(
		"{s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o}", "name", json_text(one->name),
		"short_name", json_text(one->short_name), "match", kinds[k->match.kind], "pace",
		k->pace < 0   ? "faster"
		: k->pace > 0 ? "slower"
			      : "same",
		"launches_changed", (int)k->count_changed, "regime_changed", (int)k->regime_changed,
		"change_ns", json_number(k->change_ns), "mean_change_ns", json_measure(&mean), "a",
		kernel_side(a, k->launches_a, k->busy_a_ns), "b",
		kernel_side(b, k->launches_b, k->busy_b_ns));
}

static json_t *kernels_of(const struct diff_pair *pair, const struct view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < pair->kernel_count && (!view->top || i < view->top); i++)
		json_array_append_new(list, kernel_of(&pair->kernels[i]));
	return list;
}

static json_t *notes_of(const struct diff_pair *pair)
{
	json_t *list = json_array();

	for (size_t i = 0; i < pair->note_count; i++)
		json_array_append_new(list, json_text(pair->notes[i]));
	return list;
}

static json_t *pair_of(const struct diff_pair *pair, const struct view *view)
{
	json_t *json =
		json_pack("{s:o, s:o, s:b, s:o}", "a", side_of(&pair->a), "b", side_of(&pair->b),
			  "comparable", (int)pair->comparable, "notes", notes_of(pair));
	bool whole = pair->a.window == &pair->a.device->whole;

	if (!pair->comparable)
		return json;
	json_object_set_new(json, "window", json_string(whole ? "whole" : "steady"));
	json_object_set_new(json, "per", json_string(basis_name(pair->basis)));
	json_object_set_new(json, "time", time_of(pair));
	json_object_set_new(json, "mean", times_of(pair->a.unit_ns, pair->b.unit_ns));
	json_object_set_new(json, "leaves", leaves_of(pair));
	json_object_set_new(json, "kernels_per", json_string(basis_name(pair->kernel_basis)));
	json_object_set_new(json, "kernels", kernels_of(pair, view));
	return json;
}

int diff_json_print(const struct diff *diff, const struct view *view, FILE *out)
{
	json_t *pairs = json_array(), *root;
	int status;

	for (size_t i = 0; i < diff->pair_count; i++)
		json_array_append_new(pairs, pair_of(&diff->pairs[i], view));
	root = json_pack("{s:s, s:o, s:{s:o, s:o}}", "schema", "boundshim.diff/1", "pairs", pairs,
			 "alone", "a", json_count(diff->alone_a), "b", json_count(diff->alone_b));
	status = json_write(root, out);
	json_decref(root);
	return status;
}
