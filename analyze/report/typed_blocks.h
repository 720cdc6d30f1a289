/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a profile by the type of what they hold (alloc_type.h). Debug information is looked at for the ways to the
 * allocator that matter: by their bytes at the profile's point in time, then by all that they allocated.
 */
#ifndef ANALYZE_TYPED_BLOCKS_H
#define ANALYZE_TYPED_BLOCKS_H

#include "alloc_type.h"
#include "profile.h"
#include "sites.h"

/* Ways that are looked at, at most. */
enum { TYPED_WAYS = 1500 };

struct typed_row {
	struct alloc_type type; /* of the way with the most bytes; the trust is the lowest of all */
	uint64_t then_bytes, then_blocks, then_objects; /* objects: 0 if they cannot be counted */
	uint64_t end_bytes, end_blocks, bytes, calls;
	uint32_t ways;
	uint32_t stack; /* of the way with the most bytes */
	bool counted;   /* the objects of all of it are counted */
};

struct typed_blocks {
	struct alloc_types *types;
	struct typed_row *rows; /* the most bytes at the point in time first; the unknown ones are no row */
	uint32_t n, room;
	struct typed_row unknown;
	uint32_t *unknown_stacks; /* by stack of the trace: MST_NONE or, if its type is known, 0 */
	struct alloc_type *ways;  /* by way to the allocator: what was told of it */
	uint32_t *way_of;         /* by stack of the trace: its way; MST_NONE: nothing was allocated there */
	uint32_t n_ways, n_told;  /* all, and those that were looked at */
	bool limited;             /* some module has more debug information than is looked at */
};

/* After the replay. False: no memory; typed_blocks_finish() must still be called. */
bool typed_blocks_collect(struct typed_blocks *blocks, const struct mst_reader *reader,
			  const struct profile *profile, struct sites *sites, struct symbolizer *symbolizer);
/* The type of the blocks of a stack of the trace; NULL: unknown. */
const struct alloc_type *typed_blocks_of(const struct typed_blocks *blocks, uint32_t stack);

void typed_blocks_finish(struct typed_blocks *blocks);

#endif
