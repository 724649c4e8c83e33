/* The figures, each computed from a report. */
#include "figure.h"

#include <string.h>

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

bool figure_of_device(const struct device_report *device, const struct view *view, const char *name,
		      double *value)
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

bool figure_of_process(const struct process_report *process, const char *name, double *value)
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

bool figure_exists(const char *name)
{
	const struct process_report process = {0};
	const struct view view = {0};
	struct device_report device = {.whole.known = true, .steps.known = true};
	double value;

	return figure_of_process(&process, name, &value) ||
	       figure_of_device(&device, &view, name, &value);
}
