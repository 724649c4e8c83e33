/* From an anchor to steps. */
#include "steps.h"

#include <math.h>
#include <string.h>

#include "array.h"

#define WARM_RUN 5 /* accepted steps in a row that end the warm-up */
#define OUTLIER_SHARE 0.5
#define OUTLIER_SIGMAS 8.0
#define MAD_SIGMA 1.4826
#define OUTLIERS_MOST 0.2 /* of the pieces alike: what is more frequent belongs to the run */
#define PURITY 0.4
#define TIME_SHARE 0.25
#define KERNEL_SHARE 0.5
#define BATCH_SAMPLE 1024
#define LAYER_SAMPLE_KERNELS 8192
#define SAMPLE 8192 /* a median of so many is within 2 % of ranks of that of all */

/* Begin of a piece, and in the lowest bits what it is. The last one only ends the one before. */
#define ACCEPTED UINT64_C(1)
#define ALIKE UINT64_C(2) /* in content */
#define EQUAL UINT64_C(4) /* the same kernels, to the grid */
#define MARK_SHIFT 3

struct pieces {
	uint64_t *mark;
	size_t count, capacity;
};

static uint64_t begin_of(const struct pieces *p, size_t i)
{
	return p->mark[i] >> MARK_SHIFT;
}

static uint64_t length_of(const struct pieces *p, size_t i)
{
	return begin_of(p, i + 1) - begin_of(p, i);
}

static bool is_accepted(const struct pieces *p, size_t i)
{
	return p->mark[i] & ACCEPTED;
}

static int cut(const struct sequence *sequence, const struct vocabulary *v,
	       const struct anchor *anchor, struct pieces *pieces)
{
	struct sequence_walk walk = {0};
	struct sequence_item item;
	struct content now = {0}, then = {0};
	struct content_item *items = content_items(v);
	uint32_t before = UINT32_MAX;
	int status = items ? 0 : -1;

	while (!status && sequence_next(sequence, &walk, &item)) {
		if (anchor->stream >= 0 && item.stream != (unsigned)anchor->stream)
			continue;
		if (anchor_matches(anchor, &item, before, items)) {
			struct content piece = content_since(&now, &then);

			if (pieces->count && content_alike(&anchor->step, &piece))
				pieces->mark[pieces->count - 1] |= ACCEPTED | ALIKE;
			if (pieces->count && content_equal(&anchor->step, &piece))
				pieces->mark[pieces->count - 1] |= EQUAL;
			status = array_reserve((void **)&pieces->mark, &pieces->capacity,
					       pieces->count + 1, sizeof(uint64_t));
			if (status)
				break;
			pieces->mark[pieces->count++] = item.begin_ns << MARK_SHIFT;
			then = now;
		}
		content_add(&now, &items[item.signature]);
		before = item.signature;
	}
	free(items);
	return status;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Lengths of the accepted pieces, sorted: all of them, or every n-th where there are many. The
 * caller frees them. */
static uint64_t *lengths(const struct pieces *p, size_t *count)
{
	size_t stride = p->count / SAMPLE + 1, n = 0;
	uint64_t *length = malloc((p->count / stride + 1) * sizeof(*length));

	for (size_t i = 0; length && i + 1 < p->count; i += stride)
		if (is_accepted(p, i))
			length[n++] = length_of(p, i);
	if (length && n)
		qsort(length, n, sizeof(*length), by_value);
	*count = n;
	return length;
}

static double median_deviation(uint64_t *length, size_t n, uint64_t median)
{
	uint64_t result;

	for (size_t i = 0; i < n; i++)
		length[i] = length[i] > median ? length[i] - median : median - length[i];
	qsort(length, n, sizeof(*length), by_value);
	result = length[n / 2];
	return (double)result;
}

/* Takes the mark from pieces that are much longer or shorter than usual. */
static int drop_outliers(struct pieces *p)
{
	size_t n;
	uint64_t *length = lengths(p, &n), median;
	double bound;

	if (!length || !n) {
		free(length);
		return -1;
	}
	median = length[n / 2];
	bound = OUTLIER_SIGMAS * MAD_SIGMA * median_deviation(length, n, median);
	bound = fmax(bound, OUTLIER_SHARE * (double)median);
	for (size_t i = 0; i + 1 < p->count; i++)
		if (fabs((double)length_of(p, i) - (double)median) > bound)
			p->mark[i] &= ~ACCEPTED;
	free(length);
	return 0;
}

/* First of WARM_RUN accepted pieces in a row (fewer where the run is short). Looked for in the
 * first half only. */
static size_t find_steady(const struct pieces *p)
{
	size_t run = 0, need = p->count < 4 * WARM_RUN ? 2 : WARM_RUN;

	for (size_t i = 0; i + 1 < p->count && i < p->count / 2 + need; i++) {
		run = is_accepted(p, i) ? run + 1 : 0;
		if (run == need)
			return i + 1 - need;
	}
	for (size_t i = 0; i + 1 < p->count; i++)
		if (is_accepted(p, i))
			return i;
	return 0;
}

/* Two kernels in each round of a loop make pieces of two lengths, neither of which is an exception:
 * pieces alike in content come back if too many were dropped for their length. */
static void readmit(struct pieces *p)
{
	size_t steady = find_steady(p), alike = 0, dropped = 0;

	for (size_t i = steady; i + 1 < p->count; i++) {
		alike += (p->mark[i] & ALIKE) != 0;
		dropped += (p->mark[i] & ALIKE) && !is_accepted(p, i);
	}
	if ((double)dropped <= OUTLIERS_MOST * (double)alike)
		return;
	for (size_t i = steady; i + 1 < p->count; i++)
		if (p->mark[i] & ALIKE)
			p->mark[i] |= ACCEPTED;
}

/* Appends to a list, or to its last interval if that ends here. */
static int extend(struct interval **list, size_t *count, size_t *capacity,
		  const struct interval *interval)
{
	struct interval *last = *count ? &(*list)[*count - 1] : NULL;

	if (last && last->end_ns == interval->begin_ns) {
		last->end_ns = interval->end_ns;
		return 0;
	}
	if (array_reserve((void **)list, capacity, *count + 1, sizeof(*interval)))
		return -1;
	(*list)[(*count)++] = *interval;
	return 0;
}

/* Medians of stretches of accepted steps; those that do not divide into stretches are left out. */
static int gather_batches(const struct pieces *p, struct step_list *list)
{
	unsigned batches = list->count < STEP_BATCHES ? (unsigned)list->count : STEP_BATCHES;
	size_t each = batches ? list->count / batches : 0, n = 0;
	size_t stride = each / BATCH_SAMPLE + 1, kept = 0;
	uint64_t *length = malloc((each / stride + 1) * sizeof(*length));

	for (size_t i = 0; length && list->batch_count < batches && i + 1 < p->count; i++) {
		if (!is_accepted(p, i))
			continue;
		if (n++ % stride == 0)
			length[kept++] = length_of(p, i);
		if (n < each)
			continue;
		qsort(length, kept, sizeof(*length), by_value);
		list->batch_ns[list->batch_count++] = length[kept / 2];
		n = kept = 0;
	}
	free(length);
	return length ? 0 : -1;
}

/* The longest run of accepted pieces, as far as `most`. */
static size_t longest_run(const struct pieces *p, size_t most)
{
	size_t run = 0, longest = 0;

	for (size_t i = 0; i + 1 < p->count && longest < most; i++) {
		run = is_accepted(p, i) ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void mark_typical(const struct pieces *p, double kernels, struct step_list *list)
{
	double most = fmin(STEP_MARKS - 1, STEP_MARK_KERNELS / fmax(kernels, 1));
	double nearest = INFINITY;
	size_t steps = longest_run(p, (size_t)most), run = 0, at = 0;

	if (steps < 2)
		return;
	for (size_t i = 0; i + 1 < p->count; i++) {
		double far;

		run = is_accepted(p, i) ? run + 1 : 0;
		if (run < steps)
			continue;
		far = fabs((double)(begin_of(p, i + 1) - begin_of(p, i + 1 - steps)) -
			   (double)steps * (double)list->median_ns);
		if (far < nearest) {
			nearest = far;
			at = i + 1 - steps;
		}
	}
	for (size_t i = 0; i <= steps; i++)
		list->mark_ns[list->mark_count++] = begin_of(p, at + i);
}

static int gather(struct pieces *p, double kernels, struct step_list *list)
{
	size_t steady = find_steady(p), capacity = 0, outliers = 0, last = steady, n;
	uint64_t *length;

	for (size_t i = 0; i < steady; i++) {
		list->warmup_count += (p->mark[i] & ALIKE) != 0;
		p->mark[i] &= ~ACCEPTED;
	}
	for (size_t i = steady; i + 1 < p->count; i++)
		if (is_accepted(p, i))
			last = i;
	for (size_t i = steady; i <= last && i + 1 < p->count; i++) {
		struct interval piece = {begin_of(p, i), begin_of(p, i + 1)};
		bool fits = is_accepted(p, i);

		*(fits ? &list->count : &list->outlier_count) += 1;
		if (fits ? extend(&list->interval, &list->interval_count, &capacity, &piece)
			 : extend(&list->outlier, &list->outlier_intervals, &outliers, &piece))
			return -1;
	}
	length = lengths(p, &n);
	if (length && n) {
		list->median_ns = length[n / 2];
		list->low_ns = length[n / 10];
		list->high_ns = length[n - 1 - n / 10];
	}
	free(length);
	if (!length || !n)
		return -1;
	mark_typical(p, kernels, list);
	return gather_batches(p, list);
}

/* Evenly over the run, stretches of equal pieces, of LAYER_SAMPLE_KERNELS each or what there is. */
static void take_samples(const struct pieces *p, const struct anchor *anchor,
			 struct step_list *list)
{
	unsigned kernels = anchor->step.kernels;
	size_t most, run = 0, next = 0;
	uint64_t number = 0;

	if (!kernels || kernels > LAYER_KERNELS_MOST || anchor->kind == ANCHOR_GRAPH ||
	    anchor->stream >= 0)
		return;
	most = p->count / (2 * LAYER_SAMPLES);
	if (most > LAYER_SAMPLE_KERNELS / kernels)
		most = LAYER_SAMPLE_KERNELS / kernels;
	for (size_t i = 0; i + 1 < p->count && list->sample_count < LAYER_SAMPLES; i++) {
		bool equal = p->mark[i] & EQUAL;

		number = equal ? number + 1 : 0;
		run = equal && i >= next ? run + 1 : 0;
		if (!run || run < most)
			continue;
		list->sample[list->sample_count++] = (struct layer_sample){
			begin_of(p, i + 1 - run), begin_of(p, i + 1), number - run, run};
		run = 0;
		next = p->count / LAYER_SAMPLES * list->sample_count;
	}
}

/* Are these pieces what the run is about? */
static bool substantial(const struct anchor *anchor, const struct step_list *list,
			const struct sequence *sequence, uint64_t activity_ns)
{
	double kernels = anchor->step_kernels * (double)list->count;

	if (list->count < STEPS_LEAST ||
	    anchor->alike_ns < PURITY * (anchor->alike_ns + anchor->other_ns))
		return false;
	return anchor->alike_ns >= TIME_SHARE * (double)activity_ns ||
	       kernels >= KERNEL_SHARE * (double)sequence->count;
}

static bool find_in(const struct sequence *sequence, const struct vocabulary *v, int stream,
		    uint64_t activity_ns, struct step_list *list, double *alike_ns)
{
	struct pieces pieces = {0};
	struct anchor anchor;
	bool good;

	memset(list, 0, sizeof(*list));
	if (!anchor_find(sequence, v, stream, activity_ns, &anchor))
		return false;
	good = cut(sequence, v, &anchor, &pieces) == 0 && pieces.count > STEPS_LEAST &&
	       drop_outliers(&pieces) == 0;
	if (good) {
		readmit(&pieces);
		good = gather(&pieces, anchor.step_kernels, list) == 0;
	}
	if (good)
		take_samples(&pieces, &anchor, list);
	free(pieces.mark);
	if (!good || !substantial(&anchor, list, sequence, activity_ns)) {
		steps_fini(list);
		return false;
	}
	list->anchor = anchor;
	list->kernels = anchor.step_kernels;
	list->detected_by = anchor.kind == ANCHOR_GRAPH ? "graph launch" : "kernel sequence";
	*alike_ns = anchor.alike_ns;
	return true;
}

bool steps_find(const struct sequence *sequence, const struct vocabulary *v, uint64_t activity_ns,
		struct step_list *list)
{
	struct step_list alone;
	double all_ns = 0, alone_ns = 0;
	int busiest = 0;
	bool found = find_in(sequence, v, -1, activity_ns, list, &all_ns);

	if (sequence->stream_count < 2 || all_ns >= 0.9 * (double)activity_ns)
		return found;
	for (unsigned i = 1; i < sequence->stream_count; i++)
		if (sequence->stream_ns[i] > sequence->stream_ns[busiest])
			busiest = (int)i;
	if (!find_in(sequence, v, busiest, activity_ns, &alone, &alone_ns))
		return found;
	if (found && alone_ns < 1.2 * all_ns) {
		steps_fini(&alone);
		return true;
	}
	if (found)
		steps_fini(list);
	*list = alone;
	return true;
}

/* Where a pass begins, in a walk over the layers. */
struct pass_walk {
	const struct anchor *anchor;
	const struct layers *layers;
	struct content now, layer, pass; /* what was seen; at the begin of the layer, of the pass */
	uint64_t number;                 /* of the layer since the sequence broke off */
	unsigned at;                     /* kernels into it */
	bool open;
};

static void enter_layer(struct pass_walk *w)
{
	struct content layer = content_since(&w->now, &w->layer);

	w->number = w->open && content_equal(&w->anchor->step, &layer) ? w->number + 1 : 0;
	w->layer = w->now;
	w->at = 0;
	w->open = true;
}

static bool begins_pass(struct pass_walk *w)
{
	return w->open && w->at++ == w->layers->offset &&
	       w->number % w->layers->count == w->layers->first;
}

/* As many of the layer's kernels as layers. */
static bool is_pass(const struct pass_walk *w)
{
	struct content pass = content_since(&w->now, &w->pass);

	return pass.kernels == w->anchor->step.kernels * w->layers->count &&
	       pass.hash == w->anchor->step.hash * w->layers->count;
}

static int cut_passes(const struct sequence *sequence, const struct vocabulary *v,
		      const struct anchor *anchor, const struct layers *layers,
		      struct pieces *pieces)
{
	struct pass_walk w = {.anchor = anchor, .layers = layers};
	struct sequence_walk walk = {0};
	struct sequence_item item;
	struct content_item *items = content_items(v);
	uint32_t before = UINT32_MAX;
	int status = items ? 0 : -1;

	while (!status && sequence_next(sequence, &walk, &item)) {
		if (anchor_matches(anchor, &item, before, items))
			enter_layer(&w);
		if (begins_pass(&w)) {
			if (pieces->count && is_pass(&w))
				pieces->mark[pieces->count - 1] |= ACCEPTED | ALIKE;
			status = array_reserve((void **)&pieces->mark, &pieces->capacity,
					       pieces->count + 1, sizeof(uint64_t));
			if (status)
				break;
			pieces->mark[pieces->count++] = item.begin_ns << MARK_SHIFT;
			w.pass = w.now;
		}
		content_add(&w.now, &items[item.signature]);
		before = item.signature;
	}
	free(items);
	return status;
}

void steps_join(const struct sequence *sequence, const struct vocabulary *v, uint64_t activity_ns,
		const struct layers *layers, struct step_list *list)
{
	struct step_list joined = {0};
	struct anchor anchor = list->anchor;
	struct pieces pieces = {0};
	bool good = cut_passes(sequence, v, &anchor, layers, &pieces) == 0 &&
		    pieces.count > STEPS_LEAST && drop_outliers(&pieces) == 0;

	anchor.step_kernels *= layers->count;
	if (good) {
		readmit(&pieces);
		good = gather(&pieces, anchor.step_kernels, &joined) == 0;
	}
	free(pieces.mark);
	if (!good || !substantial(&anchor, &joined, sequence, activity_ns)) {
		steps_fini(&joined);
		return;
	}
	joined.anchor = list->anchor;
	joined.kernels = anchor.step_kernels;
	joined.layers = layers->count;
	joined.detected_by =
		layers->by_operands ? "kernel sequence and operands" : list->detected_by;
	steps_fini(list);
	*list = joined;
}

void steps_fini(struct step_list *list)
{
	free(list->interval);
	free(list->outlier);
	memset(list, 0, sizeof(*list));
}
