/* Nodes in an array, found by a hash of parent and names. */
#include "range_tree.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (4 * RANGE_NODES) /* filled to a quarter at most */

int range_tree_init(struct range_tree *tree)
{
	memset(tree, 0, sizeof(*tree));
	tree->node = calloc(RANGE_NODES, sizeof(*tree->node));
	tree->slot = calloc(SLOTS, sizeof(*tree->slot));
	tree->count = RANGE_STRANGER + 1;
	if (tree->node && tree->slot)
		return 0;
	range_tree_fini(tree);
	return -1;
}

void range_tree_fini(struct range_tree *tree)
{
	free(tree->node);
	free(tree->slot);
	memset(tree, 0, sizeof(*tree));
}

static uint64_t mix(uint64_t x)
{
	x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ (x >> 32);
}

/* The slot of the node, or the free one where it belongs. */
static uint32_t *find(const struct range_tree *tree, const struct range_node *wanted)
{
	uint64_t at = mix(mix(mix(wanted->parent) + wanted->domain) + wanted->name);

	for (;; at++) {
		uint32_t *slot = &tree->slot[at % SLOTS];
		const struct range_node *node = &tree->node[*slot];

		if (!*slot || (node->parent == wanted->parent && node->domain == wanted->domain &&
			       node->name == wanted->name))
			return slot;
	}
}

uint32_t range_tree_open(struct range_tree *tree, uint32_t parent, uint32_t domain, uint32_t name)
{
	struct range_node node = {.parent = parent, .domain = domain, .name = name};
	uint32_t *slot = find(tree, &node);

	if (!*slot && tree->count == RANGE_NODES) {
		tree->crowded++;
		return parent;
	}
	if (!*slot) {
		*slot = tree->count++;
		tree->node[*slot] = node;
	}
	tree->node[*slot].opened++;
	return *slot;
}
