/* SPDX-License-Identifier: MIT */
#include "blocks.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 4096u
#define INDEX_BITS 40

static uint64_t home(const struct blocks *blocks, uint64_t address)
{
	const uint64_t page = (address >> 12) * 0x9e3779b97f4a7c15u;

	return ((page >> 20) + ((address >> 4) & 255)) & blocks->mask;
}

static struct block_slot pack(uint64_t address, struct block block)
{
	return (struct block_slot){ address, (uint64_t)block.kind << INDEX_BITS | block.index };
}

static struct block unpack(struct block_slot slot)
{
	return (struct block){ (uint32_t)(slot.value >> INDEX_BITS),
			       slot.value & ((1ull << INDEX_BITS) - 1) };
}

int blocks_init(struct blocks *blocks)
{
	*blocks = (struct blocks){ .mask = FIRST_SLOTS - 1 };
	blocks->slots = calloc(FIRST_SLOTS, sizeof(*blocks->slots));
	return blocks->slots ? 0 : -1;
}

void blocks_finish(struct blocks *blocks)
{
	free(blocks->slots);
	*blocks = (struct blocks){ 0 };
}

int blocks_copy(struct blocks *to, const struct blocks *from)
{
	const size_t bytes = (from->mask + 1) * sizeof(*from->slots);

	*to = *from;
	to->slots = malloc(bytes);
	if (!to->slots)
		return -1;
	memcpy(to->slots, from->slots, bytes);
	return 0;
}

static void place(struct blocks *blocks, struct block_slot slot)
{
	uint64_t i = home(blocks, slot.address);

	while (blocks->slots[i].address)
		i = (i + 1) & blocks->mask;
	blocks->slots[i] = slot;
}

static int grow(struct blocks *blocks)
{
	struct blocks grown = { .mask = blocks->mask * 2 + 1, .used = blocks->used };

	grown.slots = calloc(grown.mask + 1, sizeof(*grown.slots));
	if (!grown.slots)
		return -1;
	for (uint64_t i = 0; i <= blocks->mask; i++) {
		if (blocks->slots[i].address)
			place(&grown, blocks->slots[i]);
	}
	free(blocks->slots);
	*blocks = grown;
	return 0;
}

int blocks_add(struct blocks *blocks, uint64_t address, struct block block)
{
	if (blocks->used >= blocks->mask / 8 * 5 && grow(blocks) != 0)
		return -1;
	place(blocks, pack(address, block));
	blocks->used++;
	return 0;
}

/* The slot that holds the address, or the free one where the search ends. */
static uint64_t search(const struct blocks *blocks, uint64_t address)
{
	uint64_t i = home(blocks, address);

	while (blocks->slots[i].address && blocks->slots[i].address != address)
		i = (i + 1) & blocks->mask;
	return i;
}

bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block)
{
	const struct block_slot slot = blocks->slots[search(blocks, address)];

	*block = unpack(slot);
	return slot.address != 0;
}

/* Fills the hole at `i` with later slots that would otherwise be cut off from their home. */
static void close_hole(struct blocks *blocks, uint64_t i)
{
	uint64_t j = i;

	for (;;) {
		uint64_t wanted;

		j = (j + 1) & blocks->mask;
		if (!blocks->slots[j].address)
			break;
		wanted = home(blocks, blocks->slots[j].address);
		/* Move it unless its home lies (cyclically) in (i, j]. */
		if (((j - wanted) & blocks->mask) >= ((j - i) & blocks->mask)) {
			blocks->slots[i] = blocks->slots[j];
			i = j;
		}
	}
	blocks->slots[i].address = 0;
}

bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block)
{
	const uint64_t i = search(blocks, address);

	if (!blocks->slots[i].address)
		return false;
	*block = unpack(blocks->slots[i]);
	close_hole(blocks, i);
	blocks->used--;
	return true;
}
