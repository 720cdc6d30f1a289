/* SPDX-License-Identifier: MIT */
/*
 * What the parts of massif.h's observer share: record by record in massif.c, whole chunks by their sums in
 * massif_sums.c. Private.
 */
#ifndef ANALYZE_MASSIF_STATE_H
#define ANALYZE_MASSIF_STATE_H

#include "depths.h"
#include "digest.h"
#include "effect.h"
#include "leap.h"
#include "ledger.h"
#include "livekinds.h"
#include "marks.h"
#include "massif.h"
#include "snapshot.h"
#include "tree.h"

#define NS_PER_MS 1000000u

struct counters {
	uint64_t useful, total; /* bytes, in all and those asked for; the total includes stacks */
	uint64_t stacks;
	uint64_t clock;   /* in the settings' time unit */
	uint64_t changes; /* calls that changed the others, or the trees */
};

struct massif {
	struct observer observer;
	const struct settings *settings;
	struct livekinds live; /* after the first `applied` records of the present chunk */
	uint32_t applied;
	struct snapshots snapshots;
	struct marks marks;
	const struct snapshot *peak; /* has the true peak's `live`, after the end */
	uint64_t peak_floor;         /* the true peak is not below this */
	struct counters counters;
	bool took_snapshots;         /* in the present chunk */
	bool failed;                 /* there was no memory */
	struct chronicle *chronicle; /* may be NULL, and the digest, too */
	const struct digest *digest;
	const struct depths *depths; /* NULL: stacks don't count */
	uint64_t n_normal;           /* stored so far; only counted for the chronicle */

	/* The present chunk; NULL before the first. */
	const struct mst_reader *reader;
	const struct mst_chunk *chunk;
	uint64_t mean;          /* of the sample, see estimate.h */
	uint32_t stamp;         /* the last one that has been reached */
	struct effect *effects; /* by symbol */
	uint32_t n_effects;
	const struct spell *spell; /* of the digest, at hand; NULL: its sums don't hold */
	uint32_t spell_start;
	bool by_record; /* the ledger's effects are what counts */
	bool prepared;  /* effects and contexts are those of the chunk that comes next */
	struct leap leap;
	struct ledger ledger;
};

static inline uint64_t massif_positive(uint64_t n)
{
	return (int64_t)n > 0 ? n : 0;
}

/* Makes the chunk the present one, if it isn't already. False: no memory. */
bool massif_begin_chunk(struct massif *m, const struct mst_reader *reader, const struct mst_chunk *chunk);

/* Brings the live blocks to what they are after the first `n` records of the chunk. */
void massif_apply_records(struct massif *m, uint32_t n);

/* Of the observer, see observer.h. */
bool massif_sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk);
int massif_sums(struct observer *observer, const struct mst_reader *reader, const struct mst_chunk *chunk);
bool massif_satisfied(const struct observer *observer);

#endif
