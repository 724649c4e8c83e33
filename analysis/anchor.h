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

/* Does a step begin with this kernel? `before` is the signature of the one before, UINT32_MAX at
 * the start. */
bool anchor_matches(const struct anchor *anchor, const struct sequence_item *item, uint32_t before,
		    uint32_t name_key);

#endif
