/* Sums of hashes, and counts by name in a few buckets. */
#include "content.h"

#include <stdlib.h>

#define ALIKE_SHARE 0.05

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

struct content_item *content_items(const struct vocabulary *v)
{
	size_t count = v->signature_count ? v->signature_count : 1;
	struct content_item *items = calloc(count, sizeof(*items));

	for (size_t i = 0; items && i < count; i++) {
		items[i].name_key = i < v->signature_count ? v->signature[i].name_key : 1;
		items[i].hash = mix(i);
		items[i].bucket = mix(items[i].name_key) % CONTENT_BUCKETS;
	}
	return items;
}

struct content content_since(const struct content *now, const struct content *then)
{
	struct content c = {now->hash - then->hash, now->kernels - then->kernels, {0}};

	for (unsigned i = 0; i < CONTENT_BUCKETS; i++)
		c.bucket[i] = now->bucket[i] - then->bucket[i];
	return c;
}

bool content_alike(const struct content *a, const struct content *b)
{
	uint64_t difference = 0;
	uint32_t most = a->kernels > b->kernels ? a->kernels : b->kernels;

	if (a->hash == b->hash && a->kernels == b->kernels)
		return true;
	for (unsigned i = 0; i < CONTENT_BUCKETS; i++)
		difference += a->bucket[i] > b->bucket[i] ? a->bucket[i] - b->bucket[i]
							  : b->bucket[i] - a->bucket[i];
	return (double)difference <= ALIKE_SHARE * most;
}
