/* One walk to count what recurs, one to compare the pieces between recurrences, for all candidates
 * at once. */
#include "anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_LEAST 5
#define CANDIDATES_LIMIT 4096 /* 3 MB */
#define CLUSTERS 6
#define LENGTH_SHARE 0.05 /* lengths that differ less are the same */
#define TIE_SHARE 0.995
#define GRAPH_SHARE 0.98
#define STRETCH 4.0
#define ENOUGH_SHARE 0.97 /* of the run: nothing better is looked for */

/* Pairs and graphs are found by hash: 65,536 places, filled to three quarters. */
#define TABLE_BITS 16
#define TABLE_FULL (3u << (TABLE_BITS - 2))
#define GRAPH_BIT (UINT64_C(1) << 63)

/* Pieces that are alike. */
struct cluster {
	struct content first;
	uint32_t count;
	uint64_t kernels;
	uint64_t begin_ns; /* of the first piece */
	double first_ns;
	double usual_ns; /* moving mean, quick to come down: the first pieces of a run are slow */
	double sum_ns;   /* of all but the first */
};

struct candidate {
	enum anchor_kind kind;
	uint64_t key;
	bool open;
	struct content at; /* when it occurred last */
	uint64_t at_ns;
	unsigned cluster_count, last;
	struct cluster cluster[CLUSTERS];
	double sum_ns;
};

/* A key that may become a candidate. */
struct recurrence {
	uint64_t key;
	uint32_t count;
	uint32_t candidate; /* index + 1 */
	uint64_t first_ns, last_ns;
};

struct search {
	const struct sequence *sequence;
	const struct vocabulary *vocabulary;
	int stream;
	struct recurrence *signature, *name, *table;
	size_t signature_count, name_count, table_used;
	struct candidate *candidate;
	size_t candidate_count;
	bool pairs;                /* are candidates too */
	struct content_item *item; /* by signature */
};

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

static uint64_t pair_key(uint32_t before, uint32_t signature)
{
	return (uint64_t)(before + 1) << 32 | signature;
}

/* The place of a key in the hash table: its own, a free one, or NULL when it is full. */
static struct recurrence *table_find(struct search *s, uint64_t key)
{
	size_t at = mix(key) >> (64 - TABLE_BITS);

	for (;; at = (at + 1) & ((1u << TABLE_BITS) - 1)) {
		struct recurrence *r = &s->table[at];

		if (r->count && r->key == key)
			return r;
		if (!r->count)
			return s->table_used < TABLE_FULL ? r : NULL;
	}
}

static void count(struct search *s, struct recurrence *r, uint64_t key, uint64_t ns)
{
	if (!r)
		return;
	if (!r->count++) {
		r->key = key;
		r->first_ns = ns;
		if (r >= s->table && r < s->table + (1u << TABLE_BITS))
			s->table_used++;
	}
	r->last_ns = ns;
}

static bool takes(const struct search *s, const struct sequence_item *item)
{
	return s->stream < 0 || (unsigned)s->stream == item->stream;
}

static struct recurrence *row(struct recurrence *rows, size_t rows_count, uint32_t index)
{
	return index < rows_count ? &rows[index] : NULL;
}

static void count_all(struct search *s)
{
	struct sequence_walk walk = {0};
	struct sequence_item item;
	uint32_t before = UINT32_MAX;

	while (sequence_next(s->sequence, &walk, &item)) {
		uint32_t name = s->item[item.signature].name_key;

		if (!takes(s, &item))
			continue;
		count(s, row(s->signature, s->signature_count, item.signature), item.signature,
		      item.begin_ns);
		count(s, row(s->name, s->name_count, name), name, item.begin_ns);
		if (s->pairs)
			count(s, table_find(s, pair_key(before, item.signature)),
			      pair_key(before, item.signature), item.begin_ns);
		if (item.graph)
			count(s, table_find(s, GRAPH_BIT | item.graph), GRAPH_BIT | item.graph,
			      item.begin_ns);
		before = item.signature;
	}
}

static int by_span(const void *a, const void *b)
{
	const struct recurrence *x = *(struct recurrence *const *)a;
	const struct recurrence *y = *(struct recurrence *const *)b;
	uint64_t span_x = x->last_ns - x->first_ns, span_y = y->last_ns - y->first_ns;

	return (span_x < span_y) - (span_x > span_y);
}

static void list(struct recurrence *rows, size_t rows_count, struct recurrence **out, size_t *n)
{
	for (size_t i = 0; i < rows_count; i++)
		if (rows[i].count >= OCCURRENCES_LEAST)
			out[(*n)++] = &rows[i];
}

static enum anchor_kind kind_of(const struct search *s, const struct recurrence *r)
{
	if (r >= s->signature && r < s->signature + s->signature_count)
		return ANCHOR_SIGNATURE;
	if (r >= s->name && r < s->name + s->name_count)
		return ANCHOR_NAME;
	return r->key & GRAPH_BIT ? ANCHOR_GRAPH : ANCHOR_PAIR;
}

/* A name with one signature only would be the same candidate twice. */
static void drop_single_names(struct search *s)
{
	for (size_t i = 0; i < s->signature_count; i++) {
		uint32_t name = s->item[i].name_key;

		if (s->signature[i].count && name < s->name_count &&
		    s->name[name].count == s->signature[i].count)
			s->name[name].count = 0;
	}
}

/* So would a pair that is as frequent as its kernel. */
static bool redundant(const struct search *s, const struct recurrence *r)
{
	uint32_t signature = (uint32_t)r->key;

	return kind_of(s, r) == ANCHOR_PAIR && signature < s->signature_count &&
	       s->signature[signature].count == r->count;
}

/* The recurrences that span the most time become candidates. */
static int nominate(struct search *s)
{
	size_t places = s->signature_count + s->name_count + (1u << TABLE_BITS), n = 0;
	struct recurrence **order = malloc(places * sizeof(struct recurrence *));

	if (!order)
		return -1;
	drop_single_names(s);
	list(s->signature, s->signature_count, order, &n);
	list(s->name, s->name_count, order, &n);
	list(s->table, 1u << TABLE_BITS, order, &n);
	qsort(order, n, sizeof(struct recurrence *), by_span);
	s->candidate =
		calloc(n < CANDIDATES_LIMIT ? n + 1 : CANDIDATES_LIMIT, sizeof(*s->candidate));
	for (size_t i = 0; s->candidate && i < n && s->candidate_count < CANDIDATES_LIMIT; i++) {
		struct candidate *c = &s->candidate[s->candidate_count];

		if (redundant(s, order[i]))
			continue;
		c->kind = kind_of(s, order[i]);
		c->key = order[i]->key;
		order[i]->candidate = (uint32_t)++s->candidate_count;
	}
	free(order);
	return s->candidate ? 0 : -1;
}

/* A cluster for a piece unlike all others: a new one, or in place of the smallest. */
static unsigned fresh_cluster(struct candidate *c, const struct content *piece)
{
	unsigned at = 0;

	for (unsigned i = 1; i < c->cluster_count; i++)
		if (c->cluster[i].count < c->cluster[at].count)
			at = i;
	if (c->cluster_count < CLUSTERS)
		at = c->cluster_count++;
	memset(&c->cluster[at], 0, sizeof(c->cluster[at]));
	c->cluster[at].first = *piece;
	return at;
}

/* The cluster that the piece since the last occurrence belongs to. Equal pieces, the usual case,
 * are told by their hash. */
static struct cluster *cluster_of(struct candidate *c, const struct content *now)
{
	uint64_t hash = now->hash - c->at.hash;
	struct content piece;

	if (c->cluster_count && c->cluster[c->last].first.hash == hash)
		return &c->cluster[c->last];
	for (unsigned i = 0; i < c->cluster_count; i++) {
		if (c->cluster[i].first.hash == hash) {
			c->last = i;
			return &c->cluster[i];
		}
	}
	piece = content_since(now, &c->at);
	for (unsigned i = 0; i < c->cluster_count; i++) {
		if (content_alike(&c->cluster[i].first, &piece)) {
			c->last = i;
			return &c->cluster[i];
		}
	}
	c->last = fresh_cluster(c, &piece);
	return &c->cluster[c->last];
}

static double usual_of(const struct candidate *c)
{
	double usual = 0;

	for (unsigned i = 0; i < c->cluster_count; i++)
		usual = fmax(usual, c->cluster[i].usual_ns);
	return usual;
}

/*
 * What the first pieces took, in which code was loaded, when nothing was usual yet, says nothing about the loop
 * either: layers of one long first step would outweigh all later steps.
 */
static void settle(struct candidate *c, struct cluster *cluster)
{
	double more = cluster->sum_ns - STRETCH * cluster->usual_ns * cluster->count;

	if (more <= 0)
		return;
	cluster->sum_ns -= more;
	c->sum_ns -= more;
}

/* Takes a piece into its cluster. Long ones are cut: a pause in one of them says nothing about the
 * loop. */
static void take(struct candidate *c, struct cluster *cluster, double length)
{
	double usual = cluster->count ? cluster->usual_ns : usual_of(c);

	if (usual > 0)
		length = fmin(length, STRETCH * usual);
	c->sum_ns += length;
	if (!cluster->count) {
		cluster->begin_ns = c->at_ns;
		cluster->first_ns = cluster->usual_ns = length;
	} else {
		cluster->sum_ns += length;
		cluster->usual_ns += (length - usual) / (length < usual ? 2 : 8);
		settle(c, cluster);
	}
	cluster->count++;
}

/* The candidate occurs: closes the piece since its last occurrence. */
static void occur(struct candidate *c, const struct content *now, uint64_t ns)
{
	if (c->open) {
		struct cluster *cluster = cluster_of(c, now);

		take(c, cluster, (double)(ns - c->at_ns));
		cluster->kernels += now->kernels - c->at.kernels;
	}
	c->open = true;
	c->at = *now;
	c->at_ns = ns;
}

static void visit(struct search *s, const struct recurrence *r, const struct content *now,
		  uint64_t ns)
{
	if (r && r->candidate)
		occur(&s->candidate[r->candidate - 1], now, ns);
}

static void compare_all(struct search *s)
{
	struct sequence_walk walk = {0};
	struct sequence_item item;
	struct content now = {0};
	uint32_t before = UINT32_MAX;

	while (sequence_next(s->sequence, &walk, &item)) {
		uint32_t name = s->item[item.signature].name_key;

		if (!takes(s, &item))
			continue;
		visit(s, row(s->signature, s->signature_count, item.signature), &now,
		      item.begin_ns);
		visit(s, row(s->name, s->name_count, name), &now, item.begin_ns);
		if (s->pairs)
			visit(s, table_find(s, pair_key(before, item.signature)), &now,
			      item.begin_ns);
		if (item.graph)
			visit(s, table_find(s, GRAPH_BIT | item.graph), &now, item.begin_ns);
		content_add(&now, &s->item[item.signature]);
		before = item.signature;
	}
}

static const struct cluster *top_of(const struct candidate *c)
{
	const struct cluster *top = NULL;

	for (unsigned i = 0; i < c->cluster_count; i++)
		if (!top || c->cluster[i].sum_ns > top->sum_ns)
			top = &c->cluster[i];
	return top;
}

static double score_of(const struct candidate *c)
{
	const struct cluster *top = top_of(c);

	return top && top->count > 1 ? top->sum_ns + top->usual_ns : 0;
}

static double length_of(const struct candidate *c)
{
	const struct cluster *top = top_of(c);

	return (double)top->kernels / top->count;
}

/* Of two that cover the same time. */
static bool preferred(const struct candidate *a, const struct candidate *b)
{
	double length_a = length_of(a), length_b = length_of(b);

	if (fabs(length_a - length_b) > LENGTH_SHARE * fmin(length_a, length_b))
		return length_a < length_b;
	if (top_of(a)->begin_ns != top_of(b)->begin_ns)
		return top_of(a)->begin_ns < top_of(b)->begin_ns;
	return a->kind < b->kind || (a->kind == b->kind && a->key < b->key);
}

static const struct candidate *choose(const struct search *s)
{
	const struct candidate *choice = NULL;
	double best = 0, best_graph = 0;
	bool graph;

	for (size_t i = 0; i < s->candidate_count; i++) {
		double score = score_of(&s->candidate[i]);

		best = fmax(best, score);
		if (s->candidate[i].kind == ANCHOR_GRAPH)
			best_graph = fmax(best_graph, score);
	}
	graph = best_graph > 0 && best_graph >= GRAPH_SHARE * best;
	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct candidate *c = &s->candidate[i];
		double score = score_of(c);

		if (score <= 0 || score < TIE_SHARE * (graph ? best_graph : best) ||
		    (graph && c->kind != ANCHOR_GRAPH))
			continue;
		if (!choice || preferred(c, choice))
			choice = c;
	}
	return choice;
}

static void fill(const struct candidate *c, int stream, struct anchor *anchor)
{
	const struct cluster *top = top_of(c);

	anchor->kind = c->kind;
	anchor->key = c->key;
	anchor->stream = stream;
	anchor->step = top->first;
	anchor->step_kernels = length_of(c);
	anchor->alike_ns = score_of(c);
	anchor->other_ns = fmax(c->sum_ns - top->sum_ns - top->first_ns, 0);
}

static size_t name_keys(const struct vocabulary *v)
{
	uint32_t most = 1;

	for (size_t i = 0; i < v->signature_count; i++)
		if (v->signature[i].name_key > most)
			most = v->signature[i].name_key;
	return (size_t)most + 1;
}

static bool search(struct search *s, struct anchor *anchor)
{
	const struct candidate *choice = NULL;

	s->signature_count = s->vocabulary->signature_count ? s->vocabulary->signature_count : 1;
	s->name_count = name_keys(s->vocabulary);
	s->signature = calloc(s->signature_count, sizeof(*s->signature));
	s->name = calloc(s->name_count, sizeof(*s->name));
	s->table = calloc(1u << TABLE_BITS, sizeof(*s->table));
	s->item = content_items(s->vocabulary);
	if (s->signature && s->name && s->table && s->item) {
		count_all(s);
		if (nominate(s) == 0) {
			compare_all(s);
			choice = choose(s);
		}
	}
	if (choice)
		fill(choice, s->stream, anchor);
	free(s->signature);
	free(s->name);
	free(s->table);
	free(s->candidate);
	free(s->item);
	return choice != NULL;
}

/* Pairs cost as much again, and matter only where each kernel of a step occurs several times in it.
 */
bool anchor_find(const struct sequence *sequence, const struct vocabulary *v, int stream,
		 uint64_t activity_ns, struct anchor *anchor)
{
	struct search single = {.sequence = sequence, .vocabulary = v, .stream = stream};
	struct search all = {
		.sequence = sequence, .vocabulary = v, .stream = stream, .pairs = true};

	if (search(&single, anchor) && anchor->alike_ns >= ENOUGH_SHARE * (double)activity_ns)
		return true;
	return search(&all, anchor);
}

bool anchor_matches(const struct anchor *anchor, const struct sequence_item *item, uint32_t before,
		    uint32_t name_key)
{
	switch (anchor->kind) {
	case ANCHOR_SIGNATURE:
		return item->signature == anchor->key;
	case ANCHOR_NAME:
		return name_key == anchor->key;
	case ANCHOR_PAIR:
		return pair_key(before, item->signature) == anchor->key;
	case ANCHOR_GRAPH:
		return item->graph && (GRAPH_BIT | item->graph) == anchor->key;
	}
	return false;
}
