/* SPDX-License-Identifier: MIT */
/*
 * What the turnover of a group's blocks suggests, with what that saves. The rules are those of msreport(1), "SAVINGS"; each
 * is about a place, a stack in one thread, and a group's figures are the sums of those of its places for which the rule holds.
 */
#ifndef ANALYZE_ADVICE_H
#define ANALYZE_ADVICE_H

#include "sites.h"
#include "turnover.h"

enum advice_what {
	ADVICE_RESERVE, /* a buffer grows in steps: make room for its final size at once */
	ADVICE_STACK,   /* one at a time, freed by the function that allocates: a local variable */
	ADVICE_HOIST,   /* one at a time, of one size: allocate once */
	ADVICE_REUSE,   /* one at a time, of many sizes: keep one that grows */
	ADVICE_POOL,    /* one size, few at a time: a free list */
	ADVICE_KINDS
};

/* By enum advice_what: "reserve" ... */
extern const char *const advice_names[ADVICE_KINDS];

enum { ADVICE_LOOP = 10, ADVICE_STACK_SIZE = 4096 };

struct advice {
	enum advice_what what;
	uint32_t group;
	uint32_t stack; /* that of the place which saves most calls */
	uint64_t stack_saved;
	uint64_t places, blocks;
	uint64_t saved;          /* calls that give a block */
	uint64_t copied;         /* bytes that aren't copied */
	uint64_t least, largest; /* sizes of the blocks */
	uint64_t most;           /* live blocks at once, the sum over the places */
	uint64_t held;           /* bytes that stay allocated instead */
	bool nested;             /* of a pool: last in, first out */
	uint64_t ladders, steps, longest, longest_from, longest_to; /* turnover.h */
};

struct advice_list {
	struct advice *items; /* by group and by what */
	uint32_t n, room;
};

/*
 * After the replay. `group_of`: by stack, MST_NONE for none; n_groups of them. All that apply, also small ones. False: no
 * memory; advice_list_finish() must still be called. Zero-initialise.
 */
bool advice_list_collect(struct advice_list *list, const struct turnover *turnover,
			 const struct mst_reader *reader, struct sites *sites, const uint32_t *group_of,
			 uint32_t n_groups);
void advice_list_finish(struct advice_list *list);

#endif
