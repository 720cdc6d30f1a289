/* SPDX-License-Identifier: MIT */
#include "lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_map.h"
#include "index_map.h"

/* A live block, as it was when it, or the first block of its chain of reallocs, was allocated. */
struct birth {
	uint64_t time_ns;
	uint64_t calls, bytes; /* allocated by then, itself included */
	uint64_t thread_calls; /* of `thread`, itself included */
	uint64_t first_size;   /* of its chain of reallocs */
	uint32_t kind, thread; /* of the block itself */
	uint32_t resizes;      /* length of the chain */
	bool live;
};

struct lives {
	struct observer observer;
	uint64_t allowed;
	bool optional, lacks_identity;

	struct life *items; /* [n] */
	uint32_t n, room;
	uint32_t *numbers; /* by stack: number + 1 of its item; 0: none */
	uint32_t room_numbers;
	struct histogram_pages pages;

	struct lives_thread *threads;
	uint32_t n_threads, room_threads;
	struct lives_pair *pairs;
	size_t n_pairs, room_pairs;
	struct index_map pair_of; /* allocating thread << 32 | freeing thread */
	uint64_t widths[LIVES_WIDTHS][LIVES_WIDTHS];

	struct block_map map; /* by block index: its index in `births` */
	struct birth *births;
	uint32_t n_births, room_births;
	uint32_t *unused; /* free entries of `births` */
	uint32_t n_unused;

	uint64_t calls, bytes;     /* allocated so far */
	uint64_t temporary, freed; /* of all stacks */
	uint32_t last_kind;        /* of the last allocation of all threads; MST_NONE after a free */
	uint64_t now_ns;

	/* Of the present chunk. */
	const struct mst_kind *kinds;
	bool initial;
};

/* ---- Tables ---- */

/* NULL: no memory. */
static struct life *life_of(struct lives *l, uint32_t kind)
{
	const uint32_t stack = l->kinds[kind].stack;
	assert(stack < l->room_numbers);
	if (l->numbers[stack] == 0) {
		if (!array_reserve(&l->items, l->n, &l->room, sizeof(*l->items)))
			return NULL;
		l->items[l->n] = (struct life){ 0 };
		l->numbers[stack] = ++l->n;
	}
	return &l->items[l->numbers[stack] - 1];
}

static bool reserve_births(struct lives *l)
{
	if (l->n_unused || l->n_births < l->room_births)
		return true;
	uint32_t room = l->room_births, room_unused = room;
	if (!array_reserve(&l->births, l->n_births, &room, sizeof(*l->births)) ||
	    !array_reserve(&l->unused, l->n_births, &room_unused, sizeof(*l->unused)))
		return false;
	l->room_births = room;
	return true;
}

static bool count_pair(struct lives *l, uint32_t allocated_by, uint32_t freed_by, uint64_t bytes)
{
	const uint64_t key = (uint64_t)allocated_by << 32 | freed_by;
	uint64_t number;
	if (!index_map_find(&l->pair_of, key, &number)) {
		number = l->n_pairs;
		if (!array_reserve(&l->pairs, l->n_pairs, &l->room_pairs, sizeof(*l->pairs)) ||
		    !index_map_put(&l->pair_of, key, number))
			return false;
		l->pairs[l->n_pairs++] =
			(struct lives_pair){ .allocated_by = allocated_by, .freed_by = freed_by };
	}
	l->pairs[number].blocks++;
	l->pairs[number].bytes += bytes;
	return true;
}

static unsigned width(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* ---- Blocks ---- */

/* Gives a block its entry. `from` is that of the block which a realloc replaced, or NULL. */
static bool add_birth(struct lives *l, const struct mst_event *event, const struct birth *from)
{
	struct birth birth = {
		.time_ns = l->now_ns,
		.calls = l->calls,
		.bytes = l->bytes,
		.thread_calls = l->threads[event->thread].calls,
		.first_size = l->kinds[event->kind].size,
	};
	if (from) {
		birth = *from;
		birth.resizes++;
	}
	birth.kind = event->kind;
	birth.thread = event->thread;
	birth.live = true;
	if (!reserve_births(l))
		return false;
	const uint32_t number = l->n_unused ? l->unused[--l->n_unused] : l->n_births++;
	assert(number < l->n_births && l->n_births <= l->room_births);
	l->births[number] = birth;
	return block_map_put(&l->map, event->index, number);
}

static bool add_block(struct lives *l, const struct mst_event *event, const struct birth *from)
{
	const uint64_t size = l->kinds[event->kind].size;
	struct lives_thread *thread = &l->threads[event->thread];
	struct life *life = life_of(l, event->kind);
	if (!life)
		return false;
	if (!l->initial) {
		life->blocks++;
		l->calls++;
		l->bytes += size;
		thread->calls++;
		thread->bytes += size;
		l->last_kind = event->kind;
	}
	thread->live_blocks++;
	thread->live_bytes += size;
	if (thread->live_bytes > thread->most_bytes)
		thread->most_bytes = thread->live_bytes;
	return add_birth(l, event, from);
}

/* Takes a block out; false: it is unknown. */
static bool take_block(struct lives *l, const struct mst_event *event, struct birth *birth)
{
	uint32_t number;
	if (l->kinds[event->old_kind].op == MST_OP_UNKNOWN ||
	    !block_map_take(&l->map, event->old_index, &number))
		return false;
	assert(number < l->n_births && l->n_unused < l->n_births && l->births[number].live);
	*birth = l->births[number];
	l->births[number].live = false;
	l->unused[l->n_unused++] = number;
	struct lives_thread *owner = &l->threads[birth->thread];
	owner->live_blocks--;
	owner->live_bytes -= l->kinds[birth->kind].size;
	return true;
}

/* A free's effect on the stack that allocated the block. */
static bool end_life(struct lives *l, const struct birth *birth)
{
	struct life *life = life_of(l, birth->kind);
	const uint64_t calls = l->calls - birth->calls;
	if (!life)
		return false;
	life->freed++;
	l->freed++;
	if (birth->resizes == 0 && l->threads[birth->thread].calls - birth->thread_calls <= l->allowed) {
		life->temporary++;
		l->temporary++;
	}
	if (l->last_kind != MST_NONE && l->kinds[l->last_kind].stack == l->kinds[birth->kind].stack &&
	    l->kinds[l->last_kind].size == l->kinds[birth->kind].size)
		life->temporary_by_heaptrack++;
	l->last_kind = MST_NONE;
	if (calls > life->most_calls)
		life->most_calls = calls;
	l->widths[width(l->kinds[birth->kind].size)][width(calls)]++;
	return histogram_add(&life->calls, &l->pages, calls) &&
	       histogram_add(&life->bytes, &l->pages, l->bytes - birth->bytes) &&
	       histogram_add(&life->time_ns, &l->pages, l->now_ns - birth->time_ns);
}

static bool free_block(struct lives *l, const struct mst_event *event)
{
	struct lives_thread *thread = &l->threads[event->thread];
	struct birth birth;
	if (!take_block(l, event, &birth))
		return true;
	thread->frees++;
	thread->foreign += birth.thread != event->thread;
	return count_pair(l, birth.thread, event->thread, l->kinds[birth.kind].size) && end_life(l, &birth);
}

static bool resize_block(struct lives *l, const struct mst_event *event)
{
	struct birth from;
	const bool known = take_block(l, event, &from);
	const struct mst_kind *kind = &l->kinds[event->kind];
	struct life *life = life_of(l, event->kind);
	if (!life)
		return false;
	if (known) {
		const uint64_t size = l->kinds[from.kind].size;
		life->resized++;
		if (kind->op != MST_OP_REALLOC_IN_PLACE && kind->op != MST_OP_RESIZEINPLACE) {
			life->moved++;
			life->copied += size < kind->size ? size : kind->size;
		}
		if (from.resizes + 1 > life->chain) {
			life->chain = from.resizes + 1;
			life->chain_from = from.first_size;
			life->chain_to = kind->size;
		}
	}
	return add_block(l, event, known ? &from : NULL);
}

/* ---- The observer ---- */

static bool frees_blocks(const struct mst_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->n_tokens; i++) {
		if (chunk->tokens[i].role == MST_FREE || chunk->tokens[i].role == MST_OUT)
			return true;
	}
	return false;
}

static bool reserve(struct lives *l, const struct mst_reader *reader)
{
	uint32_t n_stacks, n_threads;
	mst_reader_stacks(reader, &n_stacks);
	mst_reader_threads(reader, &n_threads);
	if (!array_reserve_zeroed(&l->numbers, n_stacks, &l->room_numbers, sizeof(*l->numbers)) ||
	    !array_reserve_zeroed(&l->threads, n_threads, &l->room_threads, sizeof(*l->threads)))
		return false;
	l->n_threads = n_threads;
	return true;
}

static bool see_event(struct lives *l, const struct mst_event *event)
{
	switch (event->type) {
	case MST_EVENT_ALLOC:
		return add_block(l, event, NULL);
	case MST_EVENT_FREE:
		return free_block(l, event);
	case MST_EVENT_RESIZE:
		return resize_block(l, event);
	case MST_EVENT_CALL:
		break;
	}
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct lives *l = (struct lives *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	uint32_t n;
	l->kinds = mst_reader_kinds(reader, &n);
	l->initial = chunk->initial;
	if (chunk->n_freed == 0 && frees_blocks(chunk)) {
		l->lacks_identity = true;
		return l->optional ? 0 : MST_ERR_IDENTITY;
	}
	if (!reserve(l, reader))
		return MST_ERR_NOMEM;
	while (mst_cursor_next(&cursor, &event)) {
		l->now_ns = event.time << shift;
		if (!see_event(l, &event))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static bool is_satisfied(const struct observer *observer)
{
	return ((const struct lives *)observer)->lacks_identity;
}

/* Enters the blocks live at the end into their lives. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct lives *l = (struct lives *)observer;
	uint32_t n;
	l->kinds = mst_reader_kinds(reader, &n);
	for (uint32_t i = 0; i < l->n_births; i++) {
		const struct birth *birth = &l->births[i];
		if (!birth->live)
			continue;
		struct life *life = life_of(l, birth->kind);
		if (!life)
			return MST_ERR_NOMEM;
		if (life->live == 0 || birth->time_ns < life->oldest_ns)
			life->oldest_ns = birth->time_ns;
		if (life->live == 0 || birth->time_ns > life->youngest_ns)
			life->youngest_ns = birth->time_ns;
		life->live++;
	}
	return 0;
}

struct lives *lives_create(uint64_t allowed, bool optional)
{
	static const struct observer_impl impl = {
		.chunk = see_chunk,
		.satisfied = is_satisfied,
		.end = see_end,
	};
	struct lives *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_INSTRUCTIONS,
	};
	l->allowed = allowed;
	l->optional = optional;
	l->last_kind = MST_NONE;
	return l;
}

void lives_destroy(struct lives *l)
{
	if (!l)
		return;
	free(l->items);
	free(l->numbers);
	histogram_pages_finish(&l->pages);
	free(l->threads);
	free(l->pairs);
	index_map_finish(&l->pair_of);
	block_map_finish(&l->map);
	free(l->births);
	free(l->unused);
	free(l);
}

struct observer *lives_observer(struct lives *l)
{
	return &l->observer;
}

/* ---- The result ---- */

bool lives_lack_identity(const struct lives *l)
{
	return l->lacks_identity;
}

const struct life *lives_of(const struct lives *l, uint32_t stack)
{
	const uint32_t number = stack < l->room_numbers ? l->numbers[stack] : 0;
	return number ? &l->items[number - 1] : NULL;
}

const struct histogram_pages *lives_pages(const struct lives *l)
{
	return &l->pages;
}

const struct lives_thread *lives_threads(const struct lives *l, uint32_t *n)
{
	*n = l->n_threads;
	return l->threads;
}

const struct lives_pair *lives_pairs(const struct lives *l, size_t *n)
{
	*n = l->n_pairs;
	return l->pairs;
}

const uint64_t (*lives_by_width(const struct lives *l))[LIVES_WIDTHS]
{
	return (const uint64_t(*)[LIVES_WIDTHS])l->widths;
}

uint64_t lives_temporary(const struct lives *l)
{
	return l->temporary;
}

uint64_t lives_freed(const struct lives *l)
{
	return l->freed;
}
