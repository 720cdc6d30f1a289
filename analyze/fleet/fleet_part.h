/* SPDX-License-Identifier: MIT */
/* What the rows of one part are made of: sums by key. The largest become rows, the others one row together. */
#ifndef ANALYZE_FLEET_PART_H
#define ANALYZE_FLEET_PART_H

#include <stdbool.h>

#include "fleet_row.h"
#include "hash_index.h"

struct fleet_item {
	uint64_t key, function;
	uint64_t figures[FLEET_FIGURES];
	uint64_t largest;      /* the most bytes that one of its stacks allocated ... */
	uint32_t stack;        /* ... and that stack */
	uint32_t call, module; /* of sites and functions in that stack: call_sites.h; MST_NONE: none */
	uint32_t frame;        /* of frames */
	const char *name, *file;
	const char *label_module; /* without version; "" for the program */
	double weight;
	bool kept; /* it becomes a row of its own */
	const char *verdict;
	uint64_t growth;
};

/* Zero-initialise. */
struct fleet_items {
	struct fleet_item *items;
	uint32_t n, room;
	struct hash_index index;
	bool indexed;
};

void fleet_items_finish(struct fleet_items *items);

/* The item of a key; a new one has key alone, and *fresh is true. Valid until the next call. NULL: no memory. */
struct fleet_item *fleet_items_find(struct fleet_items *items, uint64_t key, bool *fresh);

void fleet_figures_add(uint64_t to[FLEET_FIGURES], const uint64_t figures[FLEET_FIGURES]);

/*
 * Indexes of the items by their shares of all figures, the largest first, for the caller to free; equal ones by key. NULL:
 * no memory.
 */
uint32_t *fleet_items_order(struct fleet_items *items, const uint64_t totals[FLEET_FIGURES]);

#endif
