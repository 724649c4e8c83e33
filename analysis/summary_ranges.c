/* Sums over subtrees, and the order of a tree that is read from the top. */
#include "summary_ranges.h"

#include <stdlib.h>
#include <string.h>

struct draft {
	uint32_t node;
	uint32_t first, next; /* child, sibling: numbers of nodes, 0 = none */
	struct range_report report;
};

static uint64_t sum_of(const uint64_t leaf_ns[LEAF_COUNT])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < LEAF_COUNT; i++)
		sum += leaf_ns[i];
	return sum;
}

static void take_times(struct range_window *window, const struct range_time *time)
{
	window->count = time->count;
	memcpy(window->self_ns, time->leaf_ns, sizeof(window->self_ns));
	memcpy(window->total_ns, time->leaf_ns, sizeof(window->total_ns));
}

static void add_total(struct range_window *to, const struct range_window *from)
{
	for (unsigned i = 0; i < LEAF_COUNT; i++)
		to->total_ns[i] += from->total_ns[i];
}

static char *text_of(const struct vocabulary *v, uint32_t string)
{
	if (!string)
		return NULL;
	return strdup(string <= v->strings.count ? v->string[string - 1] : "unknown");
}

static void fill(const struct vocabulary *v, const struct account *a, uint32_t node,
		 struct range_report *report)
{
	const struct range_node *n = &a->ranges->tree.node[node];

	report->name = text_of(v, n->name);
	report->domain = text_of(v, n->domain);
	report->opened = n->opened;
	take_times(&report->whole, &a->range.whole[node]);
	take_times(&report->steady, &a->range.steady[node]);
}

/* Steady time goes before; a range that has none comes behind, by its whole time. */
static int by_total(const void *a, const void *b)
{
	const struct draft *x = *(struct draft *const *)a, *y = *(struct draft *const *)b;
	uint64_t steady_x = sum_of(x->report.steady.total_ns);
	uint64_t steady_y = sum_of(y->report.steady.total_ns);
	uint64_t whole_x = sum_of(x->report.whole.total_ns);
	uint64_t whole_y = sum_of(y->report.whole.total_ns);

	if (steady_x != steady_y)
		return steady_x < steady_y ? 1 : -1;
	if (whole_x != whole_y)
		return whole_x < whole_y ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Children are numbered behind their parents: from the last to the first, sums are complete. */
static void sum_up(const struct range_tree *tree, struct draft *draft)
{
	for (uint32_t i = tree->count; i-- > RANGE_STRANGER + 1;) {
		uint32_t parent = tree->node[i].parent;

		if (parent == RANGE_OUTSIDE)
			continue;
		add_total(&draft[parent].report.whole, &draft[i].report.whole);
		add_total(&draft[parent].report.steady, &draft[i].report.steady);
	}
}

/* Hangs each node in front of its siblings, smallest first: lists come out largest first. */
static void link(const struct range_tree *tree, struct draft *draft, struct draft **order)
{
	for (uint32_t i = tree->count; i-- > RANGE_STRANGER + 1;) {
		struct draft *child = order[i];
		struct draft *parent = &draft[tree->node[child->node].parent];

		child->next = parent->first;
		parent->first = child->node;
	}
}

/* Depth first, without recursion: a tree may be as deep as it has nodes. */
static void list(const struct range_tree *tree, struct draft *draft, struct ranges_report *report)
{
	uint32_t at = draft[RANGE_OUTSIDE].first;
	unsigned depth = 0;

	while (at) {
		draft[at].report.depth = depth;
		report->range[report->count++] = draft[at].report;
		if (draft[at].first) {
			at = draft[at].first;
			depth++;
			continue;
		}
		while (!draft[at].next && depth) {
			at = tree->node[at].parent;
			depth--;
		}
		at = draft[at].next;
	}
}

void summary_ranges(const struct vocabulary *v, const struct account *a,
		    struct ranges_report *report)
{
	const struct range_tree *tree = a->ranges ? &a->ranges->tree : NULL;
	struct draft *draft, **order;

	if (!tree)
		return;
	draft = calloc(tree->count, sizeof(*draft));
	order = calloc(tree->count, sizeof(*order));
	report->range = calloc(tree->count, sizeof(*report->range));
	if (draft && order && report->range) {
		for (uint32_t i = 0; i < tree->count; i++) {
			draft[i].node = i;
			order[i] = &draft[i];
			fill(v, a, i, &draft[i].report);
		}
		sum_up(tree, draft);
		qsort(order + RANGE_STRANGER + 1, tree->count - RANGE_STRANGER - 1, sizeof(*order),
		      by_total);
		link(tree, draft, order);
		list(tree, draft, report);
		report->stranger = draft[RANGE_STRANGER].report;
		report->outside = draft[RANGE_OUTSIDE].report;
		for (unsigned i = 0; i < LEAF_COUNT; i++) {
			report->outside.whole.self_ns[i] += report->stranger.whole.self_ns[i];
			report->outside.steady.self_ns[i] += report->stranger.steady.self_ns[i];
		}
		add_total(&report->outside.whole, &report->stranger.whole);
		add_total(&report->outside.steady, &report->stranger.steady);
		report->crowded = tree->crowded;
		report->known = report->count > 0;
	}
	free(draft);
	free(order);
}
