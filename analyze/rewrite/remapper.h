/* SPDX-License-Identifier: MIT */
/*
 * Writes what one trace says into another: kinds, stacks, threads, times and blocks of the old trace as the new one
 * has them, less what is left out. Functions that return int: 0 or a negative enum mst_error.
 */
#ifndef ANALYZE_REMAPPER_H
#define ANALYZE_REMAPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "index_map.h"
#include "mst_writer.h"

/* Parts of a trace that can be left out. */
enum remapper_part {
	REMAPPER_IDENTITY = 1,      /* which block a free gives back */
	REMAPPER_TIME = 2,          /* all happens at time 0 */
	REMAPPER_THREADS = 4,       /* all is done by one thread */
	REMAPPER_INSTRUCTIONS = 8,  /* counts of them */
	REMAPPER_NAMES = 16,        /* of frames */
	REMAPPER_USABLE = 32,       /* how much the allocator gave */
	REMAPPER_STACKS = 64,       /* how deep they were */
	REMAPPER_MAPPINGS = 128,    /* calls of mmap and its like */
	REMAPPER_PAGES = 256,       /* all that maps pages */
	REMAPPER_FREE_STACKS = 512, /* where blocks were given back */
};

/* The word for each of them, in the order of their bits; then NULL. */
extern const char *const remapper_parts[];

#define REMAPPER_NO_BLOCK UINT64_MAX /* an index that isn't known */

struct remapper {
	const struct mst_reader *reader; /* of the old trace */
	struct mst_writer *writer;       /* of the new one */
	struct mst_remap *remap;
	unsigned drop;                /* enum remapper_part, several */
	bool has_identity;            /* the old trace says which block each free gives back */
	uint64_t null_frees_before;   /* so many of the old trace's aren't the new one's */
	const struct mst_kind *kinds; /* of the old trace, by the present chunk */
	uint32_t *ids;                /* of these in the new one; MST_NONE: not yet */
	uint32_t n_ids;
	uint32_t nobody;           /* a thread of which nothing is known; MST_NONE: not yet */
	struct index_map ordinals; /* in the new trace, of live blocks by their old indices */
};

/* `reader`, `writer`, `drop` and `has_identity` have been set, all else is 0. */
int remapper_begin(struct remapper *remapper, bool strip_paths);
void remapper_finish(struct remapper *remapper); /* its writer, too */

static inline bool remapper_drops(const struct remapper *remapper, unsigned part)
{
	return remapper->drop & part;
}

/* For each chunk of the old trace, before anything in it. */
int remapper_look(struct remapper *remapper);

/* The kind in the new trace; MST_NONE for MST_NONE. */
int remapper_kind(struct remapper *remapper, uint32_t old, uint32_t *id);

/* What is written next is of that time, in the old trace's units, and of that thread of it. */
int remapper_at(struct remapper *remapper, uint64_t time, uint32_t thread);

/* The same where nobody knows by whom; in nanoseconds. */
int remapper_at_by_nobody(struct remapper *remapper, uint64_t ns);

/* A block of the new trace, which the old one has under this index. */
int remapper_keep_ordinal(struct remapper *remapper, uint64_t old, uint64_t ordinal);

/* Its ordinal in the new trace, which is forgotten if it `goes`; REMAPPER_NO_BLOCK: not known. */
uint64_t remapper_ordinal(struct remapper *remapper, uint64_t old, bool goes);

#endif
