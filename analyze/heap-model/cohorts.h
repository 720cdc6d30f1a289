/* SPDX-License-Identifier: MIT */
/*
 * Live blocks by the index of their allocation. They come in the order of their indices, and many that came
 * together go together: so blocks of neighbouring indices are a cohort, to which one more is appended, and out of which
 * one goes by a bit.
 *
 * Memory: 24 to 48 bytes a live block, and 2 KiB for each cohort that has any. Single-threaded.
 */
#ifndef ANALYZE_COHORTS_H
#define ANALYZE_COHORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "index_map.h"

struct liveblock {
	uint64_t index; /* of its allocation; UINT64_MAX: not known */
	uint64_t time;
	uint32_t kind, thread;
};

/* All zero is none. */
struct cohorts {
	struct index_map map;        /* the address of each, by its number */
	struct cohort *first, *last; /* in the order of indices */
	size_t n;                    /* live blocks */
};

void cohorts_finish(struct cohorts *cohorts);

/* Adds a block, whose index is above those of all that came before. False: no memory. */
bool cohorts_put(struct cohorts *cohorts, const struct liveblock *block);

/* Takes a block out. False if it isn't there. */
bool cohorts_take(struct cohorts *cohorts, uint64_t index);

/* A hint: the block will be looked for. */
void cohorts_foresee(const struct cohorts *cohorts, uint64_t index);

/* Copies all blocks to list[n], in the order of their indices. */
void cohorts_list(const struct cohorts *cohorts, struct liveblock *list);

#endif
