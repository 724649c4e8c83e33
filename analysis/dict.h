/* A map from the small ids of a trace's dictionaries to dense indexes. */
#ifndef DICT_H
#define DICT_H

#include <stdbool.h>
#include <stdint.h>

struct dict {
	uint32_t *slot; /* by id: index + 1, 0 = none */
	uint32_t limit; /* ids below have a slot */
	uint32_t count; /* ids known; their indexes are 0 to count - 1 */
};

void dict_fini(struct dict *dict);

/*
 * The index of `id`, which is new or not. False for id 0, without memory, and for ids far beyond
 * what was added before: ids are counted up by the recorder, so that a huge one is damage, and
 * memory stays in proportion to the rows read.
 */
bool dict_add(struct dict *dict, uint64_t id, uint32_t *index);

/* The index of `id`; false where it is 0 or unknown. */
static inline bool dict_find(const struct dict *dict, uint64_t id, uint32_t *index)
{
	if (id >= dict->limit || !dict->slot[id])
		return false;
	*index = dict->slot[id] - 1;
	return true;
}

#endif
