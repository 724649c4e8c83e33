/* Builds the JSON tree with jansson. */
#include "scale_json.h"

#include "json_value.h"

static const char *source_name(enum work_source source)
{
	static const char *const names[] = {
		[WORK_NONE] = "none",   [WORK_GIVEN] = "given",   [WORK_FLOPS] = "flops",
		[WORK_GRIDS] = "grids", [WORK_COPIES] = "copies",
	};

	return names[source];
}

static json_t *work_of(const struct work *work)
{
	static const char *const confidences[] = {[CONFIDENCE_NONE] = "none",
						  [CONFIDENCE_LOW] = "low",
						  [CONFIDENCE_MEDIUM] = "medium",
						  [CONFIDENCE_HIGH] = "high"};

	return json_pack("{s:s, s:s, s:o}", "source", source_name(work->source), "confidence",
			 confidences[work->confidence], "agrees",
			 work->agrees ? json_string(source_name(work->agrees)) : json_null());
}

static json_t *numbers_of(const double *values, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_number(values[i]));
	return list;
}

static json_t *series_of(const struct scale *scale, const struct scale_series *series)
{
	enum growth growth = scale_growth(scale, series);
	json_t *between = json_array();

	for (size_t i = 1; i < scale->count; i++)
		json_array_append_new(between, json_measure(&series->between[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s}", "times_ns",
			 numbers_of(series->time_ns, scale->count), "errors",
			 numbers_of(series->error, scale->count), "elasticities", between,
			 "elasticity", json_measure(&series->over), "growth", growth_name(growth),
			 "regime_by_growth", growth_regime_words(growth));
}

static json_t *runs_of(const struct scale *scale)
{
	json_t *list = json_array();

	for (size_t i = 0; i < scale->count; i++) {
		const struct scale_run *run = &scale->run[i];
		const struct steps *steps = &run->device->steps;

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:o, s:o, s:b, s:i, s:o, s:o, s:o, s:o}", "trace",
				  json_text(run->process->path), "command",
				  json_text(run->process->command), "pid",
				  json_count(run->process->pid), "work", json_number(run->work),
				  "complete", (int)run->process->complete, "device",
				  (int)run->device->index, "name", json_text(run->device->name),
				  "steps", steps->known ? json_count(steps->count) : json_null(),
				  "launches", json_count(run->launches), "verdict",
				  json_verdict(&run->device->verdict)));
	}
	return list;
}

static json_t *leaves_of(const struct scale *scale)
{
	json_t *leaves = json_object();

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		json_object_set_new(leaves, leaf_name((enum leaf)i),
				    series_of(scale, &scale->leaf[i]));
	return leaves;
}

static json_t *kernel_of(const struct scale *scale, const struct scale_kernel *kernel)
{
	json_t *json = series_of(scale, &kernel->series), *leaves = json_array();

	for (size_t i = 0; i < scale->count; i++)
		json_array_append_new(leaves, json_string(leaf_name(kernel->leaf[i])));
	json_object_set_new(json, "name", json_text(kernel->name));
	json_object_set_new(json, "short_name", json_text(kernel->short_name));
	json_object_set_new(json, "category", json_text(kernel->category));
	json_object_set_new(json, "launches", numbers_of(kernel->launches, scale->count));
	json_object_set_new(json, "leaves", leaves);
	return json;
}

static json_t *kernels_of(const struct scale *scale, const struct view *view)
{
	json_t *list = json_array();

	for (size_t i = 0; i < scale->kernel_count && (!view->top || i < view->top); i++)
		json_array_append_new(list, kernel_of(scale, &scale->kernels[i]));
	return list;
}

int scale_json_print(const struct scale *scale, const struct view *view, FILE *out)
{
	json_t *root =
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", "boundshim.scale/1",
			  "per", scale->per_step ? "step" : "window", "work", work_of(&scale->work),
			  "runs", runs_of(scale), "whole", series_of(scale, &scale->whole),
			  "leaves", leaves_of(scale), "kernels", kernels_of(scale, view));
	int status = json_write(root, out);

	json_decref(root);
	return status;
}
