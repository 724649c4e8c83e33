/* Building rows and dictionaries. */
#define _GNU_SOURCE
#include "encode.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api.h"
#include "loss.h"
#include "names.h"
#include "shapes.h"

#define HANDLE_BUCKETS (1u << 17)
#define HANDLE_LIMIT (HANDLE_BUCKETS / 2)
#define KERNEL_BUCKETS (2u * NAMES_LIMIT) /* as many kernels as names; touched as used */
#define KERNEL_LIMIT (KERNEL_BUCKETS / 2)

#define OPERAND_BUCKETS (1u << 17)
#define OPERAND_LIMIT (OPERAND_BUCKETS / 2 - 1) /* an id has two bytes */

struct word_entry {
	uint64_t word; /* 0 = free */
	uint32_t id;
};

/* Ids of words, by open addressing. */
struct words {
	struct word_entry *entry;
	uint32_t count;
};

static struct output *out;
static struct words handles, operands;
static uint32_t *kernel_bucket;   /* id, 0 = free */
static struct kernel_key *kernel; /* by id */
static uint32_t kernel_count;
static uint32_t names_written;
static uint32_t shapes_written;
static uint8_t api_seen[API_LIMIT];

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int encode_init(struct output *output)
{
	out = output;
	handles = (struct words){.entry = map(HANDLE_BUCKETS * sizeof(struct word_entry))};
	operands = (struct words){.entry = map(OPERAND_BUCKETS * sizeof(struct word_entry))};
	kernel_bucket = map(KERNEL_BUCKETS * sizeof(*kernel_bucket));
	kernel = map((KERNEL_LIMIT + 1) * sizeof(*kernel));
	kernel_count = names_written = shapes_written = 0;
	memset(api_seen, 0, sizeof(api_seen));
	return handles.entry && operands.entry && kernel_bucket && kernel ? 0 : -1;
}

/* Multiplicative hashing by the golden ratio (Knuth, TAOCP 3, 6.4). */
static uint32_t mix(uint64_t x)
{
	return (uint32_t)(x * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The entry that has the word, or the free one where it belongs: less than half of them are taken. */
static struct word_entry *find_word(const struct words *words, uint32_t buckets, uint64_t word)
{
	for (uint32_t at = mix(word);; at++) {
		struct word_entry *e = &words->entry[at % buckets];

		if (e->word == word || e->word == 0)
			return e;
	}
}

uint32_t encode_handle(uint64_t handle)
{
	struct word_entry *e;

	if (handle == 0)
		return 0;
	e = find_word(&handles, HANDLE_BUCKETS, handle);
	if (e->id)
		return e->id;
	if (handles.count == HANDLE_LIMIT) {
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
		return 0;
	}
	*e = (struct word_entry){handle, ++handles.count};
	output_add_numbers(out, BST_TABLE_HANDLE, (uint64_t[]){e->id, handle});
	return e->id;
}

/* The address itself stays here: that it is the same one again is all that the trace says. */
static uint32_t encode_operand(uint64_t address)
{
	struct word_entry *e;

	if (address == 0)
		return 0;
	e = find_word(&operands, OPERAND_BUCKETS, address);
	if (e->id || operands.count > OPERAND_LIMIT)
		return e->id;
	if (operands.count++ == OPERAND_LIMIT) {
		output_meta(out, "library.operands", "more addresses than have a number");
		return 0;
	}
	*e = (struct word_entry){address, operands.count};
	return e->id;
}

static uint32_t hash_kernel(const struct kernel_key *key)
{
	const uint32_t *word = (const uint32_t *)key;
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(*key) / sizeof(*word); i++)
		h = (h ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

void encode_names(void)
{
	uint32_t count = names_count();

	while (names_written < count) {
		uint32_t id = ++names_written;
		size_t size;
		const char *text = names_text(id, &size);

		output_add(out, BST_TABLE_STRING,
			   (struct bst_cell[]){{.number = id},
					       {.text = text, .size = (uint32_t)size}});
	}
}

static void add_shape(uint32_t id)
{
	const struct shape *s = shapes_get(id);
	char detail[256];
	size_t size = shape_detail(s, detail, sizeof(detail));

	output_add(out, BST_TABLE_SHAPE,
		   (struct bst_cell[]){{.number = id},
				       {.number = s->library},
				       {.number = s->operation},
				       {.number = s->m},
				       {.number = s->n},
				       {.number = s->k},
				       {.number = s->batch},
				       {.number = s->type[0]},
				       {.number = s->type[1]},
				       {.number = s->type[2]},
				       {.number = s->compute},
				       {.number = s->flags},
				       {.number = s->flops},
				       {.number = s->bytes},
				       {.text = detail, .size = (uint32_t)size}});
}

/* The shapes interned since the last call become rows, before rows that refer to them. */
static void encode_shapes(void)
{
	uint32_t count = shapes_count();

	while (shapes_written < count)
		add_shape(++shapes_written);
}

static uint32_t add_kernel(uint32_t *bucket, const struct kernel_key *key)
{
	uint32_t id = kernel_count + 1;

	if (id > KERNEL_LIMIT) {
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
		return 0;
	}
	kernel_count = id;
	kernel[id] = *key;
	*bucket = id;
	encode_names();
	output_add_numbers(out, BST_TABLE_KERNEL,
			   (uint64_t[]){id, key->name, key->grid[0], key->grid[1], key->grid[2],
					key->block[0], key->block[1], key->block[2],
					key->cluster[0], key->cluster[1], key->cluster[2],
					key->registers, key->shared_static, key->shared_dynamic,
					key->local, key->shared_executed});
	return id;
}

uint32_t encode_kernel(const struct kernel_key *key)
{
	for (uint32_t at = hash_kernel(key);; at++) {
		uint32_t *bucket = &kernel_bucket[at % KERNEL_BUCKETS];

		if (*bucket == 0)
			return add_kernel(bucket, key);
		if (memcmp(&kernel[*bucket], key, sizeof(*key)) == 0)
			return *bucket;
	}
}

static void announce_api(uint16_t api)
{
	struct api_info info;

	if (api >= API_LIMIT || api_seen[api])
		return;
	api_seen[api] = 1;
	info = api_info(api);
	if (info.name)
		output_add(out, BST_TABLE_API,
			   (struct bst_cell[]){
				   {.number = api},
				   {.text = info.name, .size = (uint32_t)strlen(info.name)},
				   {.number = info.class}});
}

/* The thread's name as the kernel knows it, at the time of its first record. */
static uint32_t read_thread_name(uint32_t tid, char *name, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/comm", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, name, size);
	close(fd);
	return n > 0 ? (uint32_t)(name[n - 1] == '\n' ? n - 1 : n) : 0;
}

static void announce_thread(struct thread *t)
{
	char name[64];
	uint32_t size;

	if (t->announced)
		return;
	t->announced = 1;
	size = read_thread_name(t->tid, name, sizeof(name));
	output_add(out, BST_TABLE_THREAD,
		   (struct bst_cell[]){{.number = t->id},
				       {.number = t->tid},
				       {.number = t->attached_ns},
				       {.text = name, .size = size}});
}

static void encode_call(const struct thread *t, const struct record *r)
{
	uint64_t flags = r->flags;

	announce_api(r->api);
	/* instantiation makes nodes too: only a call that would have run something was captured */
	if (!api_is_device_operation(api_info(r->api).class))
		flags &= ~(uint64_t)BST_ENUM_CALL_FLAG_CAPTURED;
	output_add_numbers(out, BST_TABLE_CALL,
			   (uint64_t[]){t->id, r->api, r->begin_ns, r->u.call.duration_ns,
					r->correlation, encode_handle(r->u.call.stream),
					r->u.call.bytes, r->u.call.result, flags,
					encode_handle(r->u.call.object)});
}

static void encode_node(const struct thread *t, const struct record *r)
{
	announce_api(r->api);
	output_add_numbers(out, BST_TABLE_NODE,
			   (uint64_t[]){r->u.node.node, r->u.node.graph, r->u.node.source,
					r->u.node.kind, t->id, r->begin_ns, r->api, r->u.node.range,
					r->u.node.shape, r->u.node.library});
}

static void encode_library(const struct thread *t, const struct record *r)
{
	announce_api(r->api);
	output_add_numbers(out, BST_TABLE_LIBRARY,
			   (uint64_t[]){t->id, r->api, r->begin_ns, r->u.library.duration_ns,
					r->u.library.shape, r->u.library.result, r->flags,
					encode_operand(r->u.library.operand[0]),
					encode_operand(r->u.library.operand[1])});
}

void encode_record(struct thread *t, const struct record *r)
{
	announce_thread(t);
	switch (r->kind) {
	case RECORD_CALL:
		encode_call(t, r);
		break;
	case RECORD_WAKE:
		output_add_numbers(out, BST_TABLE_WAKE,
				   (uint64_t[]){t->id, r->begin_ns, r->u.wake.silence_ns,
						r->u.wake.cpu_ns, r->u.wake.voluntary,
						r->u.wake.involuntary});
		break;
	case RECORD_RANGE:
		encode_names();
		output_add_numbers(out, BST_TABLE_RANGE,
				   (uint64_t[]){t->id, r->begin_ns, r->u.range.kind,
						encode_handle(r->u.range.domain), r->u.range.name,
						r->u.range.id});
		break;
	case RECORD_NODE:
		encode_names();
		encode_shapes();
		encode_node(t, r);
		break;
	case RECORD_LIBRARY:
		encode_shapes();
		encode_library(t, r);
		break;
	case RECORD_LOST:
		output_add_numbers(out, BST_TABLE_LOSS,
				   (uint64_t[]){BST_ENUM_LOSS_RING_FULL, r->u.lost.count, t->id,
						r->begin_ns, r->u.lost.end_ns});
		break;
	}
}
