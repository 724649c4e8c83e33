/* An open-addressed table of ids over an array of shapes, both mapped once and only ever added to.
 */
#define _GNU_SOURCE
#include "shapes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "loss.h"

#define BUCKETS (2 * SHAPES_LIMIT)

static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER;   /* adding; leaf: nothing is called under it */
static _Atomic uint32_t *bucket;     /* id, 0 = free */
static struct shape *_Atomic shapes; /* by id */
static _Atomic uint32_t count;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int shapes_init(void)
{
	int ready;

	pthread_mutex_lock(&lock);
	if (!bucket)
		bucket = map(BUCKETS * sizeof(*bucket));
	/* release: pairs with shapes_intern; who sees the array sees the buckets */
	if (bucket && !atomic_load_explicit(&shapes, memory_order_relaxed))
		atomic_store_explicit(&shapes, map((SHAPES_LIMIT + 1) * sizeof(struct shape)),
				      memory_order_release);
	ready = bucket && atomic_load_explicit(&shapes, memory_order_relaxed);
	pthread_mutex_unlock(&lock);
	return ready ? 0 : -1;
}

void shapes_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

#define LANES 4

/* Multiplicative hashing by the golden ratio (Knuth, TAOCP 3, 6.4), word by word in lanes that need
 * not wait for each other. */
static uint32_t hash(const struct shape *shape)
{
	uint64_t word[sizeof(*shape) / 8], lane[LANES] = {1, 2, 3, 4}, h = 0;

	_Static_assert(sizeof(*shape) % 8 == 0, "whole words");
	memcpy(word, shape, sizeof(word));
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		lane[i % LANES] = (lane[i % LANES] ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < LANES; i++)
		h = (h ^ lane[i] ^ lane[i] >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint32_t)(h >> 32);
}

/* The bucket that holds the shape, or the free one where it belongs. NULL if there is neither. */
static _Atomic uint32_t *find(const struct shape *all, const struct shape *shape, uint32_t *id)
{
	uint32_t at = hash(shape);

	for (uint32_t tries = 0; tries < BUCKETS; tries++, at++) {
		_Atomic uint32_t *b = &bucket[at % BUCKETS];

		/* acquire: pairs with the release in add; a bucket that is taken has its shape */
		*id = atomic_load_explicit(b, memory_order_acquire);
		if (*id == 0 || memcmp(&all[*id], shape, sizeof(*shape)) == 0)
			return b;
	}
	return NULL;
}

static uint32_t add(struct shape *all, const struct shape *shape)
{
	_Atomic uint32_t *b;
	uint32_t id = 0, next;

	pthread_mutex_lock(&lock);
	b = find(all, shape, &id);
	next = atomic_load_explicit(&count, memory_order_relaxed) + 1;
	if (b && id == 0 && next <= SHAPES_LIMIT) {
		id = next;
		all[id] = *shape;
		atomic_store_explicit(b, id, memory_order_release);
		/* release: pairs with shapes_count */
		atomic_store_explicit(&count, id, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	if (id == 0)
		loss_add(BST_ENUM_LOSS_DICTIONARY_FULL, 1);
	return id;
}

uint32_t shapes_intern(const struct shape *shape)
{
	struct shape *all = atomic_load_explicit(&shapes, memory_order_acquire);
	uint32_t id = 0;

	if (!all)
		return 0;
	if (find(all, shape, &id) && id)
		return id;
	return add(all, shape);
}

const struct shape *shapes_get(uint32_t id)
{
	return &atomic_load_explicit(&shapes, memory_order_relaxed)[id];
}

uint32_t shapes_count(void)
{
	return atomic_load_explicit(&count, memory_order_acquire);
}
