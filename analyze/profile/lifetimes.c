/* SPDX-License-Identifier: MIT */
/*
 * A place keeps its values of the global peak lazily, as row_table.h: its first change after the peak saves them.
 * Blocks are counted in shares (sample_weight.h) until they are asked for. Sums may wrap in a hostile trace.
 */
#include "lifetimes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_numbers.h"
#include "check.h"
#include "identity.h"
#include "sample_weight.h"

struct place {
	struct lifetimes_place sums; /* end_* are what is live now */
	uint64_t mark; /* number of the peak that peak_* belong to; stale if lower than the last peak's */
};

struct birth {
	uint64_t ns;
	uint32_t kind;  /* of the block as it is now; MST_NONE: the block is gone */
	uint32_t stack; /* of its place */
};

struct lifetimes {
	struct observer observer;
	struct place *places; /* by stack */
	uint32_t n_places;
	struct block_numbers live;
	struct birth *births; /* by number of a block */
	uint32_t room_births;
	uint64_t bytes, shares; /* live */
	uint64_t best, mark;
	uint64_t now_ns, peak_ns;

	uint64_t mean; /* of the sample; 0: no sample */

	const struct mst_kind *kinds; /* of the present chunk */
};

/* What a block counts for. DHAT takes one of no bytes for one of a single byte. */
static uint64_t bytes_of(const struct lifetimes *l, uint32_t kind)
{
	const uint64_t size = l->kinds[kind].size;
	return weight_bytes(l->mean, size, size ? size : 1);
}

static uint64_t shares_of(const struct lifetimes *l, uint32_t kind)
{
	return weight_shares(l->mean, l->kinds[kind].size);
}

static bool reserve_places(struct lifetimes *l, uint32_t n)
{
	if (n <= l->n_places)
		return true;
	n += n / 2;
	struct place *places = reallocarray(l->places, n, sizeof(*places));
	if (!places)
		return false;
	memset(places + l->n_places, 0, (n - l->n_places) * sizeof(*places));
	l->places = places;
	l->n_places = n;
	return true;
}

/* The place of a stack, ready for a change. */
static struct place *touch(struct lifetimes *l, uint32_t stack)
{
	struct place *place = &l->places[stack];
	assert(stack < l->n_places && place->mark <= l->mark);
	if (place->mark != l->mark) {
		place->mark = l->mark;
		place->sums.peak_bytes = place->sums.end_bytes;
		place->sums.peak_blocks = place->sums.end_blocks;
	}
	return place;
}

/* A block of the kind is live at a place from now on. */
static void add(struct lifetimes *l, uint32_t stack, uint32_t kind)
{
	struct lifetimes_place *sums = &touch(l, stack)->sums;
	const uint64_t bytes = bytes_of(l, kind), shares = shares_of(l, kind);
	sums->bytes += bytes;
	sums->blocks += shares;
	sums->end_bytes += bytes;
	sums->end_blocks += shares;
	if (sums->end_bytes >= sums->most_bytes) {
		sums->most_bytes = sums->end_bytes;
		sums->most_blocks = sums->end_blocks;
	}
	l->bytes += bytes;
	l->shares += shares;
}

static void subtract(struct lifetimes *l, uint32_t stack, uint32_t kind)
{
	struct lifetimes_place *sums = &touch(l, stack)->sums;
	sums->end_bytes -= bytes_of(l, kind);
	sums->end_blocks -= shares_of(l, kind);
	l->bytes -= bytes_of(l, kind);
	l->shares -= shares_of(l, kind);
}

/* Of equal peaks the last one counts, as in DHAT. */
static void note_peak(struct lifetimes *l)
{
	if (l->bytes < l->best)
		return;
	l->best = l->bytes;
	l->mark++;
	l->peak_ns = l->now_ns;
}

static bool come(struct lifetimes *l, const struct mst_event *event)
{
	const uint32_t stack = l->kinds[event->kind].stack;
	const uint32_t number = block_numbers_give(&l->live);
	if (!array_reserve(&l->births, number, &l->room_births, sizeof(*l->births)))
		return false;
	l->births[number] = (struct birth){ l->now_ns, event->kind, stack };
	add(l, stack, event->kind);
	note_peak(l);
	return true;
}

static void end_life(struct lifetimes *l, const struct birth *birth)
{
	const uint64_t ns = l->now_ns - birth->ns;
	l->places[birth->stack].sums.lifetime_ns += weight_bytes(l->mean, l->kinds[birth->kind].size, ns);
}

/* Finds the block that the event frees or resizes. False: it was never seen being allocated. */
static bool take_old(struct lifetimes *l, const struct mst_event *event, uint32_t *number)
{
	return l->kinds[event->old_kind].op != MST_OP_UNKNOWN &&
	       block_numbers_take(&l->live, event->old_index, number);
}

static void leave(struct lifetimes *l, const struct mst_event *event)
{
	uint32_t number;
	if (!take_old(l, event, &number))
		return;
	struct birth *birth = &l->births[number];
	subtract(l, birth->stack, birth->kind);
	end_life(l, birth);
	birth->kind = MST_NONE;
}

/* The block lives on at its place. A sample has its two sizes independently of each other, so there a new one comes. */
static bool resize(struct lifetimes *l, const struct mst_event *event)
{
	uint32_t number;
	if (l->mean)
		leave(l, event);
	if (l->mean || !take_old(l, event, &number))
		return come(l, event);
	const uint32_t same = block_numbers_give(&l->live);
	struct birth *birth = &l->births[number];
	assert(same == number);
	(void)same;
	subtract(l, birth->stack, birth->kind);
	birth->kind = event->kind;
	add(l, birth->stack, birth->kind);
	note_peak(l);
	return true;
}

/* False: no memory. */
static bool count(struct lifetimes *l, const struct mst_event *event)
{
	switch (event->type) {
	case MST_EVENT_ALLOC:
		return come(l, event);
	case MST_EVENT_FREE:
		leave(l, event);
		break;
	case MST_EVENT_RESIZE:
		return resize(l, event);
	case MST_EVENT_CALL:
		break;
	}
	return true;
}

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct lifetimes *l = (struct lifetimes *)observer;
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event event;
	uint32_t n_kinds, n_stacks;
	l->kinds = mst_reader_kinds(reader, &n_kinds);
	l->mean = mst_reader_info(reader)->sample_bytes;
	mst_reader_stacks(reader, &n_stacks);
	if (chunk_lacks_identity(chunk))
		return MST_ERR_IDENTITY;
	if (!reserve_places(l, n_stacks) || !block_numbers_begin(&l->live, chunk))
		return MST_ERR_NOMEM;
	while (mst_cursor_next(&cursor, &event)) {
		l->now_ns = event.time << mst_reader_time_shift(reader);
		if (!count(l, &event))
			return MST_ERR_NOMEM;
	}
	return 0;
}

/* The places' live blocks and bytes add up to all live ones, modulo 2^64. */
static __attribute__((unused)) bool is_sound(const struct lifetimes *l)
{
	uint64_t bytes = 0, shares = 0;
	for (uint32_t i = 0; i < l->n_places; i++) {
		bytes += l->places[i].sums.end_bytes;
		shares += l->places[i].sums.end_blocks;
	}
	return bytes == l->bytes && shares == l->shares;
}

/* Blocks still live end with the trace. */
static int see_end(struct observer *observer, const struct mst_reader *reader)
{
	struct lifetimes *l = (struct lifetimes *)observer;
	const struct mst_end *end = mst_reader_end(reader);
	uint32_t n;
	l->kinds = mst_reader_kinds(reader, &n);
	assert(!check_wanted() || is_sound(l));
	if (end && end->time_ns > l->now_ns)
		l->now_ns = end->time_ns;
	for (uint32_t i = 0; i < l->live.n; i++) {
		if (l->births[i].kind != MST_NONE)
			end_life(l, &l->births[i]);
	}
	return 0;
}

struct lifetimes *lifetimes_create(void)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .end = see_end };
	struct lifetimes *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->observer.impl = &impl;
	l->observer.spared = MST_ALL_COLUMNS & ~(MST_TIMES | MST_IDENTITY);
	return l;
}

void lifetimes_destroy(struct lifetimes *l)
{
	if (!l)
		return;
	block_numbers_finish(&l->live);
	free(l->places);
	free(l->births);
	free(l);
}

struct observer *lifetimes_observer(struct lifetimes *l)
{
	return &l->observer;
}

bool lifetimes_place(const struct lifetimes *l, uint32_t stack, struct lifetimes_place *place)
{
	if (stack >= l->n_places || l->places[stack].sums.blocks == 0)
		return false;
	*place = l->places[stack].sums;
	if (l->places[stack].mark != l->mark) {
		place->peak_bytes = place->end_bytes;
		place->peak_blocks = place->end_blocks;
	}
	place->blocks = weight_blocks(place->blocks);
	place->most_blocks = weight_blocks(place->most_blocks);
	place->peak_blocks = weight_blocks(place->peak_blocks);
	place->end_blocks = weight_blocks(place->end_blocks);
	return true;
}

uint64_t lifetimes_peak_ns(const struct lifetimes *l)
{
	return l->peak_ns;
}

uint64_t lifetimes_end_ns(const struct lifetimes *l)
{
	return l->now_ns;
}
