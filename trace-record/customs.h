/* SPDX-License-Identifier: MIT */
/*
 * The live custom blocks of a process, by address: those that its own allocators made known by requests. Any number
 * may be live at an address, a block of malloc besides. The one that goes first is the newest.
 */
#ifndef TRACE_RECORD_CUSTOMS_H
#define TRACE_RECORD_CUSTOMS_H

#include "blocks.h"

struct custom {
	struct block block;
	uint32_t below; /* the next older block at the address, or a free node; 0 = none */
	bool covered; /* the allocator's own block at the address, if there is one, is newer; so are those of older ones */
};

struct customs {
	struct blocks tops;   /* of each address: a block whose ordinal is the node of the newest */
	struct custom *nodes; /* from 1 */
	uint32_t n, capacity;
	uint32_t free; /* the first free node below n; 0 = none */
};

int customs_init(struct customs *customs); /* 0 or -1: no memory */
void customs_finish(struct customs *customs);
int customs_copy(struct customs *to, const struct customs *from);

/* Adds a block that is the newest at its address. 0 or -1: no memory. */
int customs_add(struct customs *customs, uint64_t address, struct block block);
/* The allocator has given a block at the address, which is newer than the custom ones there. */
void customs_cover(struct customs *customs, uint64_t address);
/* Whether the allocator's block at the address, if there is one, is newer than the custom ones, of which there is one at least. */
bool customs_covered(struct customs *customs, uint64_t address);
/* That block becomes like a custom one: in its place by age. 0 or -1: no memory. */
int customs_add_covering(struct customs *customs, uint64_t address, struct block block);
/* Whether there was ever one. */
static inline bool customs_any(const struct customs *customs)
{
	return customs->n > 1;
}

/* Whether there is one at the address. */
bool customs_at(const struct customs *customs, uint64_t address);

/* How many blocks there are; references to all of them, in no order. As for blocks.h. */
uint64_t customs_count(const struct customs *customs);
void customs_list(const struct customs *customs, struct block_ref *refs);

/* Takes out the newest block at the address; false if there is none. */
bool customs_take(struct customs *customs, uint64_t address, struct block *block);

#endif
