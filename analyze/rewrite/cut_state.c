/* SPDX-License-Identifier: MIT */
#include "cut_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "check.h"

/* ---- life ---- */

void cut_state_begin(struct cut_state *cut_state, const struct remapper *remapper)
{
	*cut_state = (struct cut_state){ .remapper = remapper };
}

void cut_state_finish(struct cut_state *cut_state)
{
	live_set_finish(&cut_state->live);
	page_state_destroy(cut_state->pages);
	free(cut_state->depths);
	free(cut_state->used);
	free(cut_state->first);
}

/* ---- markers ---- */

static bool note_depth(struct cut_state *cut_state, uint32_t thread, uint64_t depth)
{
	if (thread >= cut_state->n_depths) {
		const uint32_t n = thread + thread / 2 + 16;
		uint64_t *depths = reallocarray(cut_state->depths, n, sizeof(*depths));

		if (!depths)
			return false;
		memset(depths + cut_state->n_depths, 0, (n - cut_state->n_depths) * sizeof(*depths));
		cut_state->depths = depths;
		cut_state->n_depths = n;
	}
	assert(thread < cut_state->n_depths);
	cut_state->depths[thread] = depth;
	return true;
}

/* Updates the mapped bytes, which stay at 0 where munmap exceeds the recorded mappings. */
static void note_mapping(struct cut_state *cut_state, const struct mst_kind *kind)
{
	uint64_t plus = 0, minus = 0;

	if (kind->op == MST_OP_MREMAP_OLD)
		cut_state->remapped = kind->size;
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
		minus = cut_state->remapped;
		break;
	case MST_OP_MUNMAP:
		minus = kind->size;
		break;
	}
	cut_state->mapped = cut_state->mapped + plus > minus ? cut_state->mapped + plus - minus : 0;
}

static bool note_marker(struct cut_state *cut_state, const struct mst_event *e, bool initial)
{
	const struct mst_kind *kind = &cut_state->remapper->kinds[e->kind];
	uint32_t n;

	if (kind->op == MST_OP_STACK &&
	    mst_reader_threads(cut_state->remapper->reader, &n)[e->thread].tid == 0)
		cut_state->unknown_depth = kind->size;
	else if (kind->op == MST_OP_STACK)
		return note_depth(cut_state, e->thread, kind->size);
	if (kind->op == MST_OP_LOST)
		cut_state->lost += kind->size;
	cut_state->exited |= kind->op == MST_OP_EXIT;
	if (kind->op == MST_OP_OFF || kind->op == MST_OP_ON)
		cut_state->off = kind->op == MST_OP_OFF;
	cut_state->was_off |= cut_state->off;
	cut_state->switched_off |= kind->op == MST_OP_OFF && kind->size != MST_OFF_LATE;
	if (mst_op_is_page(kind->op) && cut_state->pages)
		page_state_note(cut_state->pages, kind, e->address, initial);
	note_mapping(cut_state, kind);
	return true;
}

/* ---- blocks ---- */

static bool reserve_used(struct cut_state *cut_state, uint32_t stack)
{
	const uint32_t n = stack + stack / 2 + 64;
	uint8_t *used;

	if (stack < cut_state->n_used)
		return true;
	used = realloc(cut_state->used, n);
	if (!used)
		return false;
	memset(used + cut_state->n_used, 0, n - cut_state->n_used);
	cut_state->used = used;
	cut_state->n_used = n;
	return true;
}

#define USED 1u        /* by the allocator's own blocks, before any custom one */
#define USED_CUSTOM 2u /* by custom blocks, which --pages-as-heap counts as well */

/* Notes the kind as the first of its stack, or as the first custom one, unless the stack has one. */
static bool note_use(struct cut_state *cut_state, uint32_t kind)
{
	const uint32_t stack = cut_state->remapper->kinds[kind].stack;
	const bool custom = mst_op_is_custom(cut_state->remapper->kinds[kind].op);

	if (!reserve_used(cut_state, stack))
		return false;
	assert(stack < cut_state->n_used && cut_state->n_first <= 2 * (uint64_t)cut_state->n_used);
	if (custom ? cut_state->used[stack] & USED_CUSTOM : cut_state->used[stack])
		return true;
	if (!array_reserve(&cut_state->first, cut_state->n_first, &cut_state->cap_first,
			   sizeof(*cut_state->first)))
		return false;
	cut_state->used[stack] |= custom ? USED_CUSTOM : USED;
	cut_state->first[cut_state->n_first++] = kind;
	return true;
}

/* Notes the stacks of all allocations; a chunk's tokens are in the order of first use. */
static bool note_uses(struct cut_state *cut_state, const struct mst_chunk *chunk)
{
	bool fine = true;

	for (uint32_t i = 0; fine && i < chunk->n_tokens; i++) {
		if (chunk->tokens[i].role == MST_ALLOC)
			fine = note_use(cut_state, chunk->tokens[i].kind);
	}
	return fine;
}

bool cut_state_note_initial(struct cut_state *cut_state, const struct mst_chunk *chunk)
{
	return !chunk->initial || note_uses(cut_state, chunk);
}

bool cut_state_note(struct cut_state *cut_state, const struct mst_event *e, bool initial)
{
	const struct liveblock block = {
		.index = cut_state->remapper->has_identity ? e->index : REMAPPER_NO_BLOCK,
		.time = e->time,
		.kind = e->kind,
		.thread = e->thread,
	};
	bool fine = true;

	cut_state->instructions = e->instructions;
	if ((e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) && e->old_kind != MST_UNKNOWN_KIND)
		fine = live_set_take(&cut_state->live, e->old_kind, e->old_index);
	if (fine && (e->type == MST_EVENT_ALLOC || e->type == MST_EVENT_RESIZE))
		fine = note_use(cut_state, e->kind) && live_set_put(&cut_state->live, &block);
	if (fine && e->type == MST_EVENT_CALL && e->old_kind == MST_NONE)
		fine = note_marker(cut_state, e, initial);
	return fine;
}

/* ---- whole chunks ---- */

static bool has_markers(const struct cut_state *cut_state, const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		const struct mst_token *s = &chunk->tokens[i];

		if (s->role == MST_CALL && cut_state->remapper->kinds[s->kind].op > MST_OP_IMPLIED_FREE)
			return true;
	}
	return false;
}

static bool note_markers(struct cut_state *cut_state, const struct mst_chunk *chunk)
{
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	bool fine = true;

	while (fine && mst_cursor_next(&cursor, &e)) {
		if (e.type == MST_EVENT_CALL && e.old_kind == MST_NONE)
			fine = note_marker(cut_state, &e, false);
	}
	return fine;
}

bool cut_state_note_chunk(struct cut_state *cut_state, const struct mst_chunk *chunk)
{
	assert(!chunk->initial && chunk->sp_changes_size == 0);
	cut_state->null_frees += chunk->sums.null_frees;
	if (chunk->instructions && chunk->n_records)
		cut_state->instructions = chunk->instructions[chunk->n_records - 1];
	return note_uses(cut_state, chunk) &&
	       live_set_follow(&cut_state->live, chunk, cut_state->remapper->has_identity) &&
	       (!has_markers(cut_state, chunk) || note_markers(cut_state, chunk));
}

/* ---- the initial state ---- */

/* Each use of a stack has one first kind. */
static __attribute__((unused)) bool is_sound(const struct cut_state *cut_state)
{
	uint32_t used = 0;
	bool marked = true;

	for (uint32_t i = 0; i < cut_state->n_used; i++)
		used += (uint32_t)__builtin_popcount(cut_state->used[i]);
	for (uint32_t i = 0; i < cut_state->n_first; i++)
		marked &= cut_state->used[cut_state->remapper->kinds[cut_state->first[i]].stack] != 0;
	return marked && used == cut_state->n_first;
}

static int write_first(const struct cut_state *cut_state, struct remapper *remapper)
{
	int err = 0;

	for (uint32_t i = 0; i < cut_state->n_first && !err; i++) {
		uint32_t kind;

		if (cut_state->filter && !block_filter_kind(cut_state->filter, cut_state->first[i]))
			continue;
		err = remapper_kind(remapper, cut_state->first[i], &kind);
		if (!err)
			err = mst_writer_past(remapper->writer, kind);
	}
	return err;
}

static int write_live(struct remapper *remapper, const struct liveblock *block, uint64_t begin_ns)
{
	uint64_t ordinal;
	uint32_t kind;
	int err = remapper_kind(remapper, block->kind, &kind);

	if (!err)
		err = block->index == REMAPPER_NO_BLOCK ? remapper_at_unknown(remapper, begin_ns)
							: remapper_at(remapper, block->time, block->thread);
	if (!err)
		err = mst_writer_alloc(remapper->writer, kind, &ordinal);
	return err ? err : remapper_keep_ordinal(remapper, block->index, ordinal);
}

static int write_blocks(struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns)
{
	size_t n;
	struct liveblock *blocks = live_set_list(&cut_state->live, &n);
	int err = blocks ? 0 : MST_ERR_NOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		const struct liveblock *block = &blocks[i];

		if (!cut_state->filter || block_filter_block(cut_state->filter, block->kind, block->thread,
							     block->time, block->index))
			err = write_live(remapper, block, begin_ns);
	}
	free(blocks);
	return err;
}

static int write_depths(const struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns)
{
	const uint64_t begin = begin_ns >> mst_reader_time_shift(remapper->reader);
	int err = 0;

	for (uint32_t i = 0; i < cut_state->n_depths && !err; i++) {
		if (cut_state->depths[i] && !(err = remapper_at(remapper, begin, i)))
			err = mst_writer_marker(remapper->writer, MST_OP_STACK, 0, cut_state->depths[i]);
	}
	if (!err && cut_state->unknown_depth && !(err = remapper_at_unknown(remapper, begin_ns)))
		err = mst_writer_marker(remapper->writer, MST_OP_STACK, 0, cut_state->unknown_depth);
	return err;
}

/* Frees of blocks that came while recording was off stay known as such. */
static int write_phase(const struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns)
{
	int err;

	if (!cut_state->was_off)
		return 0;
	err = remapper_at_unknown(remapper, begin_ns);
	if (!err)
		err = mst_writer_marker(remapper->writer, MST_OP_OFF, 0,
					cut_state->switched_off ? 0 : MST_OFF_LATE);
	if (!err && !cut_state->off)
		err = mst_writer_marker(remapper->writer, MST_OP_ON, 0, 0);
	return err;
}

int cut_state_write(struct cut_state *cut_state, struct remapper *remapper, uint64_t begin_ns)
{
	int err;

	assert(!check_wanted() || is_sound(cut_state));
	mst_writer_instructions(remapper->writer, cut_state->instructions);
	err = write_first(cut_state, remapper);
	if (!err)
		err = write_blocks(cut_state, remapper, begin_ns);
	if (!err && !remapper_drops(remapper, REMAPPER_STACKS))
		err = write_depths(cut_state, remapper, begin_ns);
	if (!err && cut_state->mapped && !remapper_drops(remapper, REMAPPER_MAPPINGS) &&
	    !(err = remapper_at_unknown(remapper, begin_ns)))
		err = mst_writer_marker(remapper->writer, MST_OP_MMAP_ANON, 0, cut_state->mapped);
	if (!err && cut_state->exited && !(err = remapper_at_unknown(remapper, begin_ns)))
		err = mst_writer_marker(remapper->writer, MST_OP_EXIT, 0, 0);
	if (!err)
		err = write_phase(cut_state, remapper, begin_ns);
	if (!err && cut_state->pages && !(err = remapper_at_unknown(remapper, begin_ns)))
		err = page_state_write(cut_state->pages, remapper->remap, remapper->writer, NULL);
	return err ? err : mst_writer_end_initial_state(remapper->writer);
}
