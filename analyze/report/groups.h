/* SPDX-License-Identifier: MIT */
/*
 * The rows of a profile summed up by what they have in common: the site, the whole stack, the library, the thread ...
 * Figures of a sampled trace are estimates.
 */
#ifndef ANALYZE_GROUPS_H
#define ANALYZE_GROUPS_H

#include "profile.h"
#include "sites.h"

enum group_by {
	BY_SITE,  /* function and line */
	BY_STACK, /* functions, modules and the site's line: stacks that a reader cannot tell apart are one */
	BY_FUNCTION,
	BY_LIBRARY,
	BY_THREAD,
	BY_SIZE,
	BY_TYPE, /* of call: malloc, calloc, new ... */
	GROUPINGS,
	BY_NODE, /* each stack of the trace; not for users */
};

/* By enum group_by: "site" ... */
extern const char *const group_names[GROUPINGS];

struct group {
	uint64_t
		key; /* BY_SIZE: the size; BY_TYPE: enum mst_op; BY_THREAD: the thread's number; else a number of its own */
	uint32_t stack; /* the one with the most bytes allocated */
	uint64_t stack_bytes;
	uint64_t then_bytes, then_blocks; /* live at the profile's point in time */
	uint64_t end_bytes, end_blocks;   /* live at the end */
	uint64_t bytes, calls;            /* allocated */
	uint64_t least, most;             /* sizes that were allocated */
};

struct groups {
	struct group *items; /* in the order of the profile's rows */
	uint32_t n, room;
	enum group_by by;
};

/*
 * After the replay. `left_out`: by stack, MST_NONE or something else if its rows are left out; NULL: none is. False: no
 * memory; groups_finish() must still be called.
 */
bool groups_collect(struct groups *groups, const struct mst_reader *reader, const struct profile *profile,
		    struct sites *sites, enum group_by by, const uint32_t *left_out);
void groups_finish(struct groups *groups);

/* Whether stacks belong to the groups as a whole. */
bool groups_have_stacks(enum group_by by);

/* Adds the figures of a group to those of another. */
void group_add(struct group *to, const struct group *group);

/*
 * By stack of the trace: the index of its group if that is one of the first `most`, else MST_NONE; *n_stacks of them, for
 * the caller to free. Groups by thread, size and type have no stacks of their own. NULL: no memory.
 */
uint32_t *groups_of_stacks(const struct groups *groups, const struct mst_reader *reader, struct sites *sites,
			   uint32_t most, uint32_t *n_stacks);

/* What groups are sorted by: a figure, the largest first; equal ones keep their order. */
enum group_order { ORDER_THEN, ORDER_END, ORDER_BYTES, ORDER_CALLS };

uint64_t group_figure(const struct group *group, enum group_order order);
/* False: no memory. */
bool groups_sort(struct groups *groups, enum group_order order);

#endif
