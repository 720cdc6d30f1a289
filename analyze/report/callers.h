/* SPDX-License-Identifier: MIT */
/*
 * What each function, line or library allocated itself, and what it and all that it called did: each once a stack,
 * however often it is on it.
 */
#ifndef ANALYZE_CALLERS_H
#define ANALYZE_CALLERS_H

#include "group_lives.h"
#include "groups.h"

struct caller {
	uint32_t call; /* of call_sites.h; one of those that have the function, or of the library */
	uint32_t module;
	struct group self, all; /* keys and stacks are meaningless */
};

struct callers {
	struct caller *items;
	uint32_t n, room;
};

/*
 * `stacks`: groups BY_NODE. `by`: BY_FUNCTION, BY_SITE for lines, BY_LIBRARY. Nothing is hidden. False: no memory;
 * callers_finish() must still be called.
 */
bool callers_collect(struct callers *callers, const struct mst_reader *reader, struct call_sites *calls,
		     const struct groups *stacks, enum group_by by);

/*
 * The lives of the blocks that each of the first `n` callers and all that it called allocated; the report knows lives.
 * `lives`: zero-initialise. False: no memory; group_lives_finish() must still be called.
 */
bool callers_lives(const struct callers *callers, uint32_t n, const struct report *report, enum group_by by,
		   struct group_lives *lives);

void callers_finish(struct callers *callers);

#endif
