/* A sweep over the starts and ends of one device's operations. */
#include "account.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Gaps remembered to tell how busy the device was during a wait. One that spans more counts as busy
 * before them. */
#define PAST_GAPS 8192u

/* What may be held counts as held if it starts later than this: a device that is free starts within 1 to 5 us. */
#define UNSEEN_HOLD_NS 10000

/* Kernel signatures with medians: 2.6 kB each. */
#define QUANTILES_LIMIT 16384

/* Is `t` in intervals, of which `at` is the first that is not over? Lowers *until_ns to where that changes. */
static bool lies_in(const struct interval *interval, size_t count, size_t at, uint64_t t,
		    uint64_t *until_ns)
{
	bool inside;
	uint64_t change;

	while (at < count && interval[at].end_ns <= t)
		at++;
	if (at == count)
		return false;
	inside = interval[at].begin_ns <= t;
	change = inside ? interval[at].end_ns : interval[at].begin_ns;
	if (change < *until_ns)
		*until_ns = change;
	return inside;
}

/* Time of [from, to) in intervals; *at is the first that is not over. `from` never goes back from
 * call to call. */
static uint64_t part_in(const struct interval *interval, size_t count, size_t *at,
			const struct interval *span)
{
	uint64_t part = 0;

	while (*at < count && interval[*at].end_ns <= span->begin_ns)
		++*at;
	for (size_t i = *at; i < count && interval[i].begin_ns < span->end_ns; i++) {
		uint64_t begin = interval[i].begin_ns > span->begin_ns ? interval[i].begin_ns
								       : span->begin_ns;
		uint64_t end =
			interval[i].end_ns < span->end_ns ? interval[i].end_ns : span->end_ns;

		part += end - begin;
	}
	return part;
}

static void look_ahead(struct account *a, uint64_t t)
{
	a->same_until_ns = UINT64_MAX;
	a->now_steady =
		-(uint64_t)lies_in(a->steady, a->steady_count, a->steady_at, t, &a->same_until_ns);
	a->now_outlier = -(uint64_t)lies_in(a->outlier, a->outlier_count, a->outlier_at, t,
					    &a->same_until_ns);
}

/* Where the steady window or an outlier begins or ends in between. */
static uint64_t part_across(struct account *a, uint64_t from, uint64_t to, enum leaf leaf)
{
	struct interval span = {from, to};

	uint64_t outlier = part_in(a->outlier, a->outlier_count, &a->outlier_at, &span);

	a->outlier_ns[leaf] += outlier;
	a->outlier_sum_ns += outlier;
	look_ahead(a, to);
	return part_in(a->steady, a->steady_count, &a->steady_at, &span);
}

/* Time of [from, to) in the steady window. What lies in outliers is noted for its leaf. `from` never
 * goes back. */
static inline uint64_t steady_part(struct account *a, uint64_t from, uint64_t to, enum leaf leaf)
{
	if (to > a->same_until_ns)
		return part_across(a, from, to, leaf);
	if (a->now_outlier) {
		a->outlier_ns[leaf] += to - from;
		a->outlier_sum_ns += to - from;
	}
	return (to - from) & a->now_steady;
}

/* Idle time of the device before `t`. */
static uint64_t idle_before(const struct account *a, uint64_t t)
{
	uint64_t low = a->past_count > PAST_GAPS ? a->past_count - PAST_GAPS : 0;
	uint64_t high = a->past_count;
	const struct past_gap *gap;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (a->past[middle % PAST_GAPS].begin_ns <= t)
			low = middle;
		else
			high = middle;
	}
	if (high == low)
		return 0;
	gap = &a->past[low % PAST_GAPS];
	if (t <= gap->begin_ns)
		return gap->idle_ns;
	return gap->idle_ns + (t < gap->end_ns ? t : gap->end_ns) - gap->begin_ns;
}

static uint64_t device_busy(const void *device, uint64_t from_ns, uint64_t to_ns)
{
	const struct account *a = device;
	uint64_t idle;

	if (from_ns < a->begin_ns)
		from_ns = a->begin_ns;
	if (to_ns <= from_ns)
		return 0;
	idle = idle_before(a, to_ns) - idle_before(a, from_ns);
	return to_ns - from_ns > idle ? to_ns - from_ns - idle : 0;
}

int account_init(struct account *a)
{
	a->now_ns = a->begin_ns;
	a->past = malloc(PAST_GAPS * sizeof(*a->past));
	a->kernel = calloc(a->label_count, sizeof(*a->kernel));
	a->rules.busy = device_busy;
	a->rules.device = a;
	if (!a->past || !a->kernel || idle_pieces_init(&a->pieces) ||
	    range_times_init(&a->range, a->ranges, a->device)) {
		account_fini(a);
		return -1;
	}
	a->whole.known = true;
	look_ahead(a, a->now_ns);
	for (size_t i = 0; i < a->steady_count; i++)
		a->steady_window.window_ns += a->steady[i].end_ns - a->steady[i].begin_ns;
	a->steady_window.known = a->steady_count > 0;
	return 0;
}

void account_fini(struct account *a)
{
	for (size_t i = 0; a->kernel && i < a->label_count; i++) {
		free(a->kernel[i].queue);
		free(a->kernel[i].gap);
	}
	free(a->kernel);
	free(a->past);
	range_times_fini(&a->range);
	idle_pieces_fini(&a->pieces);
	a->kernel = NULL;
	a->past = NULL;
}

/* Of a time up to which all is accounted for. */
static bool in_steady(struct account *a, uint64_t t)
{
	if (t >= a->same_until_ns)
		look_ahead(a, t);
	return a->now_steady != 0;
}

/* The operations of a slice that decide it: kernels, else collectives, else copies. */
static enum active_kind leading(const struct account *a, uint64_t begin, unsigned count[3])
{
	memset(count, 0, 3 * sizeof(*count));
	for (unsigned i = 0; i < a->active_count; i++)
		count[a->active[i].kind] += a->active[i].from_ns <= begin;
	if (count[ACTIVE_KERNEL])
		return ACTIVE_KERNEL;
	return count[ACTIVE_COLLECTIVE] ? ACTIVE_COLLECTIVE : ACTIVE_COPY;
}

static enum leaf slice_leaf(const struct account *a, enum active_kind kind, uint64_t begin)
{
	struct decide_input sum;
	const struct signature_label *label = NULL;
	bool several = false;

	if (kind != ACTIVE_KERNEL)
		return kind == ACTIVE_COPY ? LEAF_TRANSFER : LEAF_COMMUNICATION;
	for (unsigned i = 0; i < a->active_count; i++) {
		if (a->active[i].kind != kind || a->active[i].from_ns > begin)
			continue;
		if (!label) {
			label = &a->label[a->active[i].index];
			continue;
		}
		if (!several)
			sum = label->input;
		several = true;
		decide_add(&sum, &a->label[a->active[i].index].input);
	}
	return several ? decide(&sum).leaf : label->decision.leaf;
}

/* Time in which the device is busy and nothing begins or ends. */
struct busy_slice {
	uint64_t begin_ns, end_ns;
	uint64_t steady_ns; /* of it in the steady window */
	enum active_kind kind;
	enum leaf leaf;
};

static struct op_time *outlier_of(struct account *a, bool is_copy, uint32_t index)
{
	return is_copy ? &a->copy[index].outlier : &a->kernel[index].outlier;
}

/* Splits `part` ns of the steady window equally between the operations that lead; what does not
 * divide goes to the first. */
static void share_out(struct account *a, enum active_kind kind, uint64_t begin, uint64_t part,
		      unsigned among)
{
	uint64_t rest = among > 1 ? part % among : 0;

	if (among > 1)
		part /= among;
	for (unsigned i = 0; i < a->active_count; i++) {
		struct active_op *op = &a->active[i];

		if (op->kind != kind || op->from_ns > begin)
			continue;
		if (kind == ACTIVE_COPY)
			a->copy[op->index].exposed_ns += part + rest;
		else
			a->kernel[op->index].busy_ns += part + rest;
		rest = 0;
	}
}

/* The same in outliers, to the nearest ns. */
static void share_outlier(struct account *a, const struct busy_slice *slice, uint64_t part,
			  unsigned among)
{
	for (unsigned i = 0; i < a->active_count; i++) {
		const struct active_op *op = &a->active[i];

		if (op->kind == slice->kind && op->from_ns <= slice->begin_ns)
			outlier_of(a, op->kind == ACTIVE_COPY, op->index)->busy_ns +=
				part / (among ? among : 1);
	}
}

/* The same among the ranges that these operations were launched in, in the whole window too. */
static void share_ranges(struct account *a, const struct busy_slice *slice, unsigned among)
{
	uint64_t whole = slice->end_ns - slice->begin_ns, steady = slice->steady_ns;
	uint64_t whole_rest, steady_rest;

	among = among ? among : 1;
	whole_rest = whole % among;
	steady_rest = steady % among;

	for (unsigned i = 0; i < a->active_count; i++) {
		const struct active_op *op = &a->active[i];

		if (op->kind != slice->kind || op->from_ns > slice->begin_ns)
			continue;
		range_times_add(&a->range, op->range, slice->leaf, whole / among + whole_rest,
				steady / among + steady_rest);
		whole_rest = steady_rest = 0;
	}
}

static void add_slice(struct account *a, uint64_t begin, uint64_t end)
{
	unsigned count[3] = {1, 1, 1};
	bool alone = a->active_count == 1;
	enum active_kind kind = alone ? a->active[0].kind : leading(a, begin, count);
	enum leaf leaf = slice_leaf(a, kind, begin);
	uint64_t outlier = a->outlier_sum_ns, part = steady_part(a, begin, end, leaf);
	const struct busy_slice slice = {begin, end, part, kind, leaf};

	a->whole.leaf_ns[leaf] += end - begin;
	a->whole.busy_ns += end - begin;
	if (kind != ACTIVE_COPY)
		a->whole.kernel_ns += end - begin;
	if (a->ranges)
		share_ranges(a, &slice, count[kind]);
	if (a->outlier_sum_ns > outlier)
		share_outlier(a, &slice, a->outlier_sum_ns - outlier, count[kind]);
	if (!part)
		return;
	a->steady_window.leaf_ns[leaf] += part;
	a->steady_window.busy_ns += part;
	if (kind != ACTIVE_COPY)
		a->steady_window.kernel_ns += part;
	share_out(a, kind, begin, part, count[kind]);
}

/* The next moment up to `to` at which an active operation ends or begins to count. */
static uint64_t next_cut(const struct account *a, uint64_t to)
{
	for (unsigned i = 0; i < a->active_count; i++) {
		const struct active_op *op = &a->active[i];

		if (op->end_ns < to)
			to = op->end_ns;
		if (op->from_ns > a->now_ns && op->from_ns < to)
			to = op->from_ns;
	}
	return to;
}

static void drop_ended(struct account *a)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->active_count; i++)
		if (a->active[i].end_ns > a->now_ns)
			a->active[kept++] = a->active[i];
	a->active_count = kept;
}

/* Accounts for busy time up to `to`, or up to where the device runs dry. */
static void run_busy(struct account *a, uint64_t to)
{
	while (a->active_count && a->now_ns < to) {
		uint64_t cut = next_cut(a, to);

		add_slice(a, a->now_ns, cut);
		a->now_ns = cut;
		drop_ended(a);
	}
}

/* Adds what `part` of a stretch of `length` ns holds, if it is like the whole. */
static void add_host(struct host_parts *sum, const struct host_parts *parts, uint64_t part,
		     uint64_t length)
{
	double share = (double)part / (double)length;
	uint64_t blocked = parts->blocked_ns, preempted = parts->preempted_ns;
	uint64_t unmeasured = parts->unmeasured_ns;

	if (!part)
		return;
	if (part < length) {
		blocked = (uint64_t)((double)blocked * share);
		preempted = (uint64_t)((double)preempted * share);
		unmeasured = (uint64_t)((double)unmeasured * share);
	}
	sum->blocked_ns += blocked;
	sum->preempted_ns += preempted;
	sum->unmeasured_ns += unmeasured;
	sum->running_ns += part - blocked - preempted - unmeasured;
}

static void split_host(struct account *a, const struct idle_piece *piece, uint64_t part,
		       const struct thread_log *log)
{
	uint64_t length = piece->end_ns - piece->begin_ns;
	struct host_parts parts = silences_split(&log->silences, piece->begin_ns, piece->end_ns);

	add_host(&a->whole.host, &parts, length, length);
	add_host(&a->steady_window.host, &parts, part, length);
}

/* Of what `queue` says. */
static void add_queue(struct window *window, enum leaf leaf, uint64_t ns)
{
	*(leaf == LEAF_TRACING ? &window->tracing_device_ns : &window->launch_queue_gap_ns) += ns;
}

/* One that is kept among the longest of its leaf. */
static void keep_gap(struct account *a, const struct idle_piece *piece, uint64_t duration_ns,
		     const struct idle_gap *gap)
{
	struct worst_gap worst = {piece->begin_ns, duration_ns, GAP_AT_END, 0, gap->thread};

	if (gap->op) {
		worst.before = gap->op->is_copy ? GAP_BEFORE_COPY : GAP_BEFORE_KERNEL;
		worst.what = gap->op->is_copy ? gap->op->copy_kind : gap->op->signature;
	}
	gap_keep(&a->gap[piece->leaf], &worst);
}

static uint32_t range_of(const struct launch *launch)
{
	return launch ? launch->range_node : RANGE_OUTSIDE;
}

/* Idle time of which nothing is asked. */
static void skip_gap(struct account *a, uint64_t end_ns)
{
	uint64_t part = steady_part(a, a->now_ns, end_ns, LEAF_UNKNOWN);

	a->whole.leaf_ns[LEAF_UNKNOWN] += end_ns - a->now_ns;
	a->steady_window.leaf_ns[LEAF_UNKNOWN] += part;
	a->now_ns = end_ns;
}

/* The row for copies of this kind; beyond COPY_STATS kinds, the last one takes all. */
static uint32_t copy_row(struct account *a, const struct op *op)
{
	unsigned i;

	for (i = 0; i < a->copy_count; i++)
		if (a->copy[i].kind == op->copy_kind && a->copy[i].source == op->source_kind &&
		    a->copy[i].target == op->target_kind)
			return i;
	if (i == COPY_STATS)
		return COPY_STATS - 1;
	a->copy[i].kind = op->copy_kind;
	a->copy[i].source = op->source_kind;
	a->copy[i].target = op->target_kind;
	return a->copy_count++;
}

/* What of a gap lies in the steady window and in outliers is charged to the operation that came late. */
static void charge(struct account *a, const struct op *op, uint64_t steady_ns, uint64_t outlier_ns)
{
	uint32_t index = op->is_copy ? copy_row(a, op) : op->signature;

	*(op->is_copy ? &a->copy[index].idle_ns : &a->kernel[index].idle_ns) += steady_ns;
	outlier_of(a, op->is_copy, index)->idle_ns += outlier_ns;
}

/* Returns how much of a piece lies in the steady window. */
static inline uint64_t add_idle_piece(struct account *a, const struct idle_piece *piece,
				      const struct idle_gap *gap)
{
	uint64_t length = piece->end_ns - piece->begin_ns;
	uint64_t part = steady_part(a, piece->begin_ns, piece->end_ns, piece->leaf);

	a->whole.leaf_ns[piece->leaf] += length;
	a->steady_window.leaf_ns[piece->leaf] += part;
	if (piece->leaf == LEAF_HOST)
		split_host(a, piece, part, gap->log);
	if (piece->queue) {
		add_queue(&a->whole, piece->leaf, length);
		add_queue(&a->steady_window, piece->leaf, part);
	}
	if (a->ranges)
		range_times_add(&a->range, range_of(gap->launch), piece->leaf, length, part);
	if (part && gap_count(&a->gap[piece->leaf], part))
		keep_gap(a, piece, part, gap);
	return part;
}

static inline void add_gap(struct account *a, struct idle_gap *gap)
{
	uint64_t steady = 0, outlier = a->outlier_sum_ns;

	if (a->shared)
		gap->log = NULL; /* what looks idle may be another's work: unknown */

	a->past[a->past_count++ % PAST_GAPS] =
		(struct past_gap){gap->begin_ns, gap->end_ns, a->idle_ns};
	idle_split(gap, &a->rules, &a->pieces);
	for (size_t i = 0; i < a->pieces.count; i++) {
		struct idle_piece *piece = &a->pieces.piece[i];

		/* What becomes one is the last of them: */
		if (i + 1 < a->pieces.count && piece[1].leaf == piece->leaf)
			piece[1].begin_ns = piece->begin_ns;
		else
			steady += add_idle_piece(a, piece, gap);
	}
	if (gap->op && a->outlier_count)
		charge(a, gap->op, steady, a->outlier_sum_ns - outlier);
	a->idle_ns += gap->end_ns - gap->begin_ns;
	a->now_ns = gap->end_ns;
}

/* An event holds an operation for as long as what it stands for runs; what was over when the gap
 * began held nothing. */
static bool released_late(const struct account *a, const struct issued_op *issued)
{
	return issued->launch && issued->release_ns > a->now_ns &&
	       issued->release_ns > issued->launch->end_ns;
}

static bool is_held(const struct account *a, const struct issued_op *issued)
{
	uint64_t from = a->now_ns;

	if (issued->held || released_late(a, issued))
		return true;
	if (!issued->perhaps_held || !issued->launch)
		return false;
	if (from < issued->launch->end_ns)
		from = issued->launch->end_ns;
	return issued->op->begin_ns > from && issued->op->begin_ns - from > UNSEEN_HOLD_NS;
}

static void add_gap_before(struct account *a, const struct issued_op *issued)
{
	struct idle_gap gap = {
		.begin_ns = a->now_ns,
		.end_ns = issued->op->begin_ns,
		.op = issued->op,
		.launch = issued->launch,
		.log = issued->log,
		.thread = issued->launch ? issued->launch->thread : 0,
		.held = is_held(a, issued),
		.release_ns = issued->held || !released_late(a, issued) ? 0 : issued->release_ns,
	};

	gap.charged_ns = gap.thread == a->charged_thread ? a->charged_ns : gap.begin_ns;
	add_gap(a, &gap);
	if (!gap.launch || (gap.thread == a->charged_thread && gap.launch->end_ns < a->charged_ns))
		return;
	a->charged_thread = gap.thread;
	a->charged_ns = gap.launch->end_ns;
}

static struct quantile *quantile_of(struct account *a, struct quantile **quantile)
{
	if (!*quantile && a->quantiles < QUANTILES_LIMIT) {
		*quantile = calloc(1, sizeof(**quantile));
		a->quantiles += *quantile != NULL;
	}
	return *quantile;
}

static void note_kernel(struct account *a, const struct issued_op *issued, uint64_t gap_ns)
{
	const struct op *op = issued->op;
	struct kernel_stat *stat = &a->kernel[op->signature];
	struct quantile *q;

	stat->launches++;
	stat->graph_launches += op->graph != 0;
	stat->total_ns += op->end_ns - op->begin_ns;
	stat->square_ns +=
		(double)(op->end_ns - op->begin_ns) * (double)(op->end_ns - op->begin_ns);
	q = a->plain ? NULL : quantile_of(a, &stat->gap);
	if (q)
		quantile_add(q, gap_ns);
	if (!issued->launch || op->graph)
		return;
	q = quantile_of(a, &stat->queue);
	if (q)
		quantile_add(q, op->begin_ns > issued->launch->end_ns
					? op->begin_ns - issued->launch->end_ns
					: 0);
}

static void note_copy(struct account *a, const struct op *op, uint32_t row)
{
	a->copy[row].count++;
	a->copy[row].bytes += op->bytes;
	a->copy[row].total_ns += op->end_ns - op->begin_ns;
}

/* Makes it active. A kernel waits for those of its stream that still run (programmatic dependent
 * launch). */
static void activate(struct account *a, const struct issued_op *issued, uint32_t index)
{
	const struct op *op = issued->op;
	struct active_op active = {.end_ns = op->end_ns,
				   .from_ns = op->begin_ns,
				   .stream = op->stream,
				   .range = range_of(issued->launch),
				   .index = index,
				   .kind = ACTIVE_COPY};

	if (!op->is_copy)
		active.kind = a->label[index].input.collective ? ACTIVE_COLLECTIVE : ACTIVE_KERNEL;
	for (unsigned i = 0; !op->is_copy && i < a->active_count; i++)
		if (a->active[i].stream == op->stream && a->active[i].kind != ACTIVE_COPY &&
		    a->active[i].end_ns > active.from_ns)
			active.from_ns = a->active[i].end_ns;
	if (active.from_ns >= active.end_ns)
		return;
	if (a->active_count == ACTIVE_LIMIT) {
		a->crowded++;
		return;
	}
	a->active[a->active_count++] = active;
}

void account_add(struct account *a, const struct issued_op *issued)
{
	const struct op *op = issued->op;
	uint64_t gap_ns = 0;
	uint32_t index;
	bool steady;

	if (op->begin_ns < a->now_ns)
		return;
	run_busy(a, op->begin_ns);
	if (a->now_ns < op->begin_ns) {
		gap_ns = op->begin_ns - a->now_ns;
		if (a->plain)
			skip_gap(a, op->begin_ns);
		else
			add_gap_before(a, issued);
	}
	index = op->is_copy ? copy_row(a, op) : op->signature;
	steady = in_steady(a, op->begin_ns);
	if (a->ranges && issued->launch)
		range_times_count(&a->range, issued->launch->range_serial, steady);
	if (steady) {
		if (op->is_copy)
			note_copy(a, op, index);
		else
			note_kernel(a, issued, gap_ns);
	}
	activate(a, issued, index);
	a->last_log = issued->log;
	a->last_thread = issued->launch ? issued->launch->thread : 0;
}

static uint64_t sum_of(const struct window *window)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += window->leaf_ns[i];
	return sum;
}

void account_finish(struct account *a, uint64_t end_ns)
{
	struct idle_gap rest = {.end_ns = end_ns, .log = a->last_log, .thread = a->last_thread};

	run_busy(a, UINT64_MAX);
	rest.begin_ns = a->now_ns;
	if (a->plain)
		skip_gap(a, end_ns);
	else if (rest.begin_ns < rest.end_ns)
		add_gap(a, &rest);
	a->whole.window_ns = a->now_ns - a->begin_ns;
	assert(sum_of(&a->whole) == a->whole.window_ns);
	assert(sum_of(&a->steady_window) == a->steady_window.window_ns);
	(void)sum_of;
}
