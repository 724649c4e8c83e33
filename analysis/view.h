/* Which part of a report is asked for: window, process, device, number of rows. */
#ifndef VIEW_H
#define VIEW_H

#include "gpu_model.h"
#include "report.h"

struct view {
	bool whole;    /* the whole run instead of its steady part */
	size_t top;    /* rows of a table */
	bool roofline; /* arithmetic and traffic of kernels in place of the first screen's tables */
	bool one_process;
	uint64_t process; /* its pid */
	bool one_device;
	unsigned device;            /* its index */
	const struct gpu_model *on; /* whose roofs to predict under; NULL = none */
};

static inline bool view_has_process(const struct view *view, const struct process_report *process)
{
	return !view->one_process || process->pid == view->process;
}

static inline bool view_has_device(const struct view *view, const struct device_report *device)
{
	return !view->one_device || device->index == view->device;
}

/* The window to speak of: steady unless the whole is asked for or no steady one was found. */
static inline const struct window *view_window(const struct view *view,
					       const struct device_report *device)
{
	return view->whole || !device->steady.known ? &device->whole : &device->steady;
}

/* Time of a window without the cost of tracing: what shares are shares of. 0 when nothing is known.
 */
static inline uint64_t view_base_ns(const struct window *window)
{
	uint64_t tracing = window->leaf_ns[LEAF_TRACING];

	return window->known && window->window_ns > tracing ? window->window_ns - tracing : 0;
}

/* Share 0..1 of a leaf in its window, the cost of tracing taken out. */
static inline double view_leaf_share(const struct window *window, enum leaf leaf)
{
	uint64_t base = view_base_ns(window);

	return base && leaf != LEAF_TRACING ? (double)window->leaf_ns[leaf] / (double)base : 0;
}

/* The same for all leaves of a pillar. */
static inline double view_pillar_share(const struct window *window, enum regime pillar)
{
	double share = 0;

	for (unsigned leaf = 0; leaf < LEAF_COUNT; leaf++)
		if (leaf_pillar((enum leaf)leaf) == pillar)
			share += view_leaf_share(window, (enum leaf)leaf);
	return share;
}

/* What nvidia-smi would have shown as GPU-Util: the share of time with any kernel or copy, 0..1. */
static inline double view_utilisation(const struct window *window)
{
	return window->known && window->window_ns
		       ? (double)window->busy_ns / (double)window->window_ns
		       : 0;
}

#endif
