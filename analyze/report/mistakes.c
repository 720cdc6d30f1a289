/* SPDX-License-Identifier: MIT */
#include "mistakes.h"

#include <assert.h>
#include <stdlib.h>

#include "array.h"
#include "hash_index.h"

const char *const mistake_names[MISTAKE_TYPES] = {
	[MISTAKE_MISMATCH] = "mismatch",     [MISTAKE_DOUBLE] = "double free",
	[MISTAKE_UNKNOWN] = "unknown block", [MISTAKE_OVERFLOW] = "overflow",
	[MISTAKE_INVALID] = "bad alignment", [MISTAKE_FAILED] = "failed",
	[MISTAKE_ZERO] = "no bytes",
};

struct mistakes {
	struct observer observer;
	struct mistake *items;
	uint32_t n, room;
	struct hash_index index; /* by type, call and block */
	bool was_off;            /* recording was off at some time so far */
	uint64_t before;         /* frees of unknown blocks since */
	uint32_t again; /* the block of the last call, a marker that it was freed before; or MST_NONE */
};

/* ---- What calls are ---- */

static bool is_allocation(unsigned op)
{
	return op != MST_OP_UNKNOWN && op < MST_OP_FREE;
}

/* What a call is that gave no block. MISTAKE_TYPES: no mistake. */
static enum mistake_type type_of_failure(const struct mst_kind *call)
{
	if (!is_allocation(call->op) || call->op == MST_OP_REALLOC_FREE)
		return MISTAKE_TYPES;
	if (call->flags & MST_KIND_OVERFLOW)
		return MISTAKE_OVERFLOW;
	return call->flags & MST_KIND_INVALID ? MISTAKE_INVALID : MISTAKE_FAILED;
}

static bool may_be_mistake(const struct mst_kind *kind, enum mst_role role)
{
	switch (role) {
	case MST_ALLOC:
		return kind->size == 0 && kind->op != MST_OP_UNKNOWN;
	case MST_FREE:
	case MST_OUT:
		return kind->op == MST_OP_UNKNOWN;
	case MST_KEEP:
		return true;
	case MST_CALL:
		break;
	}
	return kind->op == MST_OP_OFF || mst_op_is_free(kind->op) || type_of_failure(kind) != MISTAKE_TYPES;
}

/* ---- Collecting ---- */

/* False: no memory. */
static bool count(struct mistakes *m, enum mistake_type type, uint32_t call, uint32_t block, uint64_t time_ns)
{
	const uint32_t hash = hash_words((uint64_t)call << 32 | block, type);
	uint32_t i, id;
	if (!hash_index_reserve(&m->index))
		return false;
	for (i = hash_index_first(&m->index, hash); hash_index_next(&m->index, hash, &i, &id);) {
		struct mistake *known = &m->items[id];
		if (known->type == type && known->call == call && known->block == block) {
			known->count++;
			return true;
		}
	}
	if (!array_reserve(&m->items, m->n, &m->room, sizeof(*m->items)))
		return false;
	m->items[m->n] = (struct mistake){ type, call, block, 1, time_ns };
	hash_index_add(&m->index, hash, m->n++);
	return true;
}

/* A free, or a realloc, of a block. */
static bool see_free(struct mistakes *m, const struct mst_kind *kinds, const struct mst_event *event,
		     uint64_t time_ns)
{
	const struct mst_kind *block = &kinds[event->old_kind];
	const uint32_t marked = m->again;
	m->again = MST_NONE;
	if (block->op == MST_OP_UNKNOWN) {
		if (m->was_off && marked == MST_NONE) {
			m->before++;
			return true;
		}
		const enum mistake_type type = marked == MST_NONE ? MISTAKE_UNKNOWN : MISTAKE_DOUBLE;
		return count(m, type, event->kind, marked, time_ns);
	}
	if (event->kind != MST_NONE && mst_op_is_free(kinds[event->kind].op) &&
	    !mst_kind_is_freed_by(block, &kinds[event->kind]))
		return count(m, MISTAKE_MISMATCH, event->kind, event->old_kind, time_ns);
	return true;
}

static bool see_event(struct mistakes *m, const struct mst_kind *kinds, const struct mst_event *event,
		      uint64_t time_ns)
{
	switch (event->type) {
	case MST_EVENT_ALLOC:
		return kinds[event->kind].size || count(m, MISTAKE_ZERO, event->kind, MST_NONE, time_ns);
	case MST_EVENT_FREE:
	case MST_EVENT_RESIZE:
		return see_free(m, kinds, event, time_ns);
	case MST_EVENT_CALL:
		break;
	}
	if (kinds[event->kind].op == MST_OP_FREED_BEFORE) {
		m->again = event->old_kind;
		return true;
	}
	m->was_off |= kinds[event->kind].op == MST_OP_OFF;
	const enum mistake_type type = type_of_failure(&kinds[event->kind]);
	return type == MISTAKE_TYPES || count(m, type, event->kind, event->old_kind, time_ns);
}

/* ---- The observer ---- */

static bool sums_suffice(struct observer *observer, const struct mst_reader *reader,
			 const struct mst_chunk *chunk)
{
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	(void)observer;
	for (uint32_t i = 0; i < chunk->n_tokens && !chunk->initial; i++) {
		if (may_be_mistake(&kinds[chunk->tokens[i].kind], (enum mst_role)chunk->tokens[i].role))
			return false;
	}
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct mistakes *m = (struct mistakes *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	uint32_t n;
	const struct mst_kind *kinds = mst_reader_kinds(reader, &n);
	for (uint32_t i = 0; i < chunk->n_tokens && chunk->initial; i++)
		m->was_off |= kinds[chunk->tokens[i].kind].op == MST_OP_OFF;
	if (sums_suffice(observer, reader, chunk)) {
		m->again = MST_NONE;
		return 0;
	}
	while (mst_cursor_next(&cursor, &event)) {
		if (!see_event(m, kinds, &event, event.time << shift))
			return MST_ERR_NOMEM;
	}
	return 0;
}

struct mistakes *mistakes_create(void)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .sums_suffice = sums_suffice };
	struct mistakes *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ALL_COLUMNS & ~MST_TIMES,
	};
	m->again = MST_NONE;
	if (hash_index_init(&m->index))
		return m;
	mistakes_destroy(m);
	return NULL;
}

void mistakes_destroy(struct mistakes *m)
{
	if (!m)
		return;
	hash_index_finish(&m->index);
	free(m->items);
	free(m);
}

struct observer *mistakes_observer(struct mistakes *m)
{
	return &m->observer;
}

const struct mistake *mistakes_list(const struct mistakes *m, uint32_t *n)
{
	*n = m->n;
	return m->items;
}

uint64_t mistakes_before(const struct mistakes *m)
{
	return m->before;
}
