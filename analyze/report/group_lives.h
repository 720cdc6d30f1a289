/* SPDX-License-Identifier: MIT */
/* The lives of blocks (lives.h) of groups of stacks. */
#ifndef ANALYZE_GROUP_LIVES_H
#define ANALYZE_GROUP_LIVES_H

#include "answer.h"
#include "groups.h"
#include "lives.h"

struct report;

/* As struct life, of all stacks of a group together. */
struct group_life {
	uint64_t blocks, freed; /* allocated, also by reallocs; freed */
	uint64_t temporary, temporary_by_heaptrack;
	uint64_t most_calls;
	struct lifetimes lifetimes; /* in the group_lives' pages */
	uint64_t resized, moved, copied;
	uint64_t chain, chain_from, chain_to;
};

struct group_lives {
	struct group_life *items; /* by the groups' indices */
	struct histogram_pages pages;
};

/*
 * For groups of report->profile, by what stacks have in common. Zero-initialise. False: no memory;
 * group_lives_finish() must still be called. Groups by thread, size and type have no lives: all is 0.
 */
bool group_lives_collect(struct group_lives *lives, struct report *report, const struct groups *groups);
/* The same of n_groups groups of the first n_stacks stacks, whose group, or MST_NONE, group_of says. */
bool group_lives_add_up(struct group_lives *lives, const struct report *report, const uint32_t *group_of,
			uint32_t n_stacks, uint32_t n_groups);
void group_lives_finish(struct group_lives *lives);

/*
 * Seven values of a table: the median, p99 and the longest life in calls, median and p99 in bytes and in ns. `life`: NULL
 * or without freed blocks, seven times nothing.
 */
void group_life_write(struct answer *answer, const struct group_life *life,
		      const struct histogram_pages *pages);

/* The same piece by piece: n_groups groups without lives, and adding the life of one stack to one of them. */
bool group_lives_begin(struct group_lives *lives, uint32_t n_groups);
bool group_lives_add(struct group_lives *lives, uint32_t group, const struct report *report, uint32_t stack);

#endif
