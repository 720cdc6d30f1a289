/* SPDX-License-Identifier: MIT */
/*
 * The writer's key frames: how many blocks of each kind are live after the chunks so far, and when the next key frame
 * is due. They are spaced so that they take few bytes a record, also of a trace with many kinds. Private.
 */
#ifndef MSTRACE_KEYFRAME_H
#define MSTRACE_KEYFRAME_H

#include "bytes.h"
#include "chunk.h"
#include "mstrace.h"

#define KEYFRAME_NEVER INT64_MIN

struct keyframes {
	uint32_t every;       /* at least so many records between two; not 0 */
	bool thrifty;         /* a key frame is due only when the credit pays for it */
	int64_t a_record;     /* thousandths of a byte that a record adds to the credit */
	int64_t *live;        /* [n], live blocks by kind; KEYFRAME_NEVER: none ever came */
	uint32_t n, capacity; /* n <= capacity */
	uint32_t n_known;     /* kinds of which blocks came; <= n */
	struct mst_sums sums; /* of all chunks so far */
	uint64_t since;       /* records since the last key frame */
	uint64_t last_bytes;  /* of the last key frame; 0: there was none */
	uint32_t last_known;  /* n_known then; <= n_known */
	int64_t credit;       /* thousandths of a byte */
};

/* `every` 0: a default, thrifty; more so if the trace is to be `small`. Else a key frame every so many records. */
void keyframes_init(struct keyframes *k, uint32_t every, bool small);
void keyframes_finish(struct keyframes *k);
int keyframes_copy(struct keyframes *to, const struct keyframes *from);

/* Adds a chunk that has been written. 0 or MST_ERR_NOMEM. */
int keyframes_add(struct keyframes *k, const struct chunk *chunk, const struct mst_kind *kinds,
		  const struct mst_sums *sums);

/* Whether a key frame is due behind the last chunk. */
bool keyframes_due(const struct keyframes *k);

/* Where in the trace a key frame stands. */
struct keyframe_place {
	uint64_t records, allocs; /* before it; allocs <= records */
	uint64_t time;            /* of the last stamp before it, in the file's units */
	uint64_t instructions;    /* of the last call before it */
	uint32_t kinds;           /* defined before it */
};

/* Appends the fields and columns of a key frame at that place. */
void keyframes_pack(const struct keyframes *k, const struct keyframe_place *place, struct bytes *fields,
		    struct bytes columns[2]);

/* Pays for a key frame that was written in so many bytes. */
void keyframes_paid(struct keyframes *k, size_t bytes);

#endif
