/* SPDX-License-Identifier: MIT */
/*
 * Blocks that outlive the slice of time in which they were allocated: how many of each stack, by the slices of their
 * births and of their deaths. A block's birth is known by its index, because indices grow with time.
 *
 * Memory is bounded: when there are too many cells, two neighbouring slices become one group, and what then lies in one
 * group is dropped. Blocks of sampled traces are shares of sample_weight.h.
 */
#ifndef ANALYZE_PAGE_CROSSINGS_H
#define ANALYZE_PAGE_CROSSINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_map.h"

enum { CROSSINGS_SLICES = 256 };

/* Blocks that one stack allocated in one group of slices and that went in a later one. */
struct crossing {
	uint32_t stack;
	uint16_t birth, death; /* slices >> group_log2 */
	uint64_t bytes, blocks;
};

/* Zero-initialise. */
struct crossings {
	struct crossing *items; /* in the order of deaths; within one death sorted only by crossings_sort() */
	size_t n, room;
	struct index_map numbers; /* of the present slice, by stack and birth: index in `items` */
	uint64_t begins
		[CROSSINGS_SLICES]; /* by slice: index of the first block that is allocated in it or later */
	uint32_t n_slices;          /* the last one is the present one */
	unsigned group_log2;
};

void crossings_finish(struct crossings *crossings);

/* A slice begins; blocks from index `block` on are allocated in it. */
void crossings_begin_slice(struct crossings *crossings, uint64_t block);

/* Index of the first block of the present slice. */
static inline uint64_t crossings_oldest(const struct crossings *c)
{
	return c->begins[c->n_slices - 1];
}

/* A block goes that is older than the present slice. False: no memory. */
bool crossings_add(struct crossings *crossings, uint32_t stack, uint64_t block, uint64_t bytes,
		   uint64_t blocks);

/* Makes one cell of equal ones and puts them in the order of death, stack, birth. */
void crossings_sort(struct crossings *crossings);

#endif
