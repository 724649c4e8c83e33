/* The anchor of a step: the kernel (or graph launch) whose recurrences cut the run into pieces that are most alike. */
#ifndef ANCHOR_H
#define ANCHOR_H

#include "sequence.h"
#include "vocabulary.h"

#define CONTENT_BUCKETS 16

/* What kernels a stretch holds, in constant space: differences of two running contents are contents too. */
struct content {
	uint64_t hash;    /* sum over signatures: equal for the same kernels in any order */
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

/*
 * The same kernels, or names that differ in at most 5 %: grids follow the length of a sequence, and a step that also
 * writes a log line is still a step.
 */
bool content_alike(const struct content *a, const struct content *b);

enum anchor_kind {
	ANCHOR_SIGNATURE,
	ANCHOR_NAME,  /* any grid and block */
	ANCHOR_PAIR,  /* a kernel right behind another one */
	ANCHOR_GRAPH, /* the launch of a graph */
};

struct anchor {
	enum anchor_kind kind;
	uint64_t key;
	int stream; /* index of the only stream that counts, or -1 */
	struct content step; /* one of the pieces that are alike */
	double step_kernels; /* mean */
	double alike_ns; /* time in such pieces, long ones cut to four times the usual */
	double other_ns; /* time in other pieces between the first and the last occurrence, cut too */
};

/*
 * Finds the anchor whose alike pieces cover the most time; of those that do as well within 0.5 %, the one with the shortest pieces (so
 * a step that logs every tenth time is not ten steps), then the earliest. A graph launch goes before kernels if it covers 98 % of the
 * best. Nested repetition (layers in a step) loses because the piece from the last layer to the next step's first is unlike the
 * others. `stream`: see struct anchor. `activity_ns`: time in which the device was active at all. False if nothing recurs.
 */
bool anchor_find(const struct sequence *sequence, const struct vocabulary *vocabulary, int stream,
		 uint64_t activity_ns, struct anchor *anchor);

/* Does a step begin with this kernel? `before` is the signature of the one before, UINT32_MAX at the start. */
bool anchor_matches(const struct anchor *anchor, const struct sequence_item *item, uint32_t before,
		    uint32_t name_key);

/* The name key of a signature, safe for any. */
static inline uint32_t anchor_name_key(const struct vocabulary *v, uint32_t signature)
{
	return signature < v->signature_count ? v->signature[signature].name_key : 1;
}

#endif
