/* One walk to count what recurs, one to compare the pieces between recurrences, for all candidates
 * at once. */
#include "anchor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OCCURRENCES_LEAST 5
#define CANDIDATES_LIMIT 4096 /* 3 MB */
#define CLUSTERS 6
#define LOOP_CANDIDATES 4
#define LOOPS_BITS 13
#define LENGTH_SHARE 0.05 /* lengths that differ less are the same */
#define TIE_SHARE 0.995
#define GRAPH_SHARE 0.98
/* What a round holds more than its longest piece, at least; less is a matter of the mean. */
#define REST_KERNELS 0.9
#define REST_SHARE 0.002
#define STRETCH 4.0
/*
 * An epoch has so many steps at least, which take most of its time, and so many times a step beside
 * them (one is cut in two by the rest). There are not many epochs, and a step is more than a layer
 * of a few kernels: with a head as long as some layers, one decoded token looks the same otherwise.
 */
#define EPOCHS_MOST 64
#define EPOCH_STEP_KERNELS 24
#define EPOCH_STEPS 10
#define EPOCH_SHARE 0.7
#define EPOCH_REST 4
#define ENOUGH_SHARE 0.97 /* of the run: nothing better is looked for */

/*
 * Of a long run only these stretches are looked at, if what they say is clear: a loop that fills
 * them all. It costs an eighth of looking at everything in a run of ten million kernels.
 */
#define STRETCHES 8
#define STRETCH_KERNELS (1u << 16)
#define LONG_RUN (4u * STRETCHES * STRETCH_KERNELS)
#define CLEAR_SHARE 0.9 /* of their time */

/* Pairs and graphs are found by hash: 65,536 places, filled to three quarters. */
#define TABLE_BITS 16
#define TABLE_FULL (3u << (TABLE_BITS - 2))

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

/* Candidates that a signature is an occurrence of: indexes + 1. */
struct places {
	uint32_t own, name;
};

/* Part of the sequence. */
struct stretch {
	struct sequence_walk begin;
	size_t end;
};

struct search {
	const struct sequence *sequence;
	struct stretch stretch[STRETCHES];
	unsigned stretch_count;
	const struct vocabulary *vocabulary;
	int stream;
	struct recurrence *signature, *name, *table;
	size_t signature_count, name_count, table_used;
	struct candidate *candidate;
	size_t candidate_count;
	bool pairs;                /* are candidates too */
	struct content_item *item; /* by signature */
	struct places *places;     /* likewise */
};

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
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

/* Names recur where any of their signatures does. */
static void count_names(struct search *s)
{
	for (size_t i = 0; i < s->signature_count; i++) {
		const struct recurrence *r = &s->signature[i];
		struct recurrence *name = row(s->name, s->name_count, s->item[i].name_key);

		if (!r->count || !name)
			continue;
		name->key = s->item[i].name_key;
		if (!name->count || r->first_ns < name->first_ns)
			name->first_ns = r->first_ns;
		if (r->last_ns > name->last_ns)
			name->last_ns = r->last_ns;
		name->count += r->count;
	}
}

static void count_stretch(struct search *s, const struct stretch *stretch)
{
	struct sequence_walk walk = stretch->begin;
	struct sequence_item item;
	uint32_t before = UINT32_MAX;

	while (walk.at < stretch->end && sequence_next(s->sequence, &walk, &item)) {
		if (!takes(s, &item))
			continue;
		count(s, row(s->signature, s->signature_count, item.signature), item.signature,
		      item.begin_ns);
		if (s->pairs)
			count(s, table_find(s, anchor_pair_key(before, item.signature)),
			      anchor_pair_key(before, item.signature), item.begin_ns);
		if (item.graph)
			count(s, table_find(s, ANCHOR_GRAPH_BIT | item.graph),
			      ANCHOR_GRAPH_BIT | item.graph, item.begin_ns);
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
	return r->key & ANCHOR_GRAPH_BIT ? ANCHOR_GRAPH : ANCHOR_PAIR;
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

static int by_first(const void *a, const void *b)
{
	const struct recurrence *x = *(struct recurrence *const *)a;
	const struct recurrence *y = *(struct recurrence *const *)b;

	if (x->first_ns != y->first_ns)
		return x->first_ns < y->first_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* What recurs once in each round of a loop. */
struct loop {
	const struct recurrence *first;
	enum anchor_kind kind;
	unsigned members, seen;
};

static bool same_loop(const struct search *s, const struct loop *loop, const struct recurrence *r)
{
	const struct recurrence *first = loop->first;
	uint64_t round = (first->last_ns - first->first_ns) / (first->count - 1);
	uint64_t apart = first->last_ns < r->last_ns ? r->last_ns - first->last_ns
						     : first->last_ns - r->last_ns;

	return first->count == r->count && loop->kind == kind_of(s, r) &&
	       r->first_ns - first->first_ns < round && apart < round;
}

/* The loop that a recurrence is a member of: a known one, or a free place; NULL when there are too
 * many. */
static struct loop *loop_of(const struct search *s, struct loop *loops, size_t *used,
			    const struct recurrence *r)
{
	size_t at = mix(r->count) >> (64 - LOOPS_BITS);

	for (; loops[at].first; at = (at + 1) & ((1u << LOOPS_BITS) - 1))
		if (same_loop(s, &loops[at], r))
			return &loops[at];
	if (*used == 1u << (LOOPS_BITS - 1))
		return NULL;
	++*used;
	loops[at] = (struct loop){.first = r, .kind = kind_of(s, r)};
	return &loops[at];
}

/*
 * Kernels that recur equally often, one in each round of a loop, cut it into the same pieces but for
 * its first and last round: a few from the begin of a round and from its end are enough. Takes the
 * others from a list that is in the order of `first_ns`. Without memory all stay.
 */
static void drop_same(const struct search *s, struct recurrence **list, size_t *n)
{
	struct loop *loops = calloc(1u << LOOPS_BITS, sizeof(*loops)), *loop;
	size_t kept = 0, used = 0;

	for (size_t i = 0; loops && i < *n; i++)
		if ((loop = loop_of(s, loops, &used, list[i])))
			loop->members++;
	for (size_t i = 0; loops && i < *n; i++) {
		loop = loop_of(s, loops, &used, list[i]);
		if (loop && ++loop->seen > LOOP_CANDIDATES &&
		    loop->seen + LOOP_CANDIDATES <= loop->members)
			continue;
		list[kept++] = list[i];
	}
	if (loops)
		*n = kept;
	free(loops);
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
	qsort(order, n, sizeof(struct recurrence *), by_first);
	drop_same(s, order, &n);
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

static void place_all(struct search *s)
{
	for (size_t i = 0; i < s->signature_count; i++) {
		const struct recurrence *name = row(s->name, s->name_count, s->item[i].name_key);

		s->places[i].own = s->signature[i].candidate;
		s->places[i].name = name ? name->candidate : 0;
	}
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

/* The cluster that the piece since the last occurrence belongs to, if that is not the one of the piece before. */
static struct cluster *other_cluster(struct candidate *c, const struct content *now)
{
	uint64_t hash = now->hash - c->at.hash;
	struct content piece;

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

/* Equal pieces, the usual case, are told by their hash. */
static inline struct cluster *cluster_of(struct candidate *c, const struct content *now)
{
	if (c->cluster_count && c->cluster[c->last].first.hash == now->hash - c->at.hash)
		return &c->cluster[c->last];
	return other_cluster(c, now);
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
static inline void settle(struct candidate *c, struct cluster *cluster)
{
	double more = cluster->sum_ns - STRETCH * cluster->usual_ns * cluster->count;

	if (more <= 0)
		return;
	cluster->sum_ns -= more;
	c->sum_ns -= more;
}

/* Takes a piece into its cluster. Long ones are cut: a pause in one of them says nothing about the
 * loop. */
static inline void take(struct candidate *c, struct cluster *cluster, double length)
{
	double usual = cluster->count ? cluster->usual_ns : usual_of(c);

	if (usual > 0 && length > STRETCH * usual)
		length = STRETCH * usual;
	c->sum_ns += length;
	if (!cluster->count) {
		cluster->begin_ns = c->at_ns;
		cluster->first_ns = cluster->usual_ns = length;
	} else {
		cluster->sum_ns += length;
		cluster->usual_ns += (length - usual) * (length < usual ? 0.5 : 0.125);
		if (length < usual)
			settle(c, cluster);
	}
	cluster->count++;
}

/* The candidate occurs: closes the piece since its last occurrence. */
static inline void occur(struct candidate *c, const struct content *now, uint64_t ns)
{
	if (c->open) {
		struct cluster *cluster = cluster_of(c, now);

		take(c, cluster, (double)(int64_t)(ns - c->at_ns));
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

static void compare_stretch(struct search *s, const struct stretch *stretch)
{
	struct sequence_walk walk = stretch->begin;
	struct sequence_item item;
	struct content now = {0};
	uint32_t before = UINT32_MAX;

	for (size_t i = 0; i < s->candidate_count; i++)
		s->candidate[i].open = false;
	while (walk.at < stretch->end && sequence_next(s->sequence, &walk, &item)) {
		const struct places *places = &s->places[item.signature];

		if (!takes(s, &item))
			continue;
		if (places->own)
			occur(&s->candidate[places->own - 1], &now, item.begin_ns);
		if (places->name)
			occur(&s->candidate[places->name - 1], &now, item.begin_ns);
		if (s->pairs)
			visit(s, table_find(s, anchor_pair_key(before, item.signature)), &now,
			      item.begin_ns);
		if (item.graph)
			visit(s, table_find(s, ANCHOR_GRAPH_BIT | item.graph), &now, item.begin_ns);
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

/* The one to prefer among those that cover `best` of the time, or nearly so. */
static const struct candidate *prefer(const struct search *s, double best, bool graphs)
{
	const struct candidate *choice = NULL;

	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct candidate *c = &s->candidate[i];
		double score = score_of(c);

		if (score <= 0 || score < TIE_SHARE * best || (graphs && c->kind != ANCHOR_GRAPH))
			continue;
		if (!choice || preferred(c, choice))
			choice = c;
	}
	return choice;
}

/* As many pieces of the one kind as of the other, as long, and with more in them. */
static bool holds(const struct candidate *whole, const struct candidate *part)
{
	const struct cluster *a = top_of(whole), *b = top_of(part);
	double apart = fabs((double)a->count - (double)b->count);

	return apart <= fmax(LENGTH_SHARE * b->count, 1) &&
	       length_of(whole) >=
		       length_of(part) + fmax(REST_KERNELS, REST_SHARE * length_of(part)) &&
	       a->usual_ns >= (1 - LENGTH_SHARE) * b->usual_ns;
}

/*
 * A kernel that comes twice in each round cuts it into two pieces, and the longer one covers nearly
 * all of the time: another kernel may cut the round as a whole.
 */
static const struct candidate *whole_round(const struct search *s, const struct candidate *part)
{
	const struct candidate *choice = part;

	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct candidate *c = &s->candidate[i];

		if (score_of(c) > 0 && holds(c, part) &&
		    (choice == part || holds(c, choice) ||
		     (!holds(choice, c) && preferred(c, choice))))
			choice = c;
	}
	return choice;
}

/*
 * Steps with an evaluation after so many of them repeat as a whole, like layers with a head before
 * them. What tells an epoch from a step is what it holds beside its repetitions: more than several of
 * them do.
 */
static bool repeats_inside(const struct candidate *inner, const struct candidate *outer)
{
	double length = length_of(inner);
	/* n occurrences of the outer one are the ends of n - 1 pieces, with inner ones on both sides. */
	double times = (double)top_of(inner)->count / ((double)top_of(outer)->count + 1);

	if (top_of(outer)->count > EPOCHS_MOST || length < EPOCH_STEP_KERNELS ||
	    times < EPOCH_STEPS)
		return false;
	return length_of(outer) - times * length >= EPOCH_REST * length;
}

/* The steps of an epoch: of the candidates inside that are worth it, the time of the best. */
static double best_inside(const struct search *s, const struct candidate *epoch)
{
	double best = 0;

	for (size_t i = 0; i < s->candidate_count; i++) {
		const struct candidate *c = &s->candidate[i];
		double score = score_of(c);

		if (score > best && score >= EPOCH_SHARE * score_of(epoch) &&
		    repeats_inside(c, epoch))
			best = score;
	}
	return best;
}

static const struct candidate *choose_inside(const struct search *s, const struct candidate *epoch)
{
	const struct candidate *choice = NULL;
	double best = best_inside(s, epoch);

	for (size_t i = 0; best > 0 && i < s->candidate_count; i++) {
		const struct candidate *c = &s->candidate[i];

		if (score_of(c) >= TIE_SHARE * best && score_of(c) <= best &&
		    repeats_inside(c, epoch) && (!choice || preferred(c, choice)))
			choice = c;
	}
	return choice ? choice : epoch;
}

static const struct candidate *choose(const struct search *s)
{
	const struct candidate *choice;
	double best = 0, best_graph = 0;
	bool graph;

	for (size_t i = 0; i < s->candidate_count; i++) {
		double score = score_of(&s->candidate[i]);

		best = fmax(best, score);
		if (s->candidate[i].kind == ANCHOR_GRAPH)
			best_graph = fmax(best_graph, score);
	}
	graph = best_graph > 0 && best_graph >= GRAPH_SHARE * best;
	choice = prefer(s, graph ? best_graph : best, graph);
	return choice ? choose_inside(s, whole_round(s, choice)) : NULL;
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
	s->places = calloc(s->signature_count, sizeof(*s->places));
	if (s->signature && s->name && s->table && s->item && s->places) {
		for (unsigned i = 0; i < s->stretch_count; i++)
			count_stretch(s, &s->stretch[i]);
		count_names(s);
		if (nominate(s) == 0) {
			place_all(s);
			for (unsigned i = 0; i < s->stretch_count; i++)
				compare_stretch(s, &s->stretch[i]);
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
	free(s->places);
	return choice != NULL;
}

static bool search_all(struct search *s, struct anchor *anchor)
{
	s->stretch[0] = (struct stretch){.end = s->sequence->count};
	s->stretch_count = 1;
	return search(s, anchor);
}

/* Sets stretches apart from each other, as evenly as they lie; returns the time in them. */
static uint64_t spread(struct search *s)
{
	const struct sequence *sequence = s->sequence;
	struct sequence_walk walk = {0};
	uint64_t time_ns = 0;

	for (s->stretch_count = 0; s->stretch_count < STRETCHES; s->stretch_count++) {
		struct stretch *stretch = &s->stretch[s->stretch_count];
		uint64_t begin_ns;

		sequence_skip(sequence, &walk,
			      (sequence->count - STRETCH_KERNELS) / (STRETCHES - 1) *
				      s->stretch_count);
		stretch->begin = walk;
		stretch->end = walk.at + STRETCH_KERNELS;
		begin_ns = walk.at ? walk.ns : sequence->begin_ns;
		sequence_skip(sequence, &walk, stretch->end);
		time_ns += walk.ns - begin_ns;
	}
	return time_ns;
}

/* Looks at a part of a long run. False where that does not tell for sure. */
static bool search_some(struct search *s, struct anchor *anchor)
{
	uint64_t time_ns = spread(s), all_ns = s->sequence->last_ns - s->sequence->begin_ns;
	double scale = time_ns ? (double)all_ns / (double)time_ns : 0;

	if (!search(s, anchor) || anchor->alike_ns < CLEAR_SHARE * (double)time_ns ||
	    anchor->alike_ns < ENOUGH_SHARE * (anchor->alike_ns + anchor->other_ns))
		return false;
	anchor->alike_ns *= scale;
	anchor->other_ns *= scale;
	return true;
}

/* Pairs cost as much again, and matter only where each kernel of a step occurs several times in it.
 */
bool anchor_find(const struct sequence *sequence, const struct vocabulary *v, int stream,
		 uint64_t activity_ns, struct anchor *anchor)
{
	struct search some = {.sequence = sequence, .vocabulary = v, .stream = stream};
	struct search single = some, all = some;

	all.pairs = true;
	if (sequence->count >= LONG_RUN && search_some(&some, anchor))
		return true;
	if (search_all(&single, anchor) && anchor->alike_ns >= ENOUGH_SHARE * (double)activity_ns)
		return true;
	return search_all(&all, anchor);
}
