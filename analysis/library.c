/* Joining library calls with their kernels, group by group. */
#include "library.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "dict.h"
#include "kernel_name.h"
#include "shim/trace/format.h"

/* Groups open at one time: kernels of one call lie together, but for those of other streams
 * between. */
#define GROUPS 16384u
#define GROUP_BUCKETS (2 * GROUPS)
#define PARTS 6 /* distinct kernels of one call; more share the last place */
#define NODES_LIMIT (1u << 20)
#define STATS_LIMIT (1u << 20)
#define NESTING 4 /* calls around each other that are looked through */

struct thread_range {
	uint32_t thread;
	uint32_t first, count; /* in `call` */
	uint32_t cursor;
};

struct part {
	uint32_t signature;
	uint32_t launches;
	uint64_t ns;
};

struct group {
	uint64_t key;  /* 0 = free */
	uint32_t call; /* 0 = of a graph */
	uint32_t shape;
	uint32_t parts;
	struct part part[PARTS];
};

struct launch_shape {
	uint32_t correlation;
	uint32_t shape;
};

/* From a graph node to the call that made it. */
struct origin {
	uint64_t node; /* 0 = free */
	uint64_t key;  /* equal for nodes of one call */
	uint32_t shape;
};

struct library {
	const uint8_t *role;
	size_t signatures;
	struct dict shape_ids;
	struct library_shape *shape;
	size_t shape_capacity;
	struct library_call *call;
	size_t call_count, call_capacity;
	uint8_t *closed; /* by call: its group is attributed */
	struct thread_range *thread;
	size_t thread_count, thread_capacity, last_thread;
	struct origin *origin; /* open addressing */
	size_t origin_count, origin_size;
	struct group *group; /* ring */
	uint32_t *bucket;    /* open addressing: index of the ring + 1 */
	uint64_t opened;
	struct library_stat *stat;
	size_t stat_count, stat_capacity;
	uint32_t *stat_index; /* open addressing: index + 1 */
	size_t stat_index_size;
	bool keeps_launches;
	struct launch_shape *launch; /* by correlation, after library_finish */
	size_t launch_count, launch_capacity, launch_at;
	struct library_counts counts;
};

enum library_role library_role_of(const char *kernel_name)
{
	static const char *const main_kinds[] = {
		"gemm",      "gemm_simt",  "moe_gemm",         "convolution",
		"attention", "gemv",       "attention_decode", "depthwise_convolution",
		"recurrent", "collective", "inductor_template"};
	const char *kind = kernel_kind_of(kernel_name)->name;

	for (size_t i = 0; i < sizeof(main_kinds) / sizeof(main_kinds[0]); i++)
		if (!strcmp(kind, main_kinds[i]))
			return LIBRARY_MAIN;
	return strcmp(kind, "unknown") ? LIBRARY_HELPER : LIBRARY_UNKNOWN;
}

struct library *library_create(const uint8_t *role, size_t signatures)
{
	struct library *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->role = role;
	l->signatures = signatures;
	l->group = calloc(GROUPS, sizeof(*l->group));
	l->bucket = calloc(GROUP_BUCKETS, sizeof(*l->bucket));
	if (l->group && l->bucket)
		return l;
	library_destroy(l);
	return NULL;
}

void library_destroy(struct library *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->shape_ids.count && i < l->shape_capacity; i++)
		free(l->shape[i].detail);
	dict_fini(&l->shape_ids);
	free(l->shape);
	free(l->call);
	free(l->closed);
	free(l->thread);
	free(l->origin);
	free(l->group);
	free(l->bucket);
	free(l->stat);
	free(l->stat_index);
	free(l->launch);
	free(l);
}

int library_add_shape(struct library *l, uint64_t id, const struct library_shape *shape,
		      const char *detail, size_t detail_size)
{
	size_t capacity = l->shape_capacity;
	uint32_t at;

	if (dict_find(&l->shape_ids, id, &at))
		return 0;
	if (array_reserve((void **)&l->shape, &l->shape_capacity, (size_t)l->shape_ids.count + 1,
			  sizeof(*l->shape)))
		return -1;
	memset(&l->shape[capacity], 0, (l->shape_capacity - capacity) * sizeof(*l->shape));
	if (!dict_add(&l->shape_ids, id, &at))
		return 0; /* an id without sense: its calls stay unknown */
	l->shape[at] = *shape;
	l->shape[at].detail = strndup(detail ? detail : "", detail_size);
	return l->shape[at].detail ? 0 : -1;
}

const struct library_shape *library_shape(const struct library *l, uint64_t id)
{
	uint32_t at;

	return dict_find(&l->shape_ids, id, &at) ? &l->shape[at] : NULL;
}

static bool is_known(const struct library *l, uint32_t id)
{
	const struct library_shape *shape = library_shape(l, id);

	return shape && shape->flags & (BST_ENUM_SHAPE_FLAG_FLOPS | BST_ENUM_SHAPE_FLAG_BYTES);
}

int library_add_call(struct library *l, const struct library_call *call)
{
	if (call->flags & BST_ENUM_LIBRARY_FLAG_CAPTURED)
		l->counts.captured++;
	/* nothing ran in these: the nodes say what their replays compute, and the group's end what
	 * was put off */
	if (call->flags & (BST_ENUM_LIBRARY_FLAG_CAPTURED | BST_ENUM_LIBRARY_FLAG_DEFERRED) ||
	    call->end_ns < call->begin_ns || l->call_count >= UINT32_MAX)
		return 0;
	if (array_reserve((void **)&l->call, &l->call_capacity, l->call_count + 1,
			  sizeof(*l->call)))
		return -1;
	l->call[l->call_count++] = *call;
	l->counts.calls++;
	return 0;
}

static int by_thread_and_begin(const void *a, const void *b)
{
	const struct library_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	/* the outer one first */
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static bool in_order(const struct library *l)
{
	for (size_t i = 1; i < l->call_count; i++)
		if (by_thread_and_begin(&l->call[i - 1], &l->call[i]) > 0)
			return false;
	return true;
}

int library_ready(struct library *l)
{
	if (!in_order(l))
		qsort(l->call, l->call_count, sizeof(*l->call), by_thread_and_begin);
	l->closed = calloc(l->call_count + 1, 1);
	if (!l->closed)
		return -1;
	for (size_t i = 0; i < l->call_count; i++) {
		struct thread_range *range;

		if (i && l->call[i].thread == l->call[i - 1].thread) {
			l->thread[l->thread_count - 1].count++;
			continue;
		}
		if (array_reserve((void **)&l->thread, &l->thread_capacity, l->thread_count + 1,
				  sizeof(*l->thread)))
			return -1;
		range = &l->thread[l->thread_count++];
		*range = (struct thread_range){l->call[i].thread, (uint32_t)i, 1, 0};
	}
	return 0;
}

static struct thread_range *range_of(struct library *l, uint32_t thread)
{
	size_t low = 0, high = l->thread_count;

	if (l->last_thread < l->thread_count && l->thread[l->last_thread].thread == thread)
		return &l->thread[l->last_thread];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->thread[middle].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == l->thread_count || l->thread[low].thread != thread)
		return NULL;
	l->last_thread = low;
	return &l->thread[low];
}

/* Calls of the thread that began by then: moments come in order most often, so that few steps from
 * the last answer do. */
static uint32_t count_begun(const struct library *l, struct thread_range *range, uint64_t host_ns)
{
	const struct library_call *call = &l->call[range->first];
	uint32_t low = 0, high = range->count;

	for (unsigned step = 0; step < 8; step++) {
		uint32_t at = range->cursor + step;

		if (at && call[at - 1].begin_ns > host_ns)
			break;
		if (at == range->count || call[at].begin_ns > host_ns)
			return range->cursor = at;
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (call[middle].begin_ns <= host_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return range->cursor = low;
}

uint32_t library_at(struct library *l, uint32_t thread, uint64_t host_ns)
{
	struct thread_range *range = range_of(l, thread);
	uint32_t begun = range ? count_begun(l, range, host_ns) : 0, found = 0;

	/* the innermost that holds the moment, unless one around it is known and it is not */
	for (unsigned i = 0; i < NESTING && begun > i; i++) {
		uint32_t at = range->first + begun - 1 - i;

		if (l->call[at].end_ns < host_ns)
			continue;
		if (!found || is_known(l, l->call[at].shape))
			found = at + 1;
		if (is_known(l, l->call[at].shape))
			break;
	}
	return found;
}

const struct library_shape *library_shape_of_call(const struct library *l, uint32_t call)
{
	return call && call <= l->call_count ? library_shape(l, l->call[call - 1].shape) : NULL;
}

void library_keep_launches(struct library *l)
{
	l->keeps_launches = true;
}

void library_operands_of_call(const struct library *l, uint32_t call, uint16_t *a, uint16_t *b)
{
	const struct library_shape *shape = library_shape_of_call(l, call);
	bool product = shape && (shape->operation == BST_ENUM_OPERATION_GEMM ||
				 shape->operation == BST_ENUM_OPERATION_GEMV);

	*a = *b = 0;
	if (!shape || (product && shape->batch > 1))
		return;
	*a = l->call[call - 1].operand[0];
	*b = l->call[call - 1].operand[1];
}

int library_add_launch(struct library *l, uint32_t correlation, uint32_t call)
{
	if (!l->keeps_launches || !library_shape_of_call(l, call) ||
	    l->launch_count >= LIBRARY_LAUNCHES)
		return 0;
	if (array_reserve((void **)&l->launch, &l->launch_capacity, l->launch_count + 1,
			  sizeof(*l->launch)))
		return -1;
	l->launch[l->launch_count++] = (struct launch_shape){correlation, l->call[call - 1].shape};
	return 0;
}

static int by_correlation(const void *a, const void *b)
{
	const struct launch_shape *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static void sort_launches(struct library *l)
{
	for (size_t i = 1; i < l->launch_count; i++)
		if (l->launch[i - 1].correlation > l->launch[i].correlation) {
			qsort(l->launch, l->launch_count, sizeof(*l->launch), by_correlation);
			return;
		}
}

uint32_t library_shape_of_launch(struct library *l, uint32_t correlation)
{
	size_t low = 0, high = l->launch_count, at = l->launch_at;

	/* most often it is the one after the last answer */
	if (at < high && l->launch[at].correlation <= correlation) {
		low = at;
		if (at + 1 < high && l->launch[at + 1].correlation >= correlation)
			high = at + 2;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->launch[middle].correlation < correlation)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == l->launch_count || l->launch[low].correlation != correlation)
		return 0;
	l->launch_at = low;
	return l->launch[low].shape;
}

/* The finalizer of MurmurHash3 (public domain, Austin Appleby). */
static uint64_t scatter(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static struct origin *find_origin(const struct library *l, uint64_t node)
{
	size_t mask = l->origin_size - 1;

	for (size_t at = scatter(node) & mask;; at = (at + 1) & mask)
		if (!l->origin[at].node || l->origin[at].node == node)
			return &l->origin[at];
}

static int grow_origins(struct library *l)
{
	struct origin *old = l->origin;
	size_t size = l->origin_size;

	l->origin_size = size ? size * 2 : 1024;
	l->origin = calloc(l->origin_size, sizeof(*l->origin));
	if (!l->origin) {
		l->origin = old;
		l->origin_size = size;
		return -1;
	}
	for (size_t i = 0; i < size; i++)
		if (old[i].node)
			*find_origin(l, old[i].node) = old[i];
	free(old);
	return 0;
}

int library_add_node(struct library *l, const struct library_node *node)
{
	struct origin origin = {.node = node->node};

	if (!node->node)
		return 0;
	if (node->library_ns) {
		origin.key = scatter(node->library_ns ^ scatter(node->thread));
		origin.shape = node->shape;
	} else {
		const struct origin *from =
			node->source && l->origin_size ? find_origin(l, node->source) : NULL;

		if (!from || !from->node)
			return 0;
		origin.key = from->key;
		origin.shape = from->shape;
	}
	if (l->origin_count >= NODES_LIMIT)
		return 0;
	if (l->origin_count * 2 >= l->origin_size && grow_origins(l))
		return -1;
	l->origin_count += !find_origin(l, node->node)->node;
	*find_origin(l, node->node) = origin;
	return 0;
}

uint32_t library_shape_of_node(const struct library *l, uint64_t node)
{
	const struct origin *origin = node && l->origin_size ? find_origin(l, node) : NULL;

	return origin && origin->node && library_shape(l, origin->shape) ? origin->shape : 0;
}

static uint64_t stat_key(uint32_t signature, uint32_t shape)
{
	return scatter((uint64_t)signature << 32 | shape);
}

static uint32_t *find_stat(const struct library *l, uint32_t signature, uint32_t shape)
{
	size_t mask = l->stat_index_size - 1;

	for (size_t at = stat_key(signature, shape) & mask;; at = (at + 1) & mask) {
		const struct library_stat *s =
			l->stat_index[at] ? &l->stat[l->stat_index[at] - 1] : NULL;

		if (!s || (s->signature == signature && s->shape == shape))
			return &l->stat_index[at];
	}
}

static int grow_stats(struct library *l)
{
	size_t size = l->stat_index_size ? l->stat_index_size * 2 : 1024;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -1;
	free(l->stat_index);
	l->stat_index = index;
	l->stat_index_size = size;
	for (size_t i = 0; i < l->stat_count; i++)
		*find_stat(l, l->stat[i].signature, l->stat[i].shape) = (uint32_t)(i + 1);
	return 0;
}

/* NULL without memory or beyond the limit. */
static struct library_stat *stat_for(struct library *l, uint32_t signature, uint32_t shape)
{
	uint32_t *slot;

	if (l->stat_count * 2 >= l->stat_index_size && grow_stats(l))
		return NULL;
	slot = find_stat(l, signature, shape);
	if (*slot)
		return &l->stat[*slot - 1];
	if (l->stat_count >= STATS_LIMIT || array_reserve((void **)&l->stat, &l->stat_capacity,
							  l->stat_count + 1, sizeof(*l->stat)))
		return NULL;
	l->stat[l->stat_count] = (struct library_stat){.signature = signature, .shape = shape};
	*slot = (uint32_t)++l->stat_count;
	return &l->stat[*slot - 1];
}

static unsigned role_of(const struct library *l, uint32_t signature)
{
	return signature < l->signatures ? l->role[signature] : LIBRARY_UNKNOWN;
}

/* Which parts carry the arithmetic: bits. All MAIN ones, else the longest of the highest role. */
static uint32_t carriers_of(const struct library *l, const struct group *g)
{
	unsigned highest = LIBRARY_HELPER;
	uint32_t carriers = 0, longest = 0;

	for (uint32_t i = 0; i < g->parts; i++)
		if (role_of(l, g->part[i].signature) > highest)
			highest = role_of(l, g->part[i].signature);
	for (uint32_t i = 0; i < g->parts; i++) {
		if (role_of(l, g->part[i].signature) != highest)
			continue;
		if (!carriers || g->part[i].ns > g->part[longest].ns)
			longest = i;
		carriers |= UINT32_C(1) << i;
	}
	return highest == LIBRARY_MAIN ? carriers : UINT32_C(1) << longest;
}

static uint64_t carried_ns(const struct group *g, uint32_t carriers)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < g->parts; i++)
		if (carriers >> i & 1)
			ns += g->part[i].ns;
	return ns;
}

static int attribute_group(struct library *l, const struct group *g)
{
	const struct library_shape *shape = library_shape(l, g->shape);
	uint32_t carriers = carriers_of(l, g);
	double total = (double)carried_ns(g, carriers), carrying = __builtin_popcount(carriers);

	for (uint32_t i = 0; i < g->parts; i++) {
		const struct part *p = &g->part[i];
		struct library_stat *s = stat_for(l, p->signature, g->shape);
		double share = total > 0 ? (double)p->ns / total : 1 / carrying;

		if (!s)
			return -1;
		if (!(carriers >> i & 1)) {
			s->helper_launches += p->launches;
			l->counts.kernels_helping += p->launches;
			continue;
		}
		s->launches += p->launches;
		s->total_ns += (double)p->ns;
		l->counts.kernels_carrying += p->launches;
		if (shape->flags & BST_ENUM_SHAPE_FLAG_FLOPS)
			s->flops += (double)shape->flops * share;
		if (shape->flags & BST_ENUM_SHAPE_FLAG_BYTES)
			s->bytes += (double)shape->bytes * share;
	}
	return 0;
}

static uint32_t *find_bucket(const struct library *l, uint64_t key)
{
	uint32_t at = (uint32_t)scatter(key);

	for (;; at++) {
		uint32_t *b = &l->bucket[at % GROUP_BUCKETS];

		if (!*b || l->group[*b - 1].key == key)
			return b;
	}
}

/* Takes a key out of an open-addressed table, moving those behind it up. */
static void forget(struct library *l, uint64_t key)
{
	uint32_t hole = (uint32_t)(find_bucket(l, key) - l->bucket);

	if (!l->bucket[hole])
		return;
	for (uint32_t at = (hole + 1) % GROUP_BUCKETS; l->bucket[at];
	     at = (at + 1) % GROUP_BUCKETS) {
		uint32_t home = (uint32_t)scatter(l->group[l->bucket[at] - 1].key) % GROUP_BUCKETS;

		/* may it lie in the hole: is its home not between the hole and itself? */
		if ((at - home) % GROUP_BUCKETS < (at - hole) % GROUP_BUCKETS)
			continue;
		l->bucket[hole] = l->bucket[at];
		hole = at;
	}
	l->bucket[hole] = 0;
}

static int close_group(struct library *l, struct group *g)
{
	int status;

	if (!g->key)
		return 0;
	forget(l, g->key);
	status = attribute_group(l, g);
	if (g->call)
		l->closed[g->call - 1] = 1;
	g->key = 0;
	return status;
}

static struct group *open_group(struct library *l, uint64_t key)
{
	uint32_t *b = find_bucket(l, key);
	struct group *g;

	if (*b)
		return &l->group[*b - 1];
	g = &l->group[l->opened % GROUPS];
	if (close_group(l, g))
		return NULL;
	memset(g, 0, sizeof(*g));
	g->key = key;
	*find_bucket(l, key) = (uint32_t)(l->opened % GROUPS) + 1;
	l->opened++;
	return g;
}

static void add_part(struct group *g, uint32_t signature, uint64_t duration_ns)
{
	uint32_t i = 0;

	while (i < g->parts && g->part[i].signature != signature)
		i++;
	if (i == PARTS)
		i--; /* of one call with so many different kernels none is the main one: their time
			counts together */
	else if (i == g->parts)
		g->part[g->parts++].signature = signature;
	g->part[i].launches++;
	g->part[i].ns += duration_ns;
}

static int add(struct library *l, uint64_t key, uint32_t call, uint32_t shape, uint32_t signature,
	       uint64_t duration_ns)
{
	struct group *g;

	if (!is_known(l, shape)) {
		l->counts.kernels_unknown++;
		return 0;
	}
	g = open_group(l, key);
	if (!g)
		return -1;
	g->call = call;
	g->shape = shape;
	add_part(g, signature, duration_ns);
	return 0;
}

int library_add_kernel(struct library *l, uint32_t call, uint32_t signature, uint64_t duration_ns)
{
	l->counts.kernels++;
	if (!call || call > l->call_count)
		return 0;
	if (l->closed[call - 1]) {
		l->counts.kernels_late++;
		return 0;
	}
	return add(l, call, call, l->call[call - 1].shape, signature, duration_ns);
}

int library_add_graph_kernel(struct library *l, uint32_t correlation, uint64_t node,
			     uint32_t signature, uint64_t duration_ns)
{
	const struct origin *origin = node && l->origin_size ? find_origin(l, node) : NULL;
	uint64_t key;

	l->counts.kernels++;
	if (!origin || !origin->node)
		return 0;
	/* apart from calls, whose keys are small */
	key = scatter(origin->key ^ correlation) | UINT64_C(1) << 63;
	return add(l, key, 0, origin->shape, signature, duration_ns);
}

static int by_signature_and_time(const void *a, const void *b)
{
	const struct library_stat *x = a, *y = b;

	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return x->shape < y->shape ? -1 : x->shape > y->shape;
}

int library_finish(struct library *l)
{
	int status = 0;

	sort_launches(l);
	for (uint64_t i = 0; i < GROUPS; i++)
		if (close_group(l, &l->group[(l->opened + i) % GROUPS]))
			status = -1;
	if (l->stat_count)
		qsort(l->stat, l->stat_count, sizeof(*l->stat), by_signature_and_time);
	/* the index speaks of the order before */
	free(l->stat_index);
	l->stat_index = NULL;
	l->stat_index_size = 0;
	return status;
}

static void sum_stat(const struct library *l, const struct library_stat *s, struct library_sum *sum)
{
	const struct library_shape *shape = library_shape(l, s->shape);

	sum->helper_launches += s->helper_launches;
	if (!s->launches)
		return;
	if (!sum->shape)
		sum->shape = s->shape;
	sum->shapes++;
	sum->launches += s->launches;
	sum->total_ns += s->total_ns;
	sum->flops += s->flops;
	sum->bytes += s->bytes;
	if (shape->flags & BST_ENUM_SHAPE_FLAG_FLOPS)
		sum->flops_launches += s->launches;
	if (shape->flags & BST_ENUM_SHAPE_FLAG_BYTES)
		sum->bytes_launches += s->launches;
	sum->nominal |= (shape->flags & BST_ENUM_SHAPE_FLAG_NOMINAL) != 0;
}

const struct library_stat *library_stats_of(const struct library *l, uint32_t signature,
					    size_t *count)
{
	size_t low = 0, high = l->stat_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->stat[middle].signature < signature)
			low = middle + 1;
		else
			high = middle;
	}
	while (high < l->stat_count && l->stat[high].signature == signature)
		high++;
	*count = high - low;
	return l->stat ? &l->stat[low] : NULL;
}

bool library_sum(const struct library *l, uint32_t signature, struct library_sum *sum)
{
	size_t count;
	const struct library_stat *stat = library_stats_of(l, signature, &count);

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < count; i++)
		sum_stat(l, &stat[i], sum);
	return sum->launches > 0;
}

const struct library_stat *library_stats(const struct library *l, size_t *count)
{
	*count = l->stat_count;
	return l->stat;
}

struct library_counts library_counts(const struct library *l)
{
	return l->counts;
}
