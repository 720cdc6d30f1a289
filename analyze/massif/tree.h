/* SPDX-License-Identifier: MIT */
/*
 * From live bytes by stack to the tree that Massif prints: equal stacks added up, what is below the threshold
 * aggregated, the rest sorted. Which stacks share frames is found once for all trees of a forest, as far as a tree
 * shows it. Memory: 24 bytes for each entry of a level that is shown, aggregated ones included, and 28 a leaf.
 * Single-threaded.
 */
#ifndef ANALYZE_TREE_H
#define ANALYZE_TREE_H

#include "massif.h"
#include "symbolize.h"

/* `n` frames of a stack of the trace, from `stack` outwards. */
struct tree_leaf {
	uint32_t stack;
	uint32_t n;
};

struct forest_input {
	/* Every stack allocated from, in order of first use; overwritten, not freed. */
	struct tree_leaf *leaves;
	uint32_t n_leaves;
	const struct mst_stack *stacks; /* the trace's tables */
	uint32_t n_frames;
	const uint32_t *same;          /* by frame: the frame that represents it; NULL: each itself */
	struct symbolizer *symbolizer; /* symbolize_compare() orders equal entries */
};

struct forest;

/* What the input points to must outlive the forest. NULL: no memory. */
struct forest *forest_create(const struct forest_input *input);
void forest_destroy(struct forest *forest); /* NULL is allowed */

struct tree_input {
	const uint64_t *bytes; /* of each leaf */
	uint32_t n;            /* leaves that had been used by then */
	uint64_t more;         /* bytes that count for the threshold beside those of the leaves */
	double threshold;      /* percent of all bytes */
};

/* NULL: no memory. */
struct tree *tree_build(struct forest *forest, const struct tree_input *input);

#endif
