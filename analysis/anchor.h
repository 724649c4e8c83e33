/* The anchor of a step: the kernel (or graph launch) whose recurrences cut the run into pieces that
 * are most alike. */
#ifndef ANCHOR_H
#define ANCHOR_H

#include "content.h"
#include "sequence.h"

enum anchor_kind {
	ANCHOR_SIGNATURE,
	ANCHOR_NAME,  /* any grid and block */
	ANCHOR_PAIR,  /* a kernel right behind another one */
	ANCHOR_GRAPH, /* the launch of a graph */
};

struct anchor {
	enum anchor_kind kind;
	uint64_t key;
	int stream;          /* index of the only stream that counts, or -1 */
	struct content step; /* one of the pieces that are alike */
	double step_kernels; /* mean */
	double alike_ns;     /* time in such pieces, long ones cut to four times the usual */
	double other_ns; /* time in other pieces between the first and the last occurrence, cut too
			  */
};

/*
 * Finds the anchor whose alike pieces cover the most time; of those that do as well within 0.5 %,
 * the one with the shortest pieces (so a step that logs every tenth time is not ten steps), then
 * the earliest. A graph launch goes before kernels if it covers 98 % of the best. Nested repetition
 * (layers in a step) loses because the piece from the last layer to the next step's first is unlike
 * the others. `stream`: see struct anchor. `activity_ns`: time in which the device was active at
 * all. False if nothing recurs.
 */
bool anchor_find(const struct sequence *sequence, const struct vocabulary *vocabulary, int stream,
		 uint64_t activity_ns, struct anchor *anchor);

/* Keys of anchors that are pairs, and what keys of graphs have set. */
#define ANCHOR_GRAPH_BIT (UINT64_C(1) << 63)

static inline uint64_t anchor_pair_key(uint32_t before, uint32_t signature)
{
	return (uint64_t)(before + 1) << 32 | signature;
}

/* Does a step begin with this kernel? `before` is the signature of the one before, UINT32_MAX at
 * the start; `items` as content_items gives them. */
static inline bool anchor_matches(const struct anchor *anchor, const struct sequence_item *item,
				  uint32_t before, const struct content_item *items)
{
	switch (anchor->kind) {
	case ANCHOR_SIGNATURE:
		return item->signature == anchor->key;
	case ANCHOR_NAME:
		return items[item->signature].name_key == anchor->key;
	case ANCHOR_PAIR:
		return anchor_pair_key(before, item->signature) == anchor->key;
	case ANCHOR_GRAPH:
		return item->graph && (ANCHOR_GRAPH_BIT | item->graph) == anchor->key;
	}
	return false;
}

#endif
