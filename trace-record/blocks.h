/* SPDX-License-Identifier: MIT */
/* The live blocks of a process, by address. */
#ifndef TRACE_RECORD_BLOCKS_H
#define TRACE_RECORD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

struct block {
	uint32_t kind;
	uint64_t index; /* of its allocation */
};

/* One slot: 0 in `address` means free; address 0 is never a block. */
struct block_slot {
	uint64_t address;
	uint64_t value; /* kind << 40 | index */
};

/* Open addressing. Blocks of a page lie together, so a program's locality is the table's. */
struct blocks {
	struct block_slot *slots;
	uint64_t mask, used;
};

int blocks_init(struct blocks *blocks); /* 0 or -1: no memory */
void blocks_finish(struct blocks *blocks);
int blocks_copy(struct blocks *to, const struct blocks *from);

/* Adds a block at an address that isn't there yet. 0 or -1: no memory. */
int blocks_add(struct blocks *blocks, uint64_t address, struct block block);
bool blocks_find(const struct blocks *blocks, uint64_t address, struct block *block);
/* Takes the block out; false if there is none. */
bool blocks_take(struct blocks *blocks, uint64_t address, struct block *block);

#endif
