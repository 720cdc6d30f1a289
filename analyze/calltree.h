/* SPDX-License-Identifier: MIT */
/*
 * A profile as a tree of calls from the outside inwards: blocks of equal call paths summed up. A
 * path is made of functions, or of functions and lines.
 */
#ifndef ANALYZE_CALLTREE_H
#define ANALYZE_CALLTREE_H

#include "calls.h"
#include "indexmap.h"

struct calltree_node {
	uint32_t parent; /* of the root: itself */
	uint32_t call;   /* one of those that came here; the root has none */
	uint32_t child;  /* the first one, 0: none; siblings in the order in which they came up */
	uint32_t last_child;
	uint32_t sibling;
	uint64_t value; /* what was allocated here itself */
};

struct calltree {
	struct calls *calls;
	bool lines;                  /* calls on different lines are different */
	struct calltree_node *nodes; /* the first is the root; parents come first */
	uint32_t n, room;
	struct indexmap children; /* by parent and call */
};

#define CALLTREE_ROOT 0u

/* False: no memory; calltree_finish() is still to be called. `calls` must outlive it. */
bool calltree_init(struct calltree *tree, struct calls *calls, bool lines);
void calltree_finish(struct calltree *tree);

/*
 * The next node, parents before children, siblings in order; the root after the last one. *depth is
 * that of the node given, 0 for the root, and becomes that of the next one.
 */
uint32_t calltree_next(const struct calltree *tree, uint32_t node, uint32_t *depth);

/* The node of a stack, given as frames with the innermost first; made if need be. False: no memory. */
bool calltree_find(struct calltree *tree, const uint32_t *frames, uint32_t n, uint32_t *node);

#endif
