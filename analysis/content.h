/* What kernels a stretch of a run holds, in constant space. */
#ifndef CONTENT_H
#define CONTENT_H

#include "vocabulary.h"

#define CONTENT_BUCKETS 16

/* Differences of two running contents are contents too. */
struct content {
	uint64_t hash; /* sum over signatures: equal for the same kernels in any order */
	uint32_t kernels;
	uint32_t bucket[CONTENT_BUCKETS]; /* kernels by a hash of their name */
};

/* What one kernel adds to a content. */
struct content_item {
	uint64_t hash;
	uint32_t bucket;
	uint32_t name_key;
};

/* One item for each signature; the caller frees them, NULL without memory. */
struct content_item *content_items(const struct vocabulary *vocabulary);

static inline void content_add(struct content *content, const struct content_item *item)
{
	content->hash += item->hash;
	content->kernels++;
	content->bucket[item->bucket]++;
}

struct content content_since(const struct content *now, const struct content *then);

/* The same kernels, in any order. */
static inline bool content_equal(const struct content *a, const struct content *b)
{
	return a->hash == b->hash && a->kernels == b->kernels;
}

/*
 * The same kernels, or names that differ in at most 5 %: grids follow the length of a sequence, and
 * a step that also writes a log line is still a step.
 */
bool content_alike(const struct content *a, const struct content *b);

#endif
