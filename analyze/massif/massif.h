/* SPDX-License-Identifier: MIT */
/*
 * Massif's answer for one group of settings: an observer that keeps Massif's counters, takes the
 * snapshots that Massif would have taken, and hands them out at the end.
 *
 * With the setting compat at its default, what Massif gets wrong is right: a realloc from a counted
 * to an ignored function is a free, one from an ignored to a counted function an allocation (Massif
 * leaves bytes behind in the total or in the trees); a realloc that fails leaves its block as it was
 * (Massif forgets it); no number is cut to 32 bits; a stack of nothing but allocation functions
 * counts for the outermost of them, and one that is empty counts in the total (nowhere in Massif).
 */
#ifndef ANALYZE_MASSIF_H
#define ANALYZE_MASSIF_H

#include "observer.h"
#include "settings.h"

struct symbolizer; /* naming.h: names of the frames of a trace */
struct event_log;
struct depths;      /* depths.h: how stacks grow and shrink */
struct block_sizes; /* usable.h: what single blocks take */
struct massif;

enum snapshot_kind { SNAPSHOT_NORMAL, SNAPSHOT_PEAK };

/* A node of a snapshot's stack tree, in the order massif.out prints them: parent before children. */
struct tree_node {
	uint32_t frame;    /* frame id of the trace; TREE_ROOT, TREE_AGGREGATE */
	uint32_t children; /* number of direct children that follow */
	uint32_t places;   /* TREE_AGGREGATE: how many entries it stands for */
	uint64_t bytes;
};
#define TREE_ROOT (UINT32_MAX - 1)
#define TREE_AGGREGATE (UINT32_MAX - 2)

struct tree {
	size_t n;
	struct tree_node *nodes;
};

struct snapshot {
	enum snapshot_kind kind;
	bool detailed;     /* it has a tree, if the heap is counted */
	int64_t time;      /* in the settings' time unit */
	uint64_t heap;     /* useful bytes: those requested */
	uint64_t extra;    /* heap-admin and rounding */
	uint64_t stacks;   /* of all threads */
	struct live *live; /* what massif_tree() builds the tree of; NULL: there is none */
	uint32_t records;  /* of the chunk in which it was taken, how many were done by then */
	uint64_t changes;  /* how many calls had changed the counters by then, if the true peak is wanted */
};

/* Bytes by context at one moment, in the order in which contexts came up; later ones lack. */
struct live {
	uint32_t n;
	uint64_t bytes[];
};

/* What it works with; the first two are observers that see each chunk before it. */
struct massif_helpers {
	const struct block_sizes *sizes; /* NULL unless block_sizes_needed() */
	const struct depths
		*depths;       /* NULL unless the settings count stacks; sees each chunk before it, too */
	struct event_log *log; /* may be NULL */
};

/* All arguments but the last must outlive the observer, and what that names. NULL: no memory. */
struct massif *massif_create(const struct settings *settings, struct symbolizer *symbolizer,
			     const struct massif_helpers *helpers);
void massif_destroy(struct massif *massif); /* NULL is allowed */
struct observer *massif_observer(struct massif *massif);

/*
 * With the setting only_moments: whether the replay may begin at a key frame, if that is one for which
 * massif_before() is true: not after the first moment that is asked for. Then massif_enter() tells where it
 * begins, before the first chunk. False: no memory.
 */
bool massif_can_enter(const struct settings *settings, const struct mst_reader *reader);
bool massif_before(const struct settings *settings, const struct mst_keyframe *keyframe, unsigned time_shift);
bool massif_enter(struct massif *massif, const struct mst_reader *reader,
		  const struct mst_keyframe *keyframe);

/*
 * The stored snapshots, in order; valid until massif_destroy(). With the setting exact_peak, the
 * peak among them, after the replay, is the first moment with the largest total there was, if any
 * is above 0.
 */
const struct snapshot *massif_snapshots(const struct massif *massif, size_t *n);

/*
 * After the replay: what settings->ats[i] asks for. A single snapshot is an ordinary one and is put
 * into *one. If the total was never above 0, its peak is at the start.
 */
const struct snapshot *massif_at(const struct massif *massif, size_t i, struct snapshot *one, size_t *n);

/*
 * The tree of one of these, which has one: made when asked for, since all of them together may be
 * much larger than what they are made of. For tree_destroy(); NULL: no memory. The reader must
 * still be there.
 */
struct tree *massif_tree(struct massif *massif, const struct snapshot *snapshot);
void tree_destroy(struct tree *tree); /* NULL is allowed */

#endif
