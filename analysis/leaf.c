/* The names, words and pillars of leaves and regimes, from leaf.def. */
#include "leaf.h"

struct leaf_info {
	const char *name;
	enum regime pillar;
	int idle;
	const char *words;
};

static const struct leaf_info leaves[LEAF_COUNT] = {
#define LEAF(NAME, name, PILLAR, idle, words) {name, REGIME_##PILLAR, idle, words},
#include "leaf.def"
#undef LEAF
};

static const char *const regimes[REGIME_COUNT] = {
	[REGIME_UNKNOWN] = "unknown",   [REGIME_COMPUTE] = "compute", [REGIME_MEMORY] = "memory",
	[REGIME_OVERHEAD] = "overhead", [REGIME_MIXED] = "mixed",     [REGIME_OTHER] = "other",
};

const char *leaf_name(enum leaf leaf)
{
	return leaves[leaf].name;
}

const char *leaf_words(enum leaf leaf)
{
	return leaves[leaf].words;
}

enum regime leaf_pillar(enum leaf leaf)
{
	return leaves[leaf].pillar;
}

int leaf_idle(enum leaf leaf)
{
	return leaves[leaf].idle;
}

const char *regime_name(enum regime regime)
{
	return regimes[regime];
}
