/* SPDX-License-Identifier: MIT */
/*
 * A writer that remaps ids: kinds, stacks, threads, times and blocks of an old trace become those of the new one, less
 * the parts that are dropped. Functions that return int: 0 or a negative enum mst_error.
 */
#ifndef ANALYZE_REMAPPER_H
#define ANALYZE_REMAPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "anonymizer.h"
#include "block_map.h"
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
	REMAPPER_RSS = 1024,        /* samples of the process's memory */
	REMAPPER_MARKS = 2048,      /* that the program set, or msrec */
};

/* The word for each of them, in the order of their bits; then NULL. */
extern const char *const remapper_parts[];

#define REMAPPER_NO_BLOCK UINT64_MAX /* an index that isn't known */

struct remapper {
	const struct mst_reader *reader; /* of the old trace */
	struct mst_writer *writer;       /* of the new one */
	struct mst_remap *remap;
	struct anonymizer *anonymizer; /* of names; the caller's; NULL: they stay */
	unsigned drop;                 /* enum remapper_part, several */
	bool has_identity;             /* the old trace records which block each free gives back */
	bool keeps_ordinals;           /* even if the new one doesn't */
	uint64_t null_frees_before;    /* null frees of the old trace that the new one leaves out */
	const struct mst_kind *kinds;  /* of the old trace, by the present chunk */
	uint32_t *ids;                 /* of these in the new one; MST_NONE: not written yet */
	uint32_t n_ids;
	uint32_t unknown_thread;        /* a thread without a tid; MST_NONE: not written yet */
	struct block_map ordinals;      /* in the new trace, of live blocks by their old indices ... */
	struct index_map high_ordinals; /* ... and those that do not fit there, from BLOCK_MAP_NONE on */
};

/* The caller has set `reader`, `writer`, `drop`, `has_identity` and `anonymizer`, and zeroed the rest. */
int remapper_begin(struct remapper *remapper, bool strip_paths);
void remapper_finish(struct remapper *remapper); /* its writer, too */

static inline bool remapper_drops(const struct remapper *remapper, unsigned part)
{
	return remapper->drop & part;
}

/* Call for each chunk of the old trace, before its records. */
int remapper_look(struct remapper *remapper);

/* The kind in the new trace; MST_NONE for MST_NONE. */
int remapper_kind(struct remapper *remapper, uint32_t old, uint32_t *id);

/* Sets time and thread of the next records, in units and ids of the old trace. */
int remapper_at(struct remapper *remapper, uint64_t time, uint32_t thread);

/* Sets the time, in nanoseconds, and the thread without a tid. */
int remapper_at_unknown(struct remapper *remapper, uint64_t ns);

/* Writes a mark of the old trace before the next record. */
int remapper_mark(struct remapper *remapper, const struct mst_mark *mark);

/* Writes an end of a thread of the old trace before the next record, if the new one has the thread. */
int remapper_thread_end(struct remapper *remapper, const struct mst_thread_end *end);

/* Notes the new trace's ordinal of the block that has the index `old` in the old one. */
int remapper_keep_ordinal(struct remapper *remapper, uint64_t old, uint64_t ordinal);

/* Whether such a block has one. */
bool remapper_has_ordinal(const struct remapper *remapper, uint64_t old);

/* The ordinal of such a block, which is forgotten if the block `goes`; REMAPPER_NO_BLOCK: not known. */
uint64_t remapper_ordinal(struct remapper *remapper, uint64_t old, bool goes);

#endif
