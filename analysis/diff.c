/* Choosing what to compare, dividing, matching, sorting. */
#include "diff.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff_note.h"
#include "significance.h"

#define COUNT_CHANGED 0.01 /* of launches: below, steps at the edges of the window explain it */

/* --- what is compared --- */

static uint64_t launches_of(const struct device_report *device)
{
	uint64_t launches = 0;

	for (size_t i = 0; i < device->kernel_count; i++)
		launches += device->kernels[i].launches;
	return launches;
}

static bool differ(double x, double y)
{
	return fabs(x - y) > COUNT_CHANGED * fmax(x, y);
}

static bool both_have_steps(const struct device_report *a, const struct device_report *b)
{
	return a->steps.known && b->steps.known && a->steps.count && b->steps.count;
}

/* The kernels are those of the steady window, or of the whole one where there is none. */
static enum diff_basis kernel_basis_of(const struct device_report *a, const struct device_report *b)
{
	uint64_t of_a = launches_of(a), of_b = launches_of(b);

	if (both_have_steps(a, b))
		return DIFF_STEP;
	if (!of_a || !of_b)
		return DIFF_WINDOW;
	return a->steady.known != b->steady.known || differ((double)of_a, (double)of_b)
		       ? DIFF_LAUNCH
		       : DIFF_WINDOW;
}

static enum diff_basis basis_of(const struct diff_pair *pair, bool whole)
{
	const struct device_report *a = pair->a.device, *b = pair->b.device;
	bool counted = pair->a.window == &a->steady || (!a->steady.known && !b->steady.known);

	if (!whole && both_have_steps(a, b))
		return DIFF_STEP;
	/* How many kernels a window launched is known of those whose kernels are listed. */
	return counted && kernel_basis_of(a, b) == DIFF_LAUNCH ? DIFF_LAUNCH : DIFF_WINDOW;
}

static void choose_windows(struct diff_pair *pair, const struct view *view)
{
	bool whole = view->whole || !pair->a.device->steady.known || !pair->b.device->steady.known;

	pair->a.window = whole ? &pair->a.device->whole : &pair->a.device->steady;
	pair->b.window = whole ? &pair->b.device->whole : &pair->b.device->steady;
	pair->basis = basis_of(pair, whole);
	pair->kernel_basis = kernel_basis_of(pair->a.device, pair->b.device);
}

static uint64_t units_of(const struct device_report *device, enum diff_basis basis)
{
	return basis == DIFF_STEP     ? device->steps.count
	       : basis == DIFF_LAUNCH ? launches_of(device)
				      : 1;
}

static uint64_t scale_of(enum diff_basis basis)
{
	return basis == DIFF_LAUNCH ? DIFF_LAUNCHES : 1;
}

/* --- leaves --- */

/* x * scale / units and its remainder, without an overflow in between. */
static uint64_t divide(uint64_t x, uint64_t units, uint64_t scale, uint64_t *rest)
{
	*rest = x % units * scale % units;
	return x / units * scale + x % units * scale / units;
}

void diff_apportion(const struct window *window, uint64_t units, uint64_t scale,
		    struct diff_side *side)
{
	uint64_t rest[LEAF_COUNT], left, ignored;

	side->unit_ns = divide(window->window_ns, units, scale, &ignored);
	left = side->unit_ns;
	for (unsigned i = 0; i < LEAF_COUNT; i++) {
		side->leaf_ns[i] = divide(window->leaf_ns[i], units, scale, &rest[i]);
		left -= side->leaf_ns[i];
	}
	/* Less than one for each leaf, for the leaves sum to the window. */
	assert(left < LEAF_COUNT);
	for (; left; left--) {
		unsigned most = 0;

		for (unsigned i = 1; i < LEAF_COUNT; i++)
			if (rest[i] > rest[most])
				most = i;
		side->leaf_ns[most]++;
		rest[most] = 0;
	}
}

static void fill_side(struct diff_side *side, enum diff_basis basis)
{
	diff_apportion(side->window, units_of(side->device, basis), scale_of(basis), side);
	side->typical_ns =
		basis == DIFF_STEP ? (double)side->device->steps.period_ns : (double)side->unit_ns;
}

static void fill_change(struct diff_pair *pair)
{
	double change = pair->b.typical_ns - pair->a.typical_ns;

	pair->change_ns = (struct measure){true, change, change, change};
	if (pair->basis != DIFF_STEP)
		return;
	pair->change_ns = significance_of_steps(&pair->a.device->steps, &pair->b.device->steps);
	pair->tested = pair->change_ns.known;
	pair->significant = significance_reached(&pair->change_ns, pair->a.typical_ns);
	if (!pair->tested)
		pair->change_ns = (struct measure){true, change, change, change};
}

/* --- kernels --- */

bool kernel_change_told(const struct kernel_change *change)
{
	return change->match.kind != KERNEL_MATCH_SAME || change->pace || change->count_changed ||
	       change->regime_changed;
}

static bool known_regime(const struct kernel_report *kernel)
{
	return kernel->verdict.regime != REGIME_UNKNOWN && kernel->verdict.leaf != LEAF_UNKNOWN;
}

static struct kernel_change change_of(const struct kernel_match *match, double per_a, double per_b)
{
	const struct kernel_report *a = match->a, *b = match->b;
	struct kernel_change change = {.match = *match};

	if (a) {
		change.launches_a = (double)a->launches * per_a;
		change.busy_a_ns = (double)a->busy_ns * per_a;
	}
	if (b) {
		change.launches_b = (double)b->launches * per_b;
		change.busy_b_ns = (double)b->busy_ns * per_b;
	}
	change.change_ns = change.busy_b_ns - change.busy_a_ns;
	if (!a || !b)
		return change;
	change.pace = significance_pace(a, b);
	change.count_changed = differ(change.launches_a, change.launches_b);
	change.regime_changed =
		known_regime(a) && known_regime(b) && a->verdict.regime != b->verdict.regime;
	return change;
}

static int by_change(const void *a, const void *b)
{
	double x = fabs(((const struct kernel_change *)a)->change_ns);
	double y = fabs(((const struct kernel_change *)b)->change_ns);

	return (x < y) - (x > y);
}

static int fill_kernels(struct diff_pair *pair)
{
	double scale = (double)scale_of(pair->kernel_basis);
	double per_a = scale / (double)units_of(pair->a.device, pair->kernel_basis);
	double per_b = scale / (double)units_of(pair->b.device, pair->kernel_basis);
	size_t count;
	struct kernel_match *matches = kernel_match(pair->a.device, pair->b.device, &count);

	pair->kernels = malloc((count + 1) * sizeof(*pair->kernels));
	if (!matches || !pair->kernels) {
		free(matches);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		pair->kernels[i] = change_of(&matches[i], per_a, per_b);
	pair->kernel_count = count;
	qsort(pair->kernels, count, sizeof(*pair->kernels), by_change);
	free(matches);
	return 0;
}

/* --- the whole --- */

static bool has_device_times(const struct diff_side *side)
{
	return side->process->coverage.kernels + side->process->coverage.copies > 0 &&
	       side->device->whole.known && side->device->whole.window_ns;
}

static int compare_pair(const struct pairing *from, const struct view *view, struct diff_pair *pair)
{
	pair->a.process = from->process_a;
	pair->b.process = from->process_b;
	pair->a.device = from->device_a;
	pair->b.device = from->device_b;
	choose_windows(pair, view);
	pair->comparable = has_device_times(&pair->a) && has_device_times(&pair->b);
	if (pair->comparable) {
		fill_side(&pair->a, pair->basis);
		fill_side(&pair->b, pair->basis);
		fill_change(pair);
		if (fill_kernels(pair))
			return -1;
	}
	return diff_note_all(pair);
}

int diff_make(const struct report *a, const struct report *b, const struct view *view,
	      struct diff *diff)
{
	struct pairing_list list;
	int status;

	*diff = (struct diff){0};
	if (pairing_make(a, b, &list))
		return -1;
	diff->alone_a = list.alone_a;
	diff->alone_b = list.alone_b;
	diff->pairs = calloc(list.count + 1, sizeof(*diff->pairs));
	status = diff->pairs ? 0 : -1;
	for (size_t i = 0; !status && i < list.count; i++)
		status = compare_pair(&list.pair[i], view, &diff->pairs[diff->pair_count++]);
	pairing_fini(&list);
	if (status)
		diff_fini(diff);
	return status;
}

void diff_fini(struct diff *diff)
{
	for (size_t i = 0; i < diff->pair_count; i++) {
		for (size_t n = 0; n < diff->pairs[i].note_count; n++)
			free(diff->pairs[i].notes[n]);
		free(diff->pairs[i].notes);
		free(diff->pairs[i].kernels);
	}
	free(diff->pairs);
	*diff = (struct diff){0};
}

bool diff_comparable(const struct diff *diff)
{
	for (size_t i = 0; i < diff->pair_count; i++)
		if (diff->pairs[i].comparable)
			return true;
	return false;
}

double diff_ratio(const struct diff_pair *pair)
{
	return pair->comparable && pair->a.typical_ns > 0 ? pair->b.typical_ns / pair->a.typical_ns
							  : 0;
}
