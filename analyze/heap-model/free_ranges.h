/* SPDX-License-Identifier: MIT */
/*
 * The free-range tree: the free ranges of an address space. Space is taken where the lowest range with enough room
 * begins, and given back later. Addresses and sizes are bytes. Single-threaded.
 */
#ifndef ANALYZE_FREE_RANGES_H
#define ANALYZE_FREE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "size_tree.h"

struct free_range {
	uint64_t lo, hi; /* of a vacant item: `lo` is the next vacant one's number + 1 */
};

struct free_ranges {
	struct free_range *items; /* [n] */
	uint32_t n, capacity;
	uint32_t vacant;       /* number + 1 of an item without a range; 0: none */
	struct size_tree tree; /* of items, by address; ranges neither overlap nor touch */
};

void free_ranges_begin(struct free_ranges *ranges);  /* a space without free ranges */
void free_ranges_finish(struct free_ranges *ranges); /* frees the items; no ranges are left */

/* Makes room for n > 0 ranges, which free_ranges_give() relies on. False: no memory. */
bool free_ranges_reserve(struct free_ranges *ranges, uint32_t n);

/* Takes size > 0 bytes. False: no range is large enough. O(log n) expected, as is giving. */
bool free_ranges_take(struct free_ranges *ranges, uint64_t size, uint64_t *address);

/*
 * Adds a range, which overlaps no free one, and joins it with the ranges that it touches. Room must be reserved: there
 * are never more ranges than there were at first and ranges taken since.
 */
void free_ranges_give(struct free_ranges *ranges, uint64_t address, uint64_t size);

/* Verifies all invariants by assert(), in O(n). */
void free_ranges_check(const struct free_ranges *ranges);

#endif
