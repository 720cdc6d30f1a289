/* SPDX-License-Identifier: MIT */
/*
 * A map from addresses to small numbers, filled with address ranges once and then only asked.
 * Where ranges overlap the one added last wins, so that adding a tree in pre-order yields its
 * innermost node. Single-threaded.
 */
#ifndef NAMES_RANGES_H
#define NAMES_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_NONE UINT32_MAX

/* All zero is the empty map. */
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

/* Empty ranges are left out. False when out of memory, or after 2^31 ranges. */
bool ranges_add(struct ranges *ranges, uint64_t lo, uint64_t hi, uint32_t value);

/* To be called once, between adding and asking. False when out of memory; the map is empty then. */
bool ranges_seal(struct ranges *ranges);

/* The value at `address`, RANGES_NONE if no range covers it. O(log n). */
uint32_t ranges_find(const struct ranges *ranges, uint64_t address);

/*
 * What the ranges before and behind `address`, which none covers, have in common; else RANGES_NONE. `*start` is
 * the first address behind the one before. O(log n).
 */
uint32_t ranges_find_between(const struct ranges *ranges, uint64_t address, uint64_t *start);

void ranges_finish(struct ranges *ranges); /* frees what it holds; it is empty then */

#endif
