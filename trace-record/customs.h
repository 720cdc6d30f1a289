/* SPDX-License-Identifier: MIT */
/*
 * The live custom blocks of a process, by address: those that its own allocators announce by requests. Any number may be live
 * at one address, beside a block of malloc. The newest goes first.
 */
#ifndef TRACE_RECORD_CUSTOMS_H
#define TRACE_RECORD_CUSTOMS_H

#include "blocks.h"

struct custom {
	struct block block;
	uint32_t below; /* the next older block at the address, or the next free node; 0: none */
	bool covered; /* malloc's block at the address, if there is one, is newer; all nodes below are covered too */
};

struct customs {
	struct blocks tops;   /* by address: a block whose ordinal is the newest node */
	struct custom *nodes; /* [1 ... n - 1]; each is in the list of one address or of free nodes */
	uint32_t n, capacity;
	uint32_t free; /* the first free node; 0: none */
};

int customs_init(struct customs *customs); /* 0 or -1: no memory */
void customs_finish(struct customs *customs);
int customs_copy(struct customs *to, const struct customs *from);

/* Adds a block that is the newest at its address. 0 or -1: no memory. */
int customs_add(struct customs *customs, uint64_t address, struct block block);
/* malloc has given a block at the address, which is newer than the custom ones there. */
void customs_cover(struct customs *customs, uint64_t address);
/* Whether there are custom blocks at the address, and malloc's block there, if there is one, is newer. */
bool customs_covered(struct customs *customs, uint64_t address);
/* Makes malloc's block at the address a custom one, in its place by age. 0 or -1: no memory. */
int customs_add_covering(struct customs *customs, uint64_t address, struct block block);
/* Whether there was ever a custom block. */
static inline bool customs_any(const struct customs *customs)
{
	return customs->n > 1;
}

/* Whether there is one at the address. */
bool customs_at(const struct customs *customs, uint64_t address);

/* How many blocks there are; references to all of them, in no order, as in blocks.h. */
uint64_t customs_count(const struct customs *customs);
void customs_list(const struct customs *customs, struct block_ref *refs);

/* Asserts that the lists are whole, in O(n). */
void customs_verify(const struct customs *customs);

/* Takes out the newest block at the address; false if there is none. */
bool customs_take(struct customs *customs, uint64_t address, struct block *block);

#endif
