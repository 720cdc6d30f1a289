/* SPDX-License-Identifier: MIT */
/*
 * The free ranges of an address space. Space is taken where the lowest range with enough room
 * begins, and given back later. Addresses and sizes are bytes. Single-threaded.
 */
#ifndef ANALYZE_FREE_RANGES_H
#define ANALYZE_FREE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* `max` is the size of the largest hole of the subtree. */
struct hole {
	uint64_t lo, hi;
	uint64_t max;
	uint32_t left, right;
	uint32_t priority; /* a parent's is not below its children's */
};

/* All zero is a space without holes. */
struct free_ranges {
	struct hole *v; /* a treap over addresses; 0 is no hole */
	uint32_t n;     /* records in use or vacant */
	uint32_t capacity;
	uint32_t vacant; /* chain of records without a hole */
	uint32_t root;
};

/* Room for `n` holes in all, which free_ranges_give() relies on. False when out of memory. */
bool free_ranges_reserve(struct free_ranges *holes, uint32_t n);

/* Takes size > 0 bytes. False if no hole is large enough. O(log n) as expected, as is giving. */
bool free_ranges_take(struct free_ranges *holes, uint64_t size, uint64_t *address);

/*
 * Adds a range, which overlaps no hole, and joins it with the holes beside it. Room for it must be
 * there: there are never more holes than there were at first and ranges taken since.
 */
void free_ranges_give(struct free_ranges *holes, uint64_t address, uint64_t size);

void free_ranges_finish(struct free_ranges *holes); /* frees what it holds; no holes are left */

#endif
