/* Where NVTX ranges are nested: a node for each path of names. */
#ifndef RANGE_TREE_H
#define RANGE_TREE_H

#include <stdint.h>

/* Paths kept apart: 1 MB of times for each device. A program that makes names with numbers in them
 * has more; what they hold counts for the range around them. */
#define RANGE_NODES 4096u

/* The two nodes that every tree has: outside of all ranges, on a thread that has opened some before,
 * or on one that has not, as autograd's. */
#define RANGE_OUTSIDE 0u
#define RANGE_STRANGER 1u

struct range_node {
	uint32_t parent;
	uint32_t domain; /* index of the vocabulary's strings plus 1; 0 = the default domain */
	uint32_t name;   /* likewise; 0 = none */
	uint64_t opened; /* how often a range was there */
};

struct range_tree {
	struct range_node *node; /* a parent before its children */
	uint32_t *slot;          /* hash table: number of the node; 0 = free */
	uint32_t count;
	uint64_t crowded; /* ranges that found no room: they count as their parent */
};

/* -1 without memory. */
int range_tree_init(struct range_tree *tree);
void range_tree_fini(struct range_tree *tree);

/* A range opens inside that of node `parent`: its node. Constant time. */
uint32_t range_tree_open(struct range_tree *tree, uint32_t parent, uint32_t domain, uint32_t name);

#endif
