/* The pillars and leaves into which every nanosecond of a device goes, their names and their regimes. */
#ifndef LEAF_H
#define LEAF_H

enum regime {
	REGIME_UNKNOWN,
	REGIME_COMPUTE,
	REGIME_MEMORY,
	REGIME_OVERHEAD,
	REGIME_MIXED,
	REGIME_OTHER,
	REGIME_COUNT,
};

enum leaf {
#define LEAF(NAME, name, PILLAR, idle, words) LEAF_##NAME,
#include "leaf.def"
#undef LEAF
	LEAF_COUNT
};

/* "compute", "host" ...: the names of the JSON contract. Static. */
const char *leaf_name(enum leaf leaf);
/* What a person reads: "waiting for Python or the framework to launch". Static. */
const char *leaf_words(enum leaf leaf);
/* The pillar of a leaf: compute, memory, overhead or other. */
enum regime leaf_pillar(enum leaf leaf);
/* Is the device idle in this leaf? */
int leaf_idle(enum leaf leaf);
const char *regime_name(enum regime regime);

#endif
