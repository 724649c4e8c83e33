/* Which addresses are device, managed or pinned memory, and moving bytes between them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu.h"

/* Sorted by base, so that an address inside finds its allocation. */
static struct allocation *table;
static size_t table_count, table_room;
static uint64_t used[SCRIPT_DEVICES];

static size_t position(const char *p)
{
	size_t low = 0, high = table_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (table[mid].base <= p)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void insert(struct allocation a)
{
	size_t at = position(a.base);

	if (table_count == table_room) {
		table_room = table_room ? table_room * 2 : 64;
		table = realloc(table, table_room * sizeof(*table));
		if (!table)
			abort();
	}
	memmove(&table[at + 1], &table[at], (table_count - at) * sizeof(*table));
	table[at] = a;
	table_count++;
}

uint64_t memory_used(int device)
{
	return used[device];
}

char *memory_allocate(size_t bytes, CUmemorytype type, bool managed, unsigned int flags, int device)
{
	/* As the real allocator: separate 512-byte-aligned blocks. Pages are not touched here. */
	size_t room = (bytes + 511) & ~(size_t)511;
	bool counted = type == CU_MEMORYTYPE_DEVICE;
	char *p = NULL;

	gpu_lock();
	if (!counted || used[device] + room <= script.devices[device].memory_bytes) {
		p = mmap(NULL, room, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			p = NULL;
	}
	if (p) {
		insert((struct allocation){p, room, type, managed, false, device, flags});
		if (counted)
			used[device] += room;
	}
	gpu_unlock();
	return p;
}

int memory_register(void *p, size_t bytes, unsigned int flags)
{
	struct allocation a;

	if (!p || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (memory_find(p, &a))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	gpu_lock();
	insert((struct allocation){p, bytes, CU_MEMORYTYPE_HOST, false, true, 0, flags});
	gpu_unlock();
	return 0;
}

int memory_free(void *p, bool registered)
{
	size_t at;
	int err = CUDA_ERROR_INVALID_VALUE;

	gpu_lock();
	at = position(p);
	if (at && table[at - 1].base == p && table[at - 1].registered == registered) {
		struct allocation *a = &table[at - 1];

		if (!registered)
			munmap(a->base, a->bytes);
		if (a->type == CU_MEMORYTYPE_DEVICE)
			used[a->device] -= a->bytes;
		memmove(a, a + 1, (table_count - at) * sizeof(*table));
		table_count--;
		err = 0;
	}
	gpu_unlock();
	return err;
}

bool memory_find(const void *p, struct allocation *found)
{
	bool hit = false;
	size_t at;

	gpu_lock();
	at = position(p);
	if (at && (const char *)p < table[at - 1].base + table[at - 1].bytes) {
		*found = table[at - 1];
		hit = true;
	}
	gpu_unlock();
	return hit;
}

/* Device memory does not survive a reset of its context. */
void memory_reset(int device)
{
	size_t kept = 0;

	gpu_lock();
	for (size_t i = 0; i < table_count; i++) {
		if (table[i].type == CU_MEMORYTYPE_DEVICE && table[i].device == device)
			munmap(table[i].base, table[i].bytes);
		else
			table[kept++] = table[i];
	}
	table_count = kept;
	used[device] = 0;
	gpu_unlock();
}

static void fill(char *p, size_t bytes, uint32_t value, uint8_t value_bytes)
{
	if (value_bytes <= 1) {
		memset(p, (int)value, bytes);
		return;
	}
	for (size_t i = 0; i + value_bytes <= bytes; i += value_bytes)
		memcpy(p + i, &value, value_bytes);
}

void box_move(const struct box *box)
{
	if (!box->dst || box->width * box->height * box->depth > script.copy_data_bytes)
		return;
	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++) {
			char *dst = box->dst + z * box->dst_slice + y * box->dst_pitch;

			if (box->src)
				memmove(dst, box->src + z * box->src_slice + y * box->src_pitch,
					box->width);
			else
				fill(dst, box->width, box->value, box->value_bytes);
		}
	}
}
