/* Dictionary rows, checked and kept. */
#include "vocabulary.h"

#include <string.h>
#include <uthash.h>

#include "array.h"

/* Text kept of one trace at most. Deflate can blow a small file up a thousandfold. */
#define TEXT_LIMIT (256u << 20)
#define TEXT_BLOCK (1u << 20)
#define ROWS_LIMIT (1u << 16) /* of the tables that are kept whole: meta, device, clock, loss */
#define DEVICE_LIMIT 1024

enum slot {
	STRING,
	API,
	THREAD,
	CONTEXT,
	KERNEL,
	SIGNATURE,
	META,
	ATTRIBUTE,
	CLOCK,
	LOSS,
	METRIC,
	BURST,
	HANDLE,
};

struct signature_key {
	uint64_t name;
	uint32_t grid[3], block[3];
};

struct signature_entry {
	struct signature_key key;
	uint32_t index;
	UT_hash_handle hh;
};

#define RESERVE(v, array, slot, need)                                                              \
	array_reserve((void **)&(v)->array, &(v)->capacity[slot], need, sizeof(*(v)->array))

/* Without memory for a dictionary's array its ids are unknown from then on. */
static void give_up(struct vocabulary *v, struct dict *dict)
{
	dict_fini(dict);
	v->truncated = true;
}

void vocabulary_init(struct vocabulary *v)
{
	memset(v, 0, sizeof(*v));
}

void vocabulary_fini(struct vocabulary *v)
{
	struct signature_entry *index = v->signature_index, *e, *next;

	HASH_ITER(hh, index, e, next) {
		HASH_DEL(index, e);
		free(e);
	}
	dict_fini(&v->strings);
	dict_fini(&v->apis);
	dict_fini(&v->threads);
	dict_fini(&v->contexts);
	dict_fini(&v->kernels);
	dict_fini(&v->handles);
	for (size_t i = 0; i < v->text_blocks; i++)
		free(v->text[i]);
	free(v->text);
	free(v->string);
	free(v->api);
	free(v->thread);
	free(v->context_device);
	free(v->kernel_signature);
	free(v->handle);
	free(v->signature);
	free(v->meta);
	free(v->attribute);
	free(v->clock);
	free(v->loss);
	free(v->metric);
	free(v->burst);
	vocabulary_init(v);
}

/* A terminated copy that lives as long as the vocabulary; "" where it does not fit. */
static const char *keep_text(struct vocabulary *v, const struct bst_text *text)
{
	size_t need = (size_t)text->size + 1;
	char *p;

	if (!text->size)
		return "";
	if (v->text_total + need > TEXT_LIMIT)
		goto full;
	if (!v->text_blocks || need > TEXT_BLOCK - v->text_used) {
		size_t block = need > TEXT_BLOCK ? need : TEXT_BLOCK;

		if (array_reserve((void **)&v->text, &v->text_capacity, v->text_blocks + 1,
				  sizeof(*v->text)))
			goto full;
		p = malloc(block);
		if (!p)
			goto full;
		v->text[v->text_blocks++] = p;
		v->text_used = 0;
	}
	p = v->text[v->text_blocks - 1] + v->text_used;
	memcpy(p, text->data, text->size);
	p[text->size] = '\0';
	v->text_used = need > TEXT_BLOCK - v->text_used ? TEXT_BLOCK : v->text_used + need;
	v->text_total += need;
	return p;
full:
	v->truncated = true;
	return "";
}

static const char *row_text(struct vocabulary *v, const struct bst_rows *rows, unsigned column,
			    uint32_t row)
{
	return rows->text[column] ? keep_text(v, &rows->text[column][row]) : "";
}

static void add_strings(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t at;

		if (!dict_add(&v->strings, bst_value(rows, BST_STRING_ID, i, 0), &at))
			continue;
		if (RESERVE(v, string, STRING, v->strings.count)) {
			give_up(v, &v->strings);
			return;
		}
		v->string[at] = row_text(v, rows, BST_STRING_VALUE, i);
	}
}

static void add_apis(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t klass = bst_value(rows, BST_API_CLASS, i, 0);
		struct api_row *api;
		uint32_t at;

		if (!dict_add(&v->apis, bst_value(rows, BST_API_ID, i, 0), &at))
			continue;
		if (RESERVE(v, api, API, v->apis.count)) {
			give_up(v, &v->apis);
			return;
		}
		api = &v->api[at];
		api->name = row_text(v, rows, BST_API_NAME, i);
		api->klass = klass < 256 ? (uint8_t)klass : BST_ENUM_CLASS_OTHER;
		/* cudaMemcpy, cuMemcpyDtoH_v2: as against cudaMemcpyAsync. A set of device memory
		 * never waits. */
		api->blocking = klass == BST_ENUM_CLASS_COPY && !strstr(api->name, "Async");
	}
}

static void add_threads(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t at;

		if (!dict_add(&v->threads, bst_value(rows, BST_THREAD_ID, i, 0), &at))
			continue;
		if (RESERVE(v, thread, THREAD, v->threads.count)) {
			give_up(v, &v->threads);
			return;
		}
		v->thread[at].tid = (uint32_t)bst_value(rows, BST_THREAD_TID, i, 0);
		v->thread[at].name = row_text(v, rows, BST_THREAD_NAME, i);
	}
}

static void add_contexts(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t device = bst_value(rows, BST_CONTEXT_DEVICE, i, 0);
		uint32_t at;

		if (device >= DEVICE_LIMIT ||
		    !dict_add(&v->contexts, bst_value(rows, BST_CONTEXT_ID, i, 0), &at))
			continue;
		if (RESERVE(v, context_device, CONTEXT, v->contexts.count)) {
			give_up(v, &v->contexts);
			return;
		}
		v->context_device[at] = (uint32_t)device;
	}
}

static int add_unknown_signature(struct vocabulary *v)
{
	if (v->signature_count)
		return 0;
	if (RESERVE(v, signature, SIGNATURE, 1))
		return -1;
	memset(&v->signature[0], 0, sizeof(v->signature[0]));
	v->signature[0].name = "";
	v->signature[0].name_key = 1;
	v->signature_count = 1;
	return 0;
}

/* Index of the signature with this key: an old one, or a new one filled from row `i`. 0 without
 * memory. */
static uint32_t find_signature(struct vocabulary *v, const struct bst_rows *rows, uint32_t i,
			       const struct signature_key *key)
{
	struct signature_entry *index = v->signature_index, *e;
	struct signature *s;
	uint32_t at;

	HASH_FIND(hh, index, key, sizeof(*key), e);
	if (e)
		return e->index;
	if (add_unknown_signature(v) || RESERVE(v, signature, SIGNATURE, v->signature_count + 1))
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return 0;
	e->key = *key;
	e->index = (uint32_t)v->signature_count++;
	HASH_ADD(hh, index, key, sizeof(*key), e);
	v->signature_index = index;
	s = &v->signature[e->index];
	memset(s, 0, sizeof(*s));
	s->name = dict_find(&v->strings, key->name, &at) ? v->string[at] : "";
	/* 1 is the unknown kernel's: dictionary indexes start at 2. */
	s->name_key = dict_find(&v->strings, key->name, &at) ? at + 2 : 1;
	memcpy(s->grid, key->grid, sizeof(s->grid));
	memcpy(s->block, key->block, sizeof(s->block));
	s->known = rows->number[BST_KERNEL_GRID_X] && rows->number[BST_KERNEL_BLOCK_X] &&
		   key->grid[0] && key->block[0];
	for (unsigned d = 0; d < 3; d++)
		s->cluster[d] = (uint32_t)bst_value(rows, BST_KERNEL_CLUSTER_X + d, i, 0);
	s->registers = (uint32_t)bst_value(rows, BST_KERNEL_REGISTERS, i, 0);
	s->shared_bytes = (uint32_t)bst_value(rows, BST_KERNEL_SHARED_STATIC, i, 0) +
			  (uint64_t)(uint32_t)bst_value(rows, BST_KERNEL_SHARED_DYNAMIC, i, 0);
	return e->index;
}

static void add_kernels(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		struct signature_key key;
		uint32_t at;

		if (!dict_add(&v->kernels, bst_value(rows, BST_KERNEL_ID, i, 0), &at))
			continue;
		if (RESERVE(v, kernel_signature, KERNEL, v->kernels.count)) {
			give_up(v, &v->kernels);
			return;
		}
		memset(&key, 0, sizeof(key));
		key.name = bst_value(rows, BST_KERNEL_NAME, i, 0);
		for (unsigned d = 0; d < 3; d++) {
			key.grid[d] = (uint32_t)bst_value(rows, BST_KERNEL_GRID_X + d, i, 1);
			key.block[d] = (uint32_t)bst_value(rows, BST_KERNEL_BLOCK_X + d, i, 1);
		}
		v->kernel_signature[at] = find_signature(v, rows, i, &key);
	}
}

static void add_handles(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint32_t at;

		if (!dict_add(&v->handles, bst_value(rows, BST_HANDLE_ID, i, 0), &at))
			continue;
		if (RESERVE(v, handle, HANDLE, v->handles.count)) {
			give_up(v, &v->handles);
			return;
		}
		v->handle[at] = bst_value(rows, BST_HANDLE_VALUE, i, 0);
	}
}

static void add_meta(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && v->meta_count < ROWS_LIMIT; i++) {
		if (RESERVE(v, meta, META, v->meta_count + 1))
			return;
		v->meta[v->meta_count].key = row_text(v, rows, BST_META_KEY, i);
		v->meta[v->meta_count++].value = row_text(v, rows, BST_META_VALUE, i);
	}
}

static void add_attributes(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && v->attribute_count < ROWS_LIMIT; i++) {
		struct attribute_row *a;

		if (RESERVE(v, attribute, ATTRIBUTE, v->attribute_count + 1))
			return;
		a = &v->attribute[v->attribute_count++];
		a->device = (uint32_t)bst_value(rows, BST_DEVICE_DEVICE, i, 0);
		a->key = row_text(v, rows, BST_DEVICE_KEY, i);
		a->number = bst_value(rows, BST_DEVICE_NUMBER, i, 0);
		a->text = row_text(v, rows, BST_DEVICE_TEXT, i);
	}
}

static void add_clocks(struct vocabulary *v, const struct bst_rows *rows)
{
	if (!rows->number[BST_CLOCK_DEVICE] || !rows->number[BST_CLOCK_HOST])
		return;
	for (uint32_t i = 0; i < rows->count && v->clock_count < ROWS_LIMIT; i++) {
		if (RESERVE(v, clock, CLOCK, v->clock_count + 1))
			return;
		v->clock[v->clock_count++] = (struct clock_row){
			.device_ns = rows->number[BST_CLOCK_DEVICE][i],
			.host_ns = rows->number[BST_CLOCK_HOST][i],
			.error_ns = bst_value(rows, BST_CLOCK_ERROR, i, 0),
			.reason = (unsigned)bst_value(rows, BST_CLOCK_REASON, i, 0),
		};
	}
}

static void add_losses(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && v->loss_count < ROWS_LIMIT; i++) {
		if (RESERVE(v, loss, LOSS, v->loss_count + 1))
			return;
		v->loss[v->loss_count++] = (struct loss_row){
			.cause = (unsigned)bst_value(rows, BST_LOSS_CAUSE, i, 0),
			.count = bst_value(rows, BST_LOSS_COUNT, i, 0),
			.thread = bst_value(rows, BST_LOSS_THREAD, i, 0),
			.begin_ns = bst_value(rows, BST_LOSS_BEGIN, i, 0),
			.end_ns = bst_value(rows, BST_LOSS_END, i, UINT64_MAX),
		};
	}
}

static void add_costs(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		uint64_t kind = bst_value(rows, BST_COST_KIND, i, 0);
		uint64_t count = bst_value(rows, BST_COST_COUNT, i, 0);

		if (kind >= COST_KINDS || count < v->cost[kind].count)
			continue;
		v->cost[kind].count = count;
		v->cost[kind].total_ns = bst_value(rows, BST_COST_TOTAL, i, 0);
	}
}

static void add_metrics(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && v->metric_count < ROWS_LIMIT; i++) {
		if (RESERVE(v, metric, METRIC, v->metric_count + 1))
			return;
		v->metric[v->metric_count++] = (struct metric_row){
			.set = (uint32_t)bst_value(rows, BST_METRIC_SET, i, 0),
			.slot = (uint32_t)bst_value(rows, BST_METRIC_SLOT, i, UINT32_MAX),
			.name = row_text(v, rows, BST_METRIC_NAME, i),
			.scale = (double)bst_value(rows, BST_METRIC_SCALE, i, 1),
		};
	}
}

static void add_bursts(struct vocabulary *v, const struct bst_rows *rows)
{
	for (uint32_t i = 0; i < rows->count && v->burst_count < ROWS_LIMIT; i++) {
		if (RESERVE(v, burst, BURST, v->burst_count + 1))
			return;
		v->burst[v->burst_count++] = (struct burst_row){
			.device = (uint32_t)bst_value(rows, BST_BURST_DEVICE, i, 0),
			.samples = bst_value(rows, BST_BURST_SAMPLES, i, 0),
			.dropped = bst_value(rows, BST_BURST_DROPPED, i, 0),
			.cpu_ns = bst_value(rows, BST_BURST_CPU, i, 0),
			.interval_ns = bst_value(rows, BST_BURST_INTERVAL, i, 0),
			.reason = row_text(v, rows, BST_BURST_REASON, i),
		};
	}
}

static const struct {
	uint16_t table;
	void (*add)(struct vocabulary *v, const struct bst_rows *rows);
} readers[] = {
	{BST_TABLE_META, add_meta},         {BST_TABLE_STRING, add_strings},
	{BST_TABLE_API, add_apis},          {BST_TABLE_THREAD, add_threads},
	{BST_TABLE_DEVICE, add_attributes}, {BST_TABLE_CONTEXT, add_contexts},
	{BST_TABLE_KERNEL, add_kernels},    {BST_TABLE_CLOCK, add_clocks},
	{BST_TABLE_LOSS, add_losses},       {BST_TABLE_COST, add_costs},
	{BST_TABLE_METRIC, add_metrics},    {BST_TABLE_BURST, add_bursts},
	{BST_TABLE_HANDLE, add_handles},
};

bool vocabulary_has(uint16_t table)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].table == table)
			return true;
	return false;
}

void vocabulary_add(struct vocabulary *v, const struct bst_rows *rows)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].table == rows->table)
			readers[i].add(v, rows);
}

const char *vocabulary_meta(const struct vocabulary *v, const char *key)
{
	for (size_t i = v->meta_count; i-- > 0;)
		if (strcmp(v->meta[i].key, key) == 0)
			return v->meta[i].value;
	return NULL;
}

bool vocabulary_number(const struct vocabulary *v, uint32_t device, const char *key,
		       uint64_t *value)
{
	for (size_t i = v->attribute_count; i-- > 0;) {
		const struct attribute_row *a = &v->attribute[i];

		if (a->device == device && strcmp(a->key, key) == 0) {
			*value = a->number;
			return true;
		}
	}
	return false;
}

const char *vocabulary_text(const struct vocabulary *v, uint32_t device, const char *key)
{
	for (size_t i = v->attribute_count; i-- > 0;)
		if (v->attribute[i].device == device && strcmp(v->attribute[i].key, key) == 0)
			return v->attribute[i].text;
	return NULL;
}
