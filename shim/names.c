/* An open-addressed table of ids over an append-only text arena, all of it mapped once. */
#define _GNU_SOURCE
#include "names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "loss.h"

#define BUCKETS (2 * NAMES_LIMIT)

struct name {
	uint32_t offset;
	uint32_t size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* leaf: nothing is called under it */
static uint32_t *bucket;                                 /* id, 0 = free */
static struct name *name;
static char *text;
static uint32_t text_used;
static _Atomic uint32_t count;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int names_init(void)
{
	int ready;

	pthread_mutex_lock(&lock);
	if (!bucket)
		bucket = map(BUCKETS * sizeof(*bucket));
	if (!name)
		name = map((NAMES_LIMIT + 1) * sizeof(*name));
	if (!text)
		text = map(NAMES_TEXT_LIMIT);
	ready = bucket && name && text;
	pthread_mutex_unlock(&lock);
	return ready ? 0 : -1;
}

void names_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

/* FNV-1a, 64 bits folded (Fowler, Noll, Vo: draft-eastlake-fnv). */
static uint32_t hash(const char *s, size_t size)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ (uint8_t)s[i]) * UINT64_C(0x100000001b3);
	return (uint32_t)(h ^ h >> 32);
}

static uint32_t add(uint32_t *slot, const char *s, size_t size)
{
	uint32_t id = atomic_load_explicit(&count, memory_order_relaxed) + 1;

	if (id > NAMES_LIMIT || size > NAMES_TEXT_LIMIT - text_used)
		return 0;
	memcpy(text + text_used, s, size);
	name[id] = (struct name){text_used, (uint32_t)size};
	text_used += (uint32_t)size;
	*slot = id;
	/* release: pairs with names_count; an id that is counted has its text */
	atomic_store_explicit(&count, id, memory_order_release);
	return id;
}

uint32_t names_intern(const char *s, size_t size)
{
	uint32_t at, id;

	if (size > NAME_BYTES_LIMIT)
		size = NAME_BYTES_LIMIT;
	at = hash(s, size) % BUCKETS;
	pthread_mutex_lock(&lock);
	for (;; at = (at + 1) % BUCKETS) {
		id = bucket[at];
		if (id == 0) {
			id = add(&bucket[at], s, size);
			break;
		}
		if (name[id].size == size && memcmp(text + name[id].offset, s, size) == 0)
			break;
	}
	pthread_mutex_unlock(&lock);
	if (id == 0)
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
	return id;
}

const char *names_text(uint32_t id, size_t *size)
{
	*size = name[id].size;
	return text + name[id].offset;
}

uint32_t names_count(void)
{
	return atomic_load_explicit(&count, memory_order_acquire);
}
