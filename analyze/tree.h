/* SPDX-License-Identifier: MIT */
/*
 * Stack trees: all selected stacks of a replay as one growing tree, innermost frame first, and
 * Massif's printed trees as pruned copies of it with the bytes of one moment.
 */
#ifndef ANALYZE_TREE_H
#define ANALYZE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "massif.h"

void tree_destroy(struct tree *tree); /* NULL is allowed */

#define PLACE_ROOT 0u

/* A frame below the frames inside of it. Ids grow outwards: a parent's is smaller. */
struct place {
	uint32_t frame;
	uint32_t parent;
	uint32_t first_child, next;     /* 0 = none */
	bool exists;                    /* something was allocated here by now */
};

struct places {
	struct place *items;            /* item 0 is the root */
	uint32_t n, capacity;
	uint32_t *slots;                /* a hash index of items by (parent, frame); 0 = free */
	uint64_t *bytes;                /* of each place at the moment of tree_build() */
	uint32_t bytes_capacity;
};

bool places_init(struct places *places);        /* false: no memory */
void places_finish(struct places *places);

/* The place of `frame` below `inner`, made if need be; UINT32_MAX: no memory. */
uint32_t places_child(struct places *places, uint32_t inner, uint32_t frame);

/* Marks a place, and with it those inside of it, as allocated from. */
void places_exist(struct places *places, uint32_t place);

/* Zeroes `bytes`, for the caller to add to. False: no memory. */
bool places_clear(struct places *places);

/*
 * The tree of what `bytes` says of the innermost-to-outermost ends of stacks: sums them up, drops
 * what is below the threshold (percent of all bytes, `more` included), sorts. NULL: no memory.
 * Equal entries are ordered as naming_compare() orders their frames.
 */
struct tree *tree_build(struct places *places, uint64_t more, double threshold, struct naming *naming);

#endif
