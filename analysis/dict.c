/* Ids to indexes, by a plain array: recorders count ids up. */
#include "dict.h"

#include <stdlib.h>
#include <string.h>

/* An id may be this much larger than the number of ids seen: rows lost to damage leave holes. */
#define SPARSE_FACTOR 64
#define SPARSE_SLACK 65536

void dict_fini(struct dict *dict)
{
	free(dict->slot);
	memset(dict, 0, sizeof(*dict));
}

static bool grow(struct dict *dict, uint64_t id)
{
	uint64_t limit = dict->limit ? dict->limit : 256;
	uint32_t *slot;

	if (id > (uint64_t)dict->count * SPARSE_FACTOR + SPARSE_SLACK || id >= UINT32_MAX / 2)
		return false;
	while (limit <= id)
		limit *= 2;
	slot = realloc(dict->slot, limit * sizeof(*slot));
	if (!slot)
		return false;
	memset(slot + dict->limit, 0, (limit - dict->limit) * sizeof(*slot));
	dict->slot = slot;
	dict->limit = (uint32_t)limit;
	return true;
}

bool dict_add(struct dict *dict, uint64_t id, uint32_t *index)
{
	if (id == 0 || (id >= dict->limit && !grow(dict, id)))
		return false;
	if (!dict->slot[id])
		dict->slot[id] = ++dict->count;
	*index = dict->slot[id] - 1;
	return true;
}
