/* Ordering by work, grouping by name, fitting. */
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "significance.h"

/* --- runs --- */

static uint64_t kernel_time(const struct device_report *device)
{
	return device->steady.known ? device->steady.kernel_ns : device->whole.kernel_ns;
}

/* The device with the most kernel time. */
static bool pick_device(const struct report *report, struct scale_run *run)
{
	*run = (struct scale_run){0};
	for (size_t p = 0; p < report->process_count; p++) {
		const struct process_report *process = &report->processes[p];

		for (size_t d = 0; d < process->device_count; d++) {
			const struct device_report *device = &process->devices[d];

			if (!kernel_time(device) ||
			    (run->device && kernel_time(device) <= kernel_time(run->device)))
				continue;
			run->process = process;
			run->device = device;
		}
	}
	return run->device;
}

static bool has_steps(const struct scale_run *run)
{
	return run->device->steps.known && run->device->steps.count;
}

static void choose_units(struct scale *scale, const struct view *view)
{
	bool steady = true;

	scale->per_step = !view->whole;
	for (size_t i = 0; i < scale->count; i++) {
		scale->per_step = scale->per_step && has_steps(&scale->run[i]);
		steady = steady && scale->run[i].device->steady.known;
	}
	for (size_t i = 0; i < scale->count; i++) {
		struct scale_run *run = &scale->run[i];
		const struct device_report *device = run->device;

		run->window = view->whole || !steady ? &device->whole : &device->steady;
		run->units = scale->per_step ? device->steps.count : 1;
		for (size_t k = 0; k < device->kernel_count; k++)
			run->launches += device->kernels[k].launches;
		run->launches /= run->units;
	}
}

static int by_work(const void *a, const void *b)
{
	const struct scale_run *x = a, *y = b;

	return (x->work > y->work) - (x->work < y->work);
}

static bool find_work(struct scale *scale, const struct work *given)
{
	struct work_run runs[WORK_RUNS_MOST];

	for (size_t i = 0; i < scale->count; i++)
		runs[i] = (struct work_run){scale->run[i].device, scale->run[i].units};
	if (given)
		scale->work = *given;
	else if (!work_infer(runs, scale->count, &scale->work))
		return false;
	for (size_t i = 0; i < scale->count; i++)
		scale->run[i].work = scale->work.amount[i];
	qsort(scale->run, scale->count, sizeof(scale->run[0]), by_work);
	for (size_t i = scale->count; i-- > 0;)
		scale->run[i].work /= scale->run[0].work;
	return true;
}

/* --- series --- */

static void fit(const struct scale *scale, struct scale_series *series)
{
	struct growth_point point[WORK_RUNS_MOST];

	for (size_t i = 0; i < scale->count; i++)
		point[i] = (struct growth_point){scale->run[i].work, series->time_ns[i],
						 series->error[i]};
	for (size_t i = 1; i < scale->count; i++)
		series->between[i] = growth_between(&point[i - 1], &point[i]);
	series->over = growth_over(point, scale->count);
}

static void fit_whole(struct scale *scale)
{
	for (size_t i = 0; i < scale->count; i++) {
		const struct scale_run *run = &scale->run[i];
		struct measure error = significance_step_error(&run->device->steps);

		scale->whole.time_ns[i] = scale->per_step ? (double)run->device->steps.period_ns
							  : (double)run->window->window_ns;
		scale->whole.error[i] = scale->per_step && error.known ? error.value : NAN;
	}
	fit(scale, &scale->whole);
}

static void fit_leaves(struct scale *scale)
{
	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++) {
		struct scale_series *series = &scale->leaf[leaf];

		for (size_t i = 0; i < scale->count; i++) {
			series->time_ns[i] = (double)scale->run[i].window->leaf_ns[leaf] /
					     (double)scale->run[i].units;
			series->error[i] = NAN;
		}
		fit(scale, series);
	}
}

/* --- kernels --- */

struct entry {
	const char *key; /* name, or category where not all runs have the name */
	const struct kernel_report *kernel;
	size_t run;
	bool common;
};

/* By key, then by name, so that a category is as deterministic as a name. */
static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order;

	if (x->common != y->common)
		return x->common ? -1 : 1;
	order = strcmp(x->key, y->key);
	if (order)
		return order;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return (x->kernel < y->kernel) - (x->kernel > y->kernel);
}

static size_t group_end(const struct entry *entries, size_t from, size_t count)
{
	size_t to = from + 1;

	while (to < count && entries[to].common == entries[from].common &&
	       !strcmp(entries[to].key, entries[from].key))
		to++;
	return to;
}

static bool in_all_runs(const struct entry *entries, size_t from, size_t to, size_t runs)
{
	bool seen[WORK_RUNS_MOST] = {false};
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		count += !seen[entries[i].run];
		seen[entries[i].run] = true;
	}
	return count == runs;
}

static struct entry *gather_entries(const struct scale *scale, size_t *count)
{
	struct entry *entries;
	size_t n = 0;

	for (size_t i = 0; i < scale->count; i++)
		n += scale->run[i].device->kernel_count;
	entries = calloc(n + 1, sizeof(*entries));
	*count = 0;
	for (size_t i = 0; entries && i < scale->count; i++) {
		const struct device_report *device = scale->run[i].device;

		for (size_t k = 0; k < device->kernel_count; k++) {
			const struct kernel_report *kernel = &device->kernels[k];

			entries[(*count)++] =
				(struct entry){kernel->name ? kernel->name : "", kernel, i, true};
		}
	}
	return entries;
}

/* Kernels that not every run has go by their category: libraries choose others for other sizes. */
static void sort_entries(const struct scale *scale, struct entry *entries, size_t count)
{
	qsort(entries, count, sizeof(*entries), by_key);
	for (size_t from = 0, to; from < count; from = to) {
		to = group_end(entries, from, count);
		if (in_all_runs(entries, from, to, scale->count))
			continue;
		for (size_t i = from; i < to; i++)
			entries[i].common = false;
	}
	for (size_t i = 0; i < count; i++)
		if (!entries[i].common)
			entries[i].key = entries[i].kernel->category;
	qsort(entries, count, sizeof(*entries), by_key);
}

/* Sums of the launches of one group in one run. */
struct sum {
	double total_ns, variance; /* of the sum of durations */
	double most_ns;            /* of one kernel */
	bool spread;               /* known for all of its kernels */
};

static void add_entry(const struct scale *scale, const struct entry *entry,
		      struct sum sums[WORK_RUNS_MOST], struct scale_kernel *row)
{
	const struct kernel_report *k = entry->kernel;
	double units = (double)scale->run[entry->run].units;
	struct sum *sum = &sums[entry->run];

	row->series.time_ns[entry->run] += (double)k->busy_ns / units;
	row->launches[entry->run] += (double)k->launches / units;
	if ((double)k->busy_ns > sum->most_ns) {
		sum->most_ns = (double)k->busy_ns;
		row->leaf[entry->run] = k->verdict.leaf;
	}
	sum->total_ns += (double)k->total_ns;
	sum->variance += (double)k->launches * k->deviation_ns.value * k->deviation_ns.value;
	sum->spread = sum->spread && k->deviation_ns.known;
}

static void fill_row(const struct scale *scale, const struct entry *entries, size_t from, size_t to,
		     struct scale_kernel *row)
{
	const struct entry *first = &entries[from];
	struct sum sums[WORK_RUNS_MOST] = {{0}};

	*row = (struct scale_kernel){
		.name = first->common ? first->kernel->name : NULL,
		.short_name = first->common ? first->kernel->short_name : NULL,
		.category = first->kernel->category,
	};
	for (size_t i = 0; i < scale->count; i++) {
		sums[i].spread = true;
		row->leaf[i] = LEAF_UNKNOWN;
	}
	for (size_t i = from; i < to; i++)
		add_entry(scale, &entries[i], sums, row);
	for (size_t i = 0; i < scale->count; i++)
		row->series.error[i] = sums[i].spread && sums[i].total_ns > 0
					       ? sqrt(sums[i].variance) / sums[i].total_ns
					       : NAN;
	fit(scale, &row->series);
}

static int by_last_time(const void *a, const void *b, void *last)
{
	double x = ((const struct scale_kernel *)a)->series.time_ns[*(size_t *)last];
	double y = ((const struct scale_kernel *)b)->series.time_ns[*(size_t *)last];

	return (x < y) - (x > y);
}

static int fit_kernels(struct scale *scale)
{
	size_t count, last = scale->count - 1;
	struct entry *entries = gather_entries(scale, &count);

	scale->kernels = calloc(count + 1, sizeof(*scale->kernels));
	if (!entries || !scale->kernels) {
		free(entries);
		return -1;
	}
	sort_entries(scale, entries, count);
	for (size_t from = 0, to; from < count; from = to) {
		to = group_end(entries, from, count);
		fill_row(scale, entries, from, to, &scale->kernels[scale->kernel_count++]);
	}
	qsort_r(scale->kernels, scale->kernel_count, sizeof(*scale->kernels), by_last_time, &last);
	free(entries);
	return 0;
}

/* --- the whole --- */

enum scale_status scale_make(const struct report *reports, size_t count, const struct work *work,
			     const struct view *view, struct scale *scale, size_t *culprit)
{
	*scale = (struct scale){.count = count};
	for (size_t i = 0; i < count; i++) {
		if (pick_device(&reports[i], &scale->run[i]))
			continue;
		*culprit = i;
		return SCALE_NO_TIMES;
	}
	choose_units(scale, view);
	if (!find_work(scale, work))
		return SCALE_NO_WORK;
	fit_whole(scale);
	fit_leaves(scale);
	return fit_kernels(scale) ? SCALE_NO_MEMORY : SCALE_DONE;
}

void scale_fini(struct scale *scale)
{
	free(scale->kernels);
	*scale = (struct scale){0};
}

enum growth scale_growth(const struct scale *scale, const struct scale_series *series)
{
	for (size_t i = scale->count; i-- > 1;)
		if (series->between[i].known)
			return growth_of(&series->between[i]);
	return GROWTH_UNKNOWN;
}
