/* SPDX-License-Identifier: MIT */
/*
 * A map from addresses to small numbers: filled with ranges once, then only searched. Where ranges overlap, the one
 * added last wins: a tree that is added in pre-order yields its innermost nodes. Single-threaded.
 */
#ifndef NAMES_RANGES_H
#define NAMES_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_NONE UINT32_MAX

/* Zero-initialised is empty. */
struct ranges {
	size_t n;
	size_t capacity;
	struct range {
		uint64_t lo; /* first address */
		uint64_t hi; /* first address after it */
		uint32_t value;
		uint32_t order; /* position of its ranges_add() */
	} * v;                  /* after ranges_seal(): sorted, disjoint, none empty */
};

/* Leaves out empty ranges. False: no memory, or 2^31 ranges. */
bool ranges_add(struct ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value);

/* Call once, between adding and searching. False: no memory; the map is empty then. */
bool ranges_seal(struct ranges *ranges);

/* The value at `address`; RANGES_NONE: no range covers it. O(log n). */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

/*
 * For an address that no range covers: the value of the ranges before and after it, if that is the same; else
 * RANGES_NONE. *start is where the range before ends. O(log n).
 */
uint32_t ranges_find_between(const struct ranges *ranges, uint64_t address, uint64_t *start);

void ranges_finish(struct ranges *ranges); /* frees the map; it is empty then */

#endif
