/* SPDX-License-Identifier: MIT */
/*
 * A rise that is hidden: by noise of its own height, or by jumps beside it. Levels in which nothing but noise rises have
 * none, nor have those that jump, level off or come and go. Pure functions; msreport(1) has the same rules.
 */
#ifndef ANALYZE_FAINT_RISE_H
#define ANALYZE_FAINT_RISE_H

#include <stdint.h>

enum { FAINT_RISE_MOST = 512 }; /* levels */

struct faint_rise {
	double slope;       /* in bytes a level, without the jumps; 0: there is no rise */
	uint32_t last_jump; /* the level behind it; 0: none was found */
};

/* Of the levels [from, to) of a series. */
struct faint_rise faint_rise_find(const int64_t *series, uint32_t from, uint32_t to);

#endif
