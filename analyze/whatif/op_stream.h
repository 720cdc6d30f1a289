/* SPDX-License-Identifier: MIT */
/*
 * An observer that turns a trace into the operations of players. A block's identity becomes a slot that is free again when
 * the block goes, so slots are as many as blocks live at one time.
 *
 * Left out are custom blocks, which lie in memory that the program's own allocator got, calls that gave nothing, and
 * frees of blocks that the trace doesn't know.
 */
#ifndef ANALYZE_OP_STREAM_H
#define ANALYZE_OP_STREAM_H

#include "block_numbers.h"
#include "outline.h"
#include "player_area.h"
#include "thread_ends.h"

enum { OP_SAMPLES = 200 }; /* evenly over the records; beside them, that of the peak and the last one */

/* What is live where a sample is taken. */
struct op_moment {
	uint64_t record, ns, bytes, blocks;
};

/* Where operations go. 0, or a negative enum mst_error, which ends the replay. */
struct op_sink {
	int (*put)(struct op_sink *sink, const struct player_op *op);
};

struct op_stream {
	struct observer observer;
	const struct outline *outline;
	struct op_sink *sink;
	struct block_numbers numbers;
	struct op_moment moments[OP_SAMPLES + 2];
	uint32_t n_moments;
	uint32_t peak; /* the moment of the peak */
	struct op_moment now;
	uint64_t next; /* record of the next sample */
	bool stops;    /* at record `before` or behind the time `until_ns`, in place of the end */
	uint64_t before, until_ns;
	bool stopped;
	double pace;         /* the clock that players see goes so many times slower than the trace's: 1 */
	uint32_t stop_every; /* a PLAY_STOP behind each so many samples; 0: none */
	uint32_t thread;     /* whose calls the players make */
	struct thread_ends ends;
	uint32_t n_ended; /* of the ends that the trace has */
	uint32_t *owners; /* [slots] kind of each live block; NULL: they aren't wanted */
};

/* All must outlive it; without vectors threads end only where the trace says so. With `owners`, the stream knows the kind of each slot's block. False: no memory. */
bool op_stream_init(struct op_stream *stream, const struct outline *outline,
		    const struct thread_vectors *vectors, struct op_sink *sink, bool owners);
void op_stream_finish(struct op_stream *stream);

#endif
