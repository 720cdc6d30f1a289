/* SPDX-License-Identifier: MIT */
/*
 * From live bytes by stack to the tree that Massif prints: equal stacks summed up, what is below the
 * threshold dropped, the rest sorted. Which stacks have which frames in common is found out once for all
 * trees of a forest, as far as one of them shows it. Memory: 24 bytes for each entry of a level that is
 * shown, dropped ones included, and 28 a leaf. Single-threaded.
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
	/* Every stack allocated from, in the order in which they came up; used up, not freed. */
	struct tree_leaf *leaves;
	uint32_t n_leaves;
	const struct mst_stack *stacks; /* the trace's tables */
	uint32_t n_frames;
	const uint32_t *same;          /* by frame: that which stands for it; NULL: each for itself */
	struct symbolizer *symbolizer; /* symbolize_compare() orders equal entries */
};

struct forest;

/* What the input points to must outlive it. NULL: no memory. */
struct forest *forest_create(const struct forest_input *input);
void forest_destroy(struct forest *forest); /* NULL is allowed */

/* Of what a tree is made. */
struct tree_input {
	const uint64_t *bytes; /* of each leaf */
	uint32_t n;            /* of them; the others hadn't come up yet */
	uint64_t more;         /* bytes beside those of the leaves, for the threshold */
	double threshold;      /* percent of all bytes */
};

/* NULL: no memory. */
struct tree *tree_build(struct forest *forest, const struct tree_input *input);

#endif
