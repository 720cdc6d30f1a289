/* SPDX-License-Identifier: MIT */
/*
 * Massif's answer for one group of settings: an observer that keeps Massif's counters, takes the snapshots that Massif
 * would have taken, and returns them at the end.
 *
 * With the setting compat at its default, Massif's mistakes are corrected: a realloc from a counted to an ignored
 * function is a free, one from an ignored to a counted function an allocation (Massif leaves bytes behind in the total
 * or in the trees); a realloc that fails leaves its block as it was (Massif forgets the block); no number is cut to 32
 * bits; a stack of nothing but allocation functions counts for the outermost of them, and an empty stack counts in the
 * total (neither counts in Massif).
 */
#ifndef ANALYZE_MASSIF_H
#define ANALYZE_MASSIF_H

#include "observer.h"
#include "settings.h"

struct symbolizer; /* symbolize.h: names of the frames of a trace */
struct event_log;
struct stack_depth; /* stack_depth.h: how stacks grow and shrink */
struct block_sizes; /* block_sizes.h: what single blocks take */
struct massif;

enum snapshot_kind { SNAPSHOT_NORMAL, SNAPSHOT_PEAK };

/* A node of a snapshot's stack tree, in the order of massif.out: parent before children. */
struct tree_node {
	uint32_t frame;    /* frame id of the trace; TREE_ROOT, TREE_AGGREGATE */
	uint32_t children; /* number of direct children that follow */
	uint32_t places;   /* TREE_AGGREGATE: how many entries are added up in it */
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
	bool detailed;     /* has a tree, if the heap is counted */
	int64_t time;      /* in the settings' time unit */
	uint64_t heap;     /* useful bytes: those requested */
	uint64_t extra;    /* heap-admin and rounding */
	uint64_t stacks;   /* of all threads */
	struct live *live; /* what massif_tree() builds the tree from; NULL: none */
	uint32_t records;  /* how many of its chunk were done by then */
	uint64_t changes;  /* calls that had changed the counters by then; equal only in equal states */
};

/* Bytes by context at one point in time, in order of first use; later contexts are missing. */
struct live {
	uint32_t n;
	uint64_t bytes[];
};

/* The first two are observers that see each chunk before Massif's. */
struct massif_helpers {
	const struct block_sizes *sizes;  /* NULL unless block_sizes_needed() */
	const struct stack_depth *depths; /* NULL unless the settings count stacks */
	struct event_log *log;            /* may be NULL */
};

/* Everything passed must outlive the observer, but for `helpers` itself. NULL: no memory. */
struct massif *massif_create(const struct settings *settings, struct symbolizer *symbolizer,
			     const struct massif_helpers *helpers);
void massif_destroy(struct massif *massif); /* NULL is allowed */
struct observer *massif_observer(struct massif *massif);

/*
 * With the setting only_moments a replay may begin at a key frame. massif_can_enter(): whether the settings allow that.
 * massif_before(): whether the key frame is not after the first request. massif_enter(), before the first chunk: begins
 * there; false: no memory.
 */
bool massif_can_enter(const struct settings *settings, const struct mst_reader *reader);
bool massif_before(const struct settings *settings, const struct mst_keyframe *keyframe, unsigned time_shift);
bool massif_enter(struct massif *massif, const struct mst_reader *reader,
		  const struct mst_keyframe *keyframe);

/*
 * For observers that see each chunk after Massif: whether the answer to settings->ats[0], as far as the replay has gone,
 * is the state after the first *records records of the present chunk. Not for the end, nor for pages.
 */
bool massif_is_point_here(const struct massif *massif, uint32_t *records);

/*
 * The stored snapshots, in order; valid until massif_destroy(). With the setting exact_peak the peak among them is,
 * after the replay, the first state with the largest total, if that is above 0.
 */
const struct snapshot *massif_snapshots(const struct massif *massif, size_t *n);

/*
 * After the replay: the answer to settings->ats[i]. A single snapshot is a normal one and is put into *one. If the total
 * was never above 0, the peak is at the start.
 */
const struct snapshot *massif_at(const struct massif *massif, size_t i, struct snapshot *one, size_t *n);

/* After the replay: what the clock showed at the last call that was looked at. */
uint64_t massif_last_time(const struct massif *massif);

/*
 * The tree of a snapshot that has `live`. Built on demand: all trees together may be much larger than what they are
 * built from. For tree_destroy(); NULL: no memory. The reader must still exist.
 */
struct tree *massif_tree(struct massif *massif, const struct snapshot *snapshot);
void tree_destroy(struct tree *tree); /* NULL is allowed */

#endif
