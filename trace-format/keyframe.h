/* SPDX-License-Identifier: MIT */
/*
 * The writer's key frames: what is live after the chunks written so far, by kind, and when it is time to
 * say so in a unit of its own. They are spaced so that they take few bytes a record, however many kinds
 * there are. Private.
 */
#ifndef MSTRACE_KEYFRAME_H
#define MSTRACE_KEYFRAME_H

#include "bytes.h"
#include "chunk.h"
#include "mstrace.h"

#define KEYFRAME_NEVER INT64_MIN

struct keyframes {
	uint32_t every;       /* records between two at least */
	bool thrifty;         /* and as many more as pay for one ... */
	int64_t a_record;     /* ... at so many thousandths of a byte */
	int64_t *live;        /* blocks by kind; KEYFRAME_NEVER: there have never been any */
	uint32_t n, capacity; /* as far as there have been any */
	uint32_t n_known;     /* kinds of which there have been */
	struct mst_sums sums; /* of all chunks so far */
	uint64_t since;       /* records since the last one */
	uint64_t last_bytes;  /* of the last one; 0: there was none */
	uint32_t last_known;
	int64_t credit; /* what may be spent, in thousandths of a byte */
};

/*
 * `every` 0: the default, and thrifty, even more so if the trace is to be small. Else one each time, whatever it
 * takes.
 */
void keyframes_init(struct keyframes *k, uint32_t every, bool small);
void keyframes_finish(struct keyframes *k);
int keyframes_copy(struct keyframes *to, const struct keyframes *from);

/* Takes account of a chunk that has been written. 0 or MST_ERR_NOMEM. */
int keyframes_add(struct keyframes *k, const struct chunk *chunk, const struct mst_kind *kinds,
		  const struct mst_sums *sums);

/* Whether there should be one behind the last chunk. */
bool keyframes_due(const struct keyframes *k);

/* Where in the trace a key frame stands. */
struct keyframe_place {
	uint64_t records, allocs; /* before it */
	uint64_t time;            /* of the last stamp before it, in the file's units */
	uint64_t instructions;    /* of the last call before it */
	uint32_t kinds;           /* defined before it */
};

/* The fields and columns of a key frame at that place, appended. */
void keyframes_pack(const struct keyframes *k, const struct keyframe_place *place, struct bytes *fields,
		    struct bytes columns[2]);

/* A key frame has been written, in so many bytes. */
void keyframes_paid(struct keyframes *k, size_t bytes);

#endif
