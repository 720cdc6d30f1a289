/* SPDX-License-Identifier: MIT */
/*
 * Prints the figures of a trace, for tests: one key=value a line on stdout.
 *
 *   malloc ... reallocarray   calls by operation that returned (or resized, or by realloc freed) a block
 *   failed                    calls that returned NULL for a size above 0
 *   failed_resize             those of them with an old block, which they left alone
 *   free  null_free           frees of blocks by a free function; of NULL
 *   implied_free start exit fork lost_marks   markers, by type
 *   peak  live  blocks        requested bytes at the highest point and at the end, blocks at the end
 *   initial initial_blocks    the same when the trace begins
 *   aligned_new               operator new calls with an alignment
 *   threads stacks depth      defined in the trace; depth is that of the deepest stack used
 *   sample                    mean distance of sample points in bytes; 0: all blocks are in the trace
 *   complete                  1 if the trace has its proper end; else 0, and the next keys are missing
 *   reason detail events lost unknown implied   of the end
 *
 * Exit status 0 (also for a cut trace), 1 if it cannot be read at all, 3 if it is damaged.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mstrace.h"

/* Keys for operations whose own name is the key of another figure. */
static const char *op_key(unsigned op)
{
	switch (op) {
	case MST_OP_UNKNOWN:
		return "unknown_op";
	case MST_OP_FREE:
		return "free_stack";
	case MST_OP_LOST:
		return "lost_marks";
	default:
		return mst_op_name(op);
	}
}

static const char *const reason_name[] = {
	[MST_END_EXIT] = "exit",         [MST_END_SIGNAL] = "signal",   [MST_END_EXEC] = "exec",
	[MST_END_DETACHED] = "detached", [MST_END_UNKNOWN] = "unknown",
};

struct stat_counts {
	uint64_t op[MST_OP_COUNT];
	uint64_t failed, failed_resize, frees, null_frees, aligned_new;
	uint64_t live, peak, blocks;
	uint64_t initial, initial_blocks;
};

static void count_call(struct stat_counts *s, const struct mst_kind *kinds, const struct mst_event *e)
{
	const struct mst_kind *kind = e->kind == MST_NONE ? NULL : &kinds[e->kind];

	if (e->type == MST_EVENT_CALL && kind->op < MST_OP_IMPLIED_FREE) {
		s->failed++;
		s->failed_resize += e->old_kind != MST_NONE;
	}
	if (kind)
		s->op[kind->op]++;
	if (!kind || mst_op_is_free(kind->op))
		s->frees++;
	if (kind && kind->align_log2 && (kind->op == MST_OP_NEW || kind->op == MST_OP_NEW_ARRAY))
		s->aligned_new++;
}

static void count_blocks(struct stat_counts *s, const struct mst_kind *kinds, const struct mst_event *e)
{
	if (e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) {
		s->live -= kinds[e->old_kind].size;
		s->blocks -= e->old_kind != MST_UNKNOWN_KIND;
	}
	if (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE) {
		s->live += kinds[e->kind].size;
		s->blocks++;
	}
	if (s->live > s->peak)
		s->peak = s->live;
}

static void count_chunk(struct stat_counts *s, struct mst_reader *reader, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);

	while (mst_cursor_next(&cursor, &event)) {
		if (!chunk->initial)
			count_call(s, kinds, &event);
		count_blocks(s, kinds, &event);
	}
	if (chunk->initial) {
		s->initial = s->live;
		s->initial_blocks = s->blocks;
	}
	s->null_frees += chunk->sums.null_frees;
}

/* Frames of the deepest stack that a call was made with. A parent always comes before its children. */
static uint32_t deepest(struct mst_reader *reader)
{
	uint32_t n, n_kinds, max = 0;
	const struct mst_frame *frames = mst_reader_frames(reader, &n);
	const struct mst_stack *stacks = mst_reader_stacks(reader, &n);
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n_kinds);
	uint32_t *depth = calloc((size_t)n + 1, sizeof(*depth));

	for (uint32_t i = 1; depth && i < n; i++)
		depth[i] = depth[stacks[i].parent] + !mst_frame_cut(&frames[stacks[i].frame]);
	for (uint32_t i = 0; depth && i < n_kinds; i++) {
		if (depth[kinds[i].stack] > max)
			max = depth[kinds[i].stack];
	}
	free(depth);
	return max;
}

static void put(const char *key, uint64_t value)
{
	printf("%s=%" PRIu64 "\n", key, value);
}

static void print_counts(const struct stat_counts *s, struct mst_reader *reader)
{
	uint32_t n;

	for (int i = 0; i < MST_OP_COUNT; i++) {
		if (i == MST_OP_UNKNOWN || mst_op_name(i) != mst_op_name(MST_OP_UNKNOWN))
			put(op_key(i), s->op[i]);
	}
	put("failed", s->failed);
	put("failed_resize", s->failed_resize);
	put("free", s->frees);
	put("null_free", s->null_frees);
	put("aligned_new", s->aligned_new);
	put("peak", s->peak);
	put("live", s->live);
	put("blocks", s->blocks);
	put("initial", s->initial);
	put("initial_blocks", s->initial_blocks);
	mst_reader_threads(reader, &n);
	put("threads", n);
	mst_reader_stacks(reader, &n);
	put("stacks", n);
	put("depth", deepest(reader));
	put("sample", mst_reader_info(reader)->sample_bytes);
}

static void print_end(const struct mst_end *end)
{
	put("complete", end != NULL);
	if (!end)
		return;
	printf("reason=%s\n", reason_name[end->reason]);
	put("detail", end->detail);
	put("events", end->events);
	put("lost", end->lost);
	put("unknown", end->unknown_frees);
	put("implied", end->implied_frees);
}

int main(int argc, char **argv)
{
	struct stat_counts counts = { 0 };
	struct mst_reader *reader = NULL;
	const struct mst_chunk *chunk;
	const int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int err;

	if (fd < 0) {
		fprintf(stderr, "tracestat: %s\n",
			argc == 2 ? "cannot open the trace" : "usage: tracestat TRACE");
		return 1;
	}
	err = mst_reader_create(&reader, fd);
	if (err) {
		fprintf(stderr, "tracestat: %s: %s\n", argv[1], mst_strerror(err));
		return 1;
	}
	while ((err = mst_reader_next(reader, &chunk)) == 1)
		count_chunk(&counts, reader, chunk);
	print_counts(&counts, reader);
	print_end(mst_reader_end(reader));
	if (err)
		fprintf(stderr, "tracestat: %s: %s: %s\n", argv[1], mst_strerror(err),
			mst_reader_problem(reader));
	mst_reader_destroy(reader);
	return err == 0 || err == MST_ERR_TRUNCATED ? 0 : 3;
}
