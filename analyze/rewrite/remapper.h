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
#include "mstrace.h"

/* Parts of a trace that can be left out. */
enum scribe_part {
	SCRIBE_IDENTITY = 1,      /* which block a free gives back */
	SCRIBE_TIME = 2,          /* all happens at time 0 */
	SCRIBE_THREADS = 4,       /* all is done by one thread */
	SCRIBE_INSTRUCTIONS = 8,  /* counts of them */
	SCRIBE_NAMES = 16,        /* of frames */
	SCRIBE_USABLE = 32,       /* how much the allocator gave */
	SCRIBE_STACKS = 64,       /* how deep they were */
	SCRIBE_MAPPINGS = 128,    /* calls of mmap and its like */
	SCRIBE_PAGES = 256,       /* all that maps pages */
	SCRIBE_FREE_STACKS = 512, /* where blocks were given back */
};

/* The word for each of them, in the order of their bits; then NULL. */
extern const char *const scribe_parts[];

#define SCRIBE_NO_BLOCK UINT64_MAX /* an index that isn't known */

struct scribe {
	const struct mst_reader *reader; /* of the old trace */
	struct mst_writer *writer;       /* of the new one */
	struct mst_transfer *transfer;
	unsigned drop;                /* enum scribe_part, several */
	bool has_identity;            /* the old trace says which block each free gives back */
	uint64_t null_frees_before;   /* so many of the old trace's aren't the new one's */
	const struct mst_kind *kinds; /* of the old trace, by the present chunk */
	uint32_t *ids;                /* of these in the new one; MST_NONE: not yet */
	uint32_t n_ids;
	uint32_t nobody;       /* a thread of which nothing is known; MST_NONE: not yet */
	struct indexmap ranks; /* in the new trace, of live blocks by their old indices */
};

/* `reader`, `writer`, `drop` and `has_identity` have been set, all else is 0. */
int scribe_begin(struct scribe *scribe, bool strip_paths);
void scribe_finish(struct scribe *scribe); /* its writer, too */

static inline bool scribe_drops(const struct scribe *scribe, unsigned part)
{
	return scribe->drop & part;
}

/* For each chunk of the old trace, before anything in it. */
int scribe_look(struct scribe *scribe);

/* The kind in the new trace; MST_NONE for MST_NONE. */
int scribe_kind(struct scribe *scribe, uint32_t old, uint32_t *id);

/* What is written next is of that time, in the old trace's units, and of that thread of it. */
int scribe_at(struct scribe *scribe, uint64_t time, uint32_t thread);

/* The same where nobody knows by whom; in nanoseconds. */
int scribe_at_by_nobody(struct scribe *scribe, uint64_t ns);

/* A block of the new trace, which the old one has under this index. */
int scribe_keep_rank(struct scribe *scribe, uint64_t old, uint64_t rank);

/* Its rank in the new trace, which is forgotten if it `goes`; SCRIBE_NO_BLOCK: not known. */
uint64_t scribe_rank(struct scribe *scribe, uint64_t old, bool goes);

#endif
