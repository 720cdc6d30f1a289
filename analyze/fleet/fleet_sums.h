/* SPDX-License-Identifier: MIT */
/*
 * The summary of a replayed report, which has a profile, a timeline and sites: what all of its blocks come to, by site,
 * function, frame, stack, size and time. Figures of a sampled trace are estimates.
 */
#ifndef ANALYZE_FLEET_SUMS_H
#define ANALYZE_FLEET_SUMS_H

#include "callstack.h"
#include "fleet_part.h"
#include "report.h"
#include "stack_path.h"

/* Functions of a frame, from the innermost call: the first is functions[first]. */
struct fleet_frame {
	uint32_t first, n;
	bool known;
};

enum { FLEET_BUCKETS = 40 };

/* Zero-initialise but for `report`. */
struct fleet {
	struct report *report;
	struct groups nodes;                   /* BY_NODE */
	struct fleet_items parts[FLEET_PARTS]; /* of FLEET_SITE and those behind it */
	uint64_t totals[FLEET_FIGURES];
	struct fleet_frame *frames; /* [n_frames] */
	uint32_t n_frames;
	uint32_t *functions; /* numbers of items */
	uint32_t n_functions, room_functions;
	uint32_t *frame_items; /* [n_frames]: number + 1 of the frame's item; 0: none yet */
	uint32_t *site_of;     /* [n_stacks]: number of the site's item, or MST_NONE */
	uint32_t n_stacks;
	struct pool pool;
	struct fleet_row sizes[65], times[FLEET_BUCKETS]; /* those that have figures, from the first on */
	uint32_t n_sizes, n_times;
};

/* False: no memory; fleet_sums_finish() must still be called. */
bool fleet_sums_make(struct fleet *fleet);
void fleet_sums_finish(struct fleet *fleet);

/* Level and verdict of the sites that are kept. False: no memory. */
bool fleet_sums_follow(struct fleet *fleet);

/* Of a part of calls: figures of the stacks that have a function, or a frame, that is not kept. */
void fleet_sums_rest(const struct fleet *fleet, enum fleet_part part, uint64_t rest[FLEET_FIGURES]);

/* ---- fleet_stacks.c ---- */

/* Adds up all stacks. False: no memory. */
bool fleet_stacks_add(struct fleet *fleet);

/* The functions of a stack, outermost first, valid until the next call: NULL: no memory. */
const char *fleet_stacks_path(const struct fleet *fleet, uint32_t stack, struct callstack *frames,
			      struct stack_path *path);

/* By fleet_figure, of a group of the profile. */
void fleet_figures_of(uint64_t figures[FLEET_FIGURES], const struct group *group);

#endif
