/* SPDX-License-Identifier: MIT */
#include "customs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

int customs_init(struct customs *customs)
{
	*customs = (struct customs){ .n = 1 };
	return blocks_init(&customs->tops);
}

void customs_finish(struct customs *customs)
{
	blocks_finish(&customs->tops);
	free(customs->nodes);
	*customs = (struct customs){ 0 };
}

int customs_copy(struct customs *to, const struct customs *from)
{
	*to = *from;
	to->nodes = NULL;
	if (blocks_copy(&to->tops, &from->tops) != 0)
		return -1;
	to->capacity = from->n;
	to->nodes = malloc(from->n * sizeof(*to->nodes));
	if (!to->nodes)
		return -1;
	if (from->nodes)
		memcpy(to->nodes, from->nodes, from->n * sizeof(*to->nodes));
	return 0;
}

/* A node to use, or 0: no memory. */
static uint32_t take_node(struct customs *customs)
{
	const uint32_t node = customs->free;

	if (node) {
		customs->free = customs->nodes[node].below;
		return node;
	}
	return array_reserve(&customs->nodes, customs->n, &customs->capacity, sizeof(*customs->nodes))
		       ? customs->n++
		       : 0;
}

static void give_node(struct customs *customs, uint32_t node)
{
	assert(node && node < customs->n);
	customs->nodes[node].below = customs->free;
	customs->free = node;
}

/* The node of the newest block at the address, or 0. */
static uint32_t top_of(const struct customs *customs, uint64_t address)
{
	struct block top;

	if (!customs_any(customs) || !blocks_find(&customs->tops, address, &top))
		return 0;
	assert(top.ordinal && top.ordinal < customs->n);
	return (uint32_t)top.ordinal;
}

static int set_top(struct customs *customs, uint64_t address, uint32_t node)
{
	struct block old;

	blocks_take(&customs->tops, address, &old);
	return node ? blocks_add(&customs->tops, address, (struct block){ .ordinal = node }) : 0;
}

/* Adds a block below the one of the node `above`; 0: as the newest. */
static int add_below(struct customs *customs, uint64_t address, uint32_t above, struct block block)
{
	const uint32_t node = take_node(customs);
	uint32_t below;

	if (!node)
		return -1;
	below = above ? customs->nodes[above].below : top_of(customs, address);
	customs->nodes[node] = (struct custom){ .block = block, .below = below };
	if (above) {
		customs->nodes[above].below = node;
	} else if (set_top(customs, address, node) != 0) {
		give_node(customs, node);
		return -1;
	}
	return 0;
}

int customs_add(struct customs *customs, uint64_t address, struct block block)
{
	return add_below(customs, address, 0, block);
}

int customs_add_covering(struct customs *customs, uint64_t address, struct block block)
{
	uint32_t above = 0;

	for (uint32_t node = top_of(customs, address); node && !customs->nodes[node].covered;
	     node = customs->nodes[node].below)
		above = node;
	return add_below(customs, address, above, block);
}

void customs_cover(struct customs *customs, uint64_t address)
{
	uint32_t node = top_of(customs, address);

	for (; node && !customs->nodes[node].covered; node = customs->nodes[node].below)
		customs->nodes[node].covered = true;
}

bool customs_at(const struct customs *customs, uint64_t address)
{
	return top_of(customs, address) != 0;
}

bool customs_covered(struct customs *customs, uint64_t address)
{
	const uint32_t node = top_of(customs, address);

	return node && customs->nodes[node].covered;
}

bool customs_take(struct customs *customs, uint64_t address, struct block *block)
{
	const uint32_t node = top_of(customs, address);

	if (!node)
		return false;
	*block = customs->nodes[node].block;
	/* Needs no memory: the node below takes the place in `tops`. */
	set_top(customs, address, customs->nodes[node].below);
	give_node(customs, node);
	return true;
}

/* ---- all blocks ---- */

uint64_t customs_count(const struct customs *customs)
{
	uint64_t n = customs->n - 1ull;

	for (uint32_t node = customs->free; node; node = customs->nodes[node].below)
		n--;
	return n;
}

/* Marks free nodes by an ordinal that no block has. */
void customs_list(const struct customs *customs, struct block_ref *refs)
{
	for (uint32_t node = customs->free; node; node = customs->nodes[node].below)
		customs->nodes[node].block.ordinal = UINT64_MAX;
	for (uint32_t node = 1; node < customs->n; node++) {
		struct block *block = &customs->nodes[node].block;

		if (block->ordinal != UINT64_MAX)
			*refs++ = block_at(block);
	}
}

/* Every node is either free or below at most one other, and covered nodes are below those that are not. */
void customs_verify(const struct customs *customs)
{
	const uint64_t live = customs_count(customs);
	uint64_t n_below = 0;

	assert(customs->n >= 1 && live < customs->n);
	blocks_verify(&customs->tops);
	for (uint32_t node = customs->free; node; node = customs->nodes[node].below) {
		assert(node < customs->n);
		n_below -= customs->nodes[node].below != 0;
	}
	for (uint32_t node = 1; node < customs->n; node++)
		n_below += customs->nodes[node].below != 0;
	assert(n_below + blocks_count(&customs->tops) == live);
}
