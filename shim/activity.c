/* One function for each kind of record. */
#define _GNU_SOURCE
#include "activity.h"

#include <cupti.h>
#include <string.h>
#include <sys/mman.h>

#include "encode.h"
#include "loss.h"
#include "names.h"
#include "sampler.h"

#define FIELD(record, name, type, member, offset)                                                  \
	static inline type record##_##name(const uint8_t *bytes)                                   \
	{                                                                                          \
		type value;                                                                        \
                                                                                                   \
		memcpy(&value, bytes + (offset), sizeof(value));                                   \
		return value;                                                                      \
	}
#include "activity.def"
#undef FIELD

/*
 * Kernel records of one function share their name's address: remembered, and compared each time, since a module that was unloaded may
 * leave its addresses to another.
 */
#define NAME_CACHE 4096u

struct cached_name {
	uint64_t address;
	uint32_t id;
};

static struct cached_name *cache;
static uint32_t contexts_seen[64]; /* context + 1, by its low bits */

int activity_init(void)
{
	void *p = mmap(NULL, NAME_CACHE * sizeof(*cache), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cache = p == MAP_FAILED ? NULL : p;
	memset(contexts_seen, 0, sizeof(contexts_seen));
	return cache ? 0 : -1;
}

static uint32_t name_id(uint64_t address)
{
	const char *name = (const char *)(uintptr_t)address;
	struct cached_name *c = &cache[(address >> 4) % NAME_CACHE];
	size_t size;
	const char *known;

	if (!name)
		return 0;
	if (c->address == address && c->id) {
		known = names_text(c->id, &size);
		if (strncmp(name, known, size) == 0 &&
		    (name[size] == 0 || size == NAME_BYTES_LIMIT))
			return c->id;
	}
	c->address = address;
	c->id = names_intern(name, strnlen(name, NAME_BYTES_LIMIT));
	return c->id;
}

/*
 * Zero, reversed and sentinel times come from device buffers that ran out (research: start = end = 0, 0x8000000000000000) and from
 * forced flushes of unfinished work (end = 0): kept, flagged and counted.
 */
static uint64_t check_times(uint64_t start, uint64_t end)
{
	if (start && end >= start && !(start >> 63) && !(end >> 63))
		return 0;
	loss_add(start && end == 0 ? BST_ENUM_LOSS_UNFINISHED : BST_ENUM_LOSS_TIME_INVALID, 1);
	return BST_ENUM_DEVICE_FLAG_TIME_INVALID;
}

/* Which device a context is on: a dictionary row at first sight. More than 64 contexts: told again and again, harmless. */
static void note_context(struct output *output, uint32_t context, uint32_t device)
{
	uint32_t *slot = &contexts_seen[context % 64];

	if (*slot == context + 1)
		return;
	*slot = context + 1;
	output_add_numbers(output, BST_TABLE_CONTEXT, (uint64_t[]){context, device});
}

static void add_kernel(struct output *output, const uint8_t *r)
{
	struct kernel_key key = {
		.name = name_id(kernel_name(r)),
		.grid = {kernel_grid_x(r), kernel_grid_y(r), kernel_grid_z(r)},
		.block = {kernel_block_x(r), kernel_block_y(r), kernel_block_z(r)},
		.cluster = {kernel_cluster_x(r), kernel_cluster_y(r), kernel_cluster_z(r)},
		.registers = kernel_registers(r),
		.shared_static = kernel_shared_static(r),
		.shared_dynamic = kernel_shared_dynamic(r),
		.shared_executed = kernel_shared_executed(r),
		.local = kernel_local(r),
	};
	uint64_t start = kernel_start(r), end = kernel_end(r);
	uint64_t flags = check_times(start, end);

	if (kernel_launch_type(r) == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE ||
	    kernel_launch_type(r) == CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE)
		flags |= BST_ENUM_DEVICE_FLAG_COOPERATIVE;
	note_context(output, kernel_context(r), kernel_device(r));
	sampler_saw_launch(kernel_device(r)); /* where no callback told */
	output_add_numbers(output, BST_TABLE_RUN,
			   (uint64_t[]){encode_kernel(&key), start, end - start,
					kernel_correlation(r), kernel_context(r), kernel_stream(r),
					kernel_graph(r), kernel_node(r), kernel_device(r), flags});
}

static uint64_t copy_kind_of(uint8_t kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
		return BST_ENUM_COPY_KIND_HOST_TO_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
		return BST_ENUM_COPY_KIND_DEVICE_TO_HOST;
	case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
		return BST_ENUM_COPY_KIND_DEVICE_TO_DEVICE;
	case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
		return BST_ENUM_COPY_KIND_HOST_TO_HOST;
	case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
		return BST_ENUM_COPY_KIND_PEER_TO_PEER;
	case CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN:
		return BST_ENUM_COPY_KIND_UNKNOWN;
	default:
		return BST_ENUM_COPY_KIND_ARRAY;
	}
}

static uint64_t async_flag(unsigned flags)
{
	return flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? BST_ENUM_DEVICE_FLAG_ASYNC : 0;
}

static void add_copy(struct output *output, const uint8_t *r)
{
	uint64_t start = copy_start(r), end = copy_end(r);
	uint64_t flags = check_times(start, end) | async_flag(copy_flags(r));

	/* enum memory_kind has CUPTI's numbers */
	output_add_numbers(output, BST_TABLE_COPY,
			   (uint64_t[]){copy_kind_of(copy_kind(r)), start, end - start,
					copy_correlation(r), copy_context(r), copy_stream(r),
					copy_graph(r), copy_node(r), copy_device(r), flags,
					copy_bytes(r), copy_source_kind(r), copy_target_kind(r),
					copy_device(r), copy_device(r)});
}

static void add_peer_copy(struct output *output, const uint8_t *r)
{
	uint64_t start = peer_start(r), end = peer_end(r);
	uint64_t flags = check_times(start, end) | async_flag(peer_flags(r));

	output_add_numbers(output, BST_TABLE_COPY,
			   (uint64_t[]){BST_ENUM_COPY_KIND_PEER_TO_PEER, start, end - start,
					peer_correlation(r), peer_context(r), peer_stream(r),
					peer_graph(r), peer_node(r), peer_device(r), flags,
					peer_bytes(r), peer_source_kind(r), peer_target_kind(r),
					peer_source_device(r), peer_target_device(r)});
}

static void add_set(struct output *output, const uint8_t *r)
{
	uint64_t start = set_start(r), end = set_end(r);
	uint64_t flags = check_times(start, end);

	flags |= set_flags(r) & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC ? BST_ENUM_DEVICE_FLAG_ASYNC : 0;
	output_add_numbers(output, BST_TABLE_COPY,
			   (uint64_t[]){BST_ENUM_COPY_KIND_SET, start, end - start,
					set_correlation(r), set_context(r), set_stream(r),
					set_graph(r), set_node(r), set_device(r), flags,
					set_bytes(r), 0, set_memory_kind(r), set_device(r),
					set_device(r)});
}

static uint64_t overhead_kind_of(uint32_t kind)
{
	if (kind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER)
		return BST_ENUM_OVERHEAD_KIND_COMPILER;
	/* CUPTI counts its own kinds in the upper half: 1 << 16 is buffer_flush, 2 here */
	return kind >> 16 && kind >> 16 <= 7 ? (kind >> 16) + 1 : BST_ENUM_OVERHEAD_KIND_UNKNOWN;
}

static void add_overhead(struct output *output, const uint8_t *r)
{
	uint64_t start = overhead_start(r), end = overhead_end(r);
	uint32_t tid =
		overhead_object_kind(r) == CUPTI_ACTIVITY_OBJECT_THREAD ? overhead_tid(r) : 0;

	if (end < start)
		end = start;
	output_add_numbers(
		output, BST_TABLE_OVERHEAD,
		(uint64_t[]){overhead_kind_of(overhead_kind(r)), start, end - start, tid});
}

void activity_record(struct output *output, uint32_t kind, const uint8_t *record)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
	case CUPTI_ACTIVITY_KIND_KERNEL:
		add_kernel(output, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		add_copy(output, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		add_peer_copy(output, record);
		break;
	case CUPTI_ACTIVITY_KIND_MEMSET:
		add_set(output, record);
		break;
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		add_overhead(output, record);
		break;
	default:
		loss_add(BST_ENUM_LOSS_UNKNOWN_RECORD, 1);
	}
}
