/* SPDX-License-Identifier: MIT */
#include "cut_state.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* ---- life ---- */

void prelude_begin(struct prelude *prelude, const struct scribe *scribe)
{
	*prelude = (struct prelude){ .scribe = scribe };
}

void prelude_finish(struct prelude *prelude)
{
	liveset_finish(&prelude->live);
	pagebase_destroy(prelude->pages);
	free(prelude->depths);
	free(prelude->used);
	free(prelude->first);
}

/* ---- marks ---- */

static bool note_depth(struct prelude *prelude, uint32_t thread, uint64_t depth)
{
	if (thread >= prelude->n_depths) {
		const uint32_t n = thread + thread / 2 + 16;
		uint64_t *depths = reallocarray(prelude->depths, n, sizeof(*depths));

		if (!depths)
			return false;
		memset(depths + prelude->n_depths, 0, (n - prelude->n_depths) * sizeof(*depths));
		prelude->depths = depths;
		prelude->n_depths = n;
	}
	prelude->depths[thread] = depth;
	return true;
}

/* Bytes that are mapped; more can be unmapped than was seen being mapped. */
static void note_mapping(struct prelude *prelude, const struct mst_kind *kind)
{
	uint64_t plus = 0, minus = 0;

	if (kind->op == MST_OP_MREMAP_OLD)
		prelude->remapped = kind->size;
	if (kind->flags & MST_KIND_FAILED)
		return;
	switch (kind->op) {
	case MST_OP_MMAP_READ:
	case MST_OP_MMAP_WRITE:
	case MST_OP_MMAP_ANON:
		plus = kind->size;
		break;
	case MST_OP_MREMAP_MOVED:
	case MST_OP_MREMAP_IN_PLACE:
		plus = kind->size;
		minus = prelude->remapped;
		break;
	case MST_OP_MUNMAP:
		minus = kind->size;
		break;
	}
	prelude->mapped = prelude->mapped + plus > minus ? prelude->mapped + plus - minus : 0;
}

static bool note_mark(struct prelude *prelude, const struct mst_event *e, bool in_base)
{
	const struct mst_kind *kind = &prelude->scribe->kinds[e->kind];
	uint32_t n;

	if (kind->op == MST_OP_STACK && mst_reader_threads(prelude->scribe->reader, &n)[e->thread].tid == 0)
		prelude->nobodys_depth = kind->size;
	else if (kind->op == MST_OP_STACK)
		return note_depth(prelude, e->thread, kind->size);
	if (kind->op == MST_OP_LOST)
		prelude->lost += kind->size;
	prelude->exited |= kind->op == MST_OP_EXIT;
	if (mst_op_is_page(kind->op) && prelude->pages)
		pagebase_note(prelude->pages, kind, e->address, in_base);
	note_mapping(prelude, kind);
	return true;
}

/* ---- blocks ---- */

static bool reserve_used(struct prelude *prelude, uint32_t stack)
{
	const uint32_t n = stack + stack / 2 + 64;
	uint8_t *used;

	if (stack < prelude->n_used)
		return true;
	used = realloc(prelude->used, n);
	if (!used)
		return false;
	memset(used + prelude->n_used, 0, n - prelude->n_used);
	prelude->used = used;
	prelude->n_used = n;
	return true;
}

/* A block of a kind comes, maybe the first one of its stack. */
static bool note_use(struct prelude *prelude, uint32_t kind)
{
	const uint32_t stack = prelude->scribe->kinds[kind].stack;

	if (!reserve_used(prelude, stack))
		return false;
	if (prelude->used[stack])
		return true;
	if (!array_reserve(&prelude->first, prelude->n_first, &prelude->cap_first, sizeof(*prelude->first)))
		return false;
	prelude->used[stack] = 1;
	prelude->first[prelude->n_first++] = kind;
	return true;
}

/* Of the chunk's symbols, in the order of first use. */
static bool note_uses(struct prelude *prelude, const struct mst_chunk *chunk)
{
	bool fine = true;

	for (uint32_t i = 0; fine && i < chunk->n_symbols; i++) {
		if (chunk->symbols[i].role == MST_ALLOC)
			fine = note_use(prelude, chunk->symbols[i].kind);
	}
	return fine;
}

bool prelude_note_base(struct prelude *prelude, const struct mst_chunk *chunk)
{
	return !chunk->base || note_uses(prelude, chunk);
}

bool prelude_note(struct prelude *prelude, const struct mst_event *e, bool in_base)
{
	const struct liveblock block = {
		.index = prelude->scribe->has_identity ? e->index : SCRIBE_NO_BLOCK,
		.time = e->time,
		.kind = e->kind,
		.thread = e->thread,
	};
	bool fine = true;

	prelude->instructions = e->instructions;
	if ((e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) && e->old_kind != MST_UNKNOWN_KIND)
		fine = liveset_take(&prelude->live, e->old_kind, e->old_index);
	if (fine && (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE))
		fine = note_use(prelude, e->kind) && liveset_put(&prelude->live, &block);
	if (fine && e->type == MST_EVENT_CALL && e->old_kind == MST_NONE)
		fine = note_mark(prelude, e, in_base);
	return fine;
}

/* ---- whole chunks ---- */

static bool has_marks(const struct prelude *prelude, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_symbols; i++) {
		const struct mst_symbol *s = &chunk->symbols[i];

		if (s->role == MST_CALL && prelude->scribe->kinds[s->kind].op > MST_OP_IMPLIED_FREE)
			return true;
	}
	return false;
}

static bool note_marks(struct prelude *prelude, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	bool fine = true;

	while (fine && mst_cursor_next(&cursor, &e)) {
		if (e.type == MST_EVENT_CALL && e.old_kind == MST_NONE)
			fine = note_mark(prelude, &e, false);
	}
	return fine;
}

bool prelude_note_chunk(struct prelude *prelude, const struct mst_chunk *chunk)
{
	prelude->null_frees += chunk->sums.null_frees;
	if (chunk->instructions && chunk->n_records)
		prelude->instructions = chunk->instructions[chunk->n_records - 1];
	return note_uses(prelude, chunk) &&
	       liveset_follow(&prelude->live, chunk, prelude->scribe->has_identity) &&
	       (!has_marks(prelude, chunk) || note_marks(prelude, chunk));
}

/* ---- the base ---- */

static int write_first(const struct prelude *prelude, struct scribe *scribe)
{
	int err = 0;

	for (uint32_t i = 0; i < prelude->n_first && !err; i++) {
		uint32_t kind;

		err = scribe_kind(scribe, prelude->first[i], &kind);
		if (!err)
			err = mst_writer_past(scribe->writer, kind);
	}
	return err;
}

static int write_live(struct scribe *scribe, const struct liveblock *block, uint64_t begin_ns)
{
	uint64_t rank;
	uint32_t kind;
	int err = scribe_kind(scribe, block->kind, &kind);

	if (!err)
		err = block->index == SCRIBE_NO_BLOCK ? scribe_at_by_nobody(scribe, begin_ns)
						      : scribe_at(scribe, block->time, block->thread);
	if (!err)
		err = mst_writer_alloc(scribe->writer, kind, &rank);
	return err ? err : scribe_keep_rank(scribe, block->index, rank);
}

static int write_blocks(struct prelude *prelude, struct scribe *scribe, uint64_t begin_ns)
{
	size_t n;
	struct liveblock *blocks = liveset_list(&prelude->live, &n);
	int err = blocks ? 0 : MST_ERR_NOMEM;

	for (size_t i = 0; !err && i < n; i++)
		err = write_live(scribe, &blocks[i], begin_ns);
	free(blocks);
	return err;
}

static int write_depths(const struct prelude *prelude, struct scribe *scribe, uint64_t begin_ns)
{
	const uint64_t begin = begin_ns >> mst_reader_time_shift(scribe->reader);
	int err = 0;

	for (uint32_t i = 0; i < prelude->n_depths && !err; i++) {
		if (prelude->depths[i] && !(err = scribe_at(scribe, begin, i)))
			err = mst_writer_mark(scribe->writer, MST_OP_STACK, 0, prelude->depths[i]);
	}
	if (!err && prelude->nobodys_depth && !(err = scribe_at_by_nobody(scribe, begin_ns)))
		err = mst_writer_mark(scribe->writer, MST_OP_STACK, 0, prelude->nobodys_depth);
	return err;
}

int prelude_write(struct prelude *prelude, struct scribe *scribe, uint64_t begin_ns)
{
	int err;

	mst_writer_instructions(scribe->writer, prelude->instructions);
	err = write_first(prelude, scribe);
	if (!err)
		err = write_blocks(prelude, scribe, begin_ns);
	if (!err && !scribe_drops(scribe, SCRIBE_STACKS))
		err = write_depths(prelude, scribe, begin_ns);
	if (!err && prelude->mapped && !scribe_drops(scribe, SCRIBE_MAPPINGS) &&
	    !(err = scribe_at_by_nobody(scribe, begin_ns)))
		err = mst_writer_mark(scribe->writer, MST_OP_MMAP_ANON, 0, prelude->mapped);
	if (!err && prelude->exited && !(err = scribe_at_by_nobody(scribe, begin_ns)))
		err = mst_writer_mark(scribe->writer, MST_OP_EXIT, 0, 0);
	if (!err && prelude->pages && !(err = scribe_at_by_nobody(scribe, begin_ns)))
		err = pagebase_write(prelude->pages, scribe->transfer, scribe->writer, NULL);
	return err ? err : mst_writer_end_base(scribe->writer);
}
