/* SPDX-License-Identifier: MIT */
/*
 * A profile as a tree of calls from the outermost inwards, with a value for each path of calls. A path consists of
 * functions, or of functions and lines.
 */
#ifndef ANALYZE_CALLTREE_H
#define ANALYZE_CALLTREE_H

#include "call_sites.h"
#include "index_map.h"
#include "mstrace.h"
#include "settings.h"

struct calltree_node {
	uint32_t parent; /* of the root: itself */
	uint32_t call;   /* number of one call with this path; the root has none */
	uint32_t child;  /* the first one, 0: none; siblings in the order in which they came up */
	uint32_t last_child;
	uint32_t sibling;
	uint64_t value; /* what was allocated here itself */
};

struct calltree {
	struct call_sites *calls;
	bool lines;                  /* calls on different lines are different */
	struct calltree_node *nodes; /* the first is the root; parents come first */
	uint32_t n, room;
	/* Private. */
	struct index_map children; /* by parent and call */
	const struct mst_stack *stacks;
	struct symbolizer *symbolizer;
	struct calltree_stack *known; /* by stack of the trace */
	bool below_main;
	uint32_t *path; /* stacks on the way outwards to one that is known */
	uint32_t room_path;
};

#define CALLTREE_ROOT 0u

/*
 * For the stacks of a trace after the replay, as callstack.h has them. False: no memory;
 * calltree_finish() is still to be called. All arguments must outlive it.
 */
bool calltree_init(struct calltree *tree, struct call_sites *calls, bool lines,
		   const struct mst_reader *reader, struct symbolizer *symbolizer,
		   const struct settings *settings);
void calltree_finish(struct calltree *tree);

/* The same without stacks: for a tree that calltree_add() builds. */
bool calltree_init_plain(struct calltree *tree, struct call_sites *calls);

/* The node of a call below `parent`, made if need be. False: no memory. */
bool calltree_add(struct calltree *tree, uint32_t parent, uint32_t call, uint32_t *node);

/* Puts a call that is no code below the root, outside of all stacks; before the first stack. False: no memory. */
bool calltree_mark(struct calltree *tree, const char *text);

/*
 * The next node, parents before children, siblings in order; the root after the last one. *depth is
 * that of the node given, 0 for the root, and becomes that of the next one.
 */
uint32_t calltree_next(const struct calltree *tree, uint32_t node, uint32_t *depth);

/* The node of a stack, made if need be. False: no memory. */
bool calltree_find(struct calltree *tree, uint32_t stack, uint32_t *node);

#endif
