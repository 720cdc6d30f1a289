/* SPDX-License-Identifier: MIT */
/*
 * Which stack of one build is which of another. A stack is its labels (labels.h), innermost first. In this order:
 *
 * same     equal labels, or equal loose ones.
 * renamed  equal, if labels that are in one build alone stand for labels that are in the other alone. A renaming is
 *          believed if two stacks agree on it, or one whose calls differ by less than half; it counts everywhere.
 * moved    equal, if calls of a function by itself count as one; or equal but for labels that are in one build alone, if
 *          these are not more than half; or: the same ends (one side may lack the innermost function), and of all
 *          labels at least four fifths are in the longest common subsequence, 2 * common / (old + new). Then the same of
 *          stacks without the insides of libraries, which compilers inline here and not there.
 *
 * Stacks most of whose code has no name are only ever the same, by equal labels.
 *
 * The best partners find each other first; a stack has one partner at most. Time is bounded: n log n, and a fixed
 * number of candidates of each stack.
 */
#ifndef ANALYZE_MATCH_H
#define ANALYZE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

struct match_stack {
	const uint32_t *labels;
	uint32_t n;
	uint64_t calls;
};

/* Stacks of one build; no two have equal labels. */
struct match_side {
	const struct match_stack *stacks;
	uint32_t n;
};

enum match_how { MATCH_NONE, MATCH_SAME, MATCH_RENAMED, MATCH_MOVED, MATCH_HOWS };

/* By enum match_how. */
extern const char *const match_names[MATCH_HOWS];

struct match {
	uint32_t *new_of;    /* by old stack: its partner, or MST_NONE */
	uint32_t *old_of;    /* by new stack */
	enum match_how *how; /* by old stack */
};

struct match_labels {
	const uint32_t *loose;   /* by label */
	const uint8_t *nameless; /* by label: code without a name */
	uint32_t n;              /* all labels are below that */
	const uint8_t *hidden;   /* by label: the inside of a library, as sites.h has it; NULL: none is */
};

/* False: no memory; match_finish() must still be called. */
bool match_stacks(struct match *match, const struct match_side *old_side, const struct match_side *new_side,
		  const struct match_labels *labels);
void match_finish(struct match *match);

/*
 * The length of the longest common subsequence of two texts of labels, at most `budget` cells of work, which is lowered by
 * what was done. When the budget does not suffice: what is common at both ends.
 */
uint32_t match_common(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b, uint64_t *budget);

#endif
