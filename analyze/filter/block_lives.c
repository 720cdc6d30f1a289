/* SPDX-License-Identifier: MIT */
#include "block_lives.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "block_map.h"

#define NS_PER_MS 1000000u

/* Bits of a page; most pages of a trace in which few blocks pass don't exist. */
enum { PAGE_LOG2 = 15, PAGE_WORDS = 1 << (PAGE_LOG2 - 6) };

/* A live block: what is known of the first one of its chain of reallocs. */
struct origin {
	uint64_t index; /* UINT64_MAX: the entry is free */
	uint64_t time_ns;
	uint64_t calls; /* by then, itself included */
};

struct block_lives {
	struct observer observer;
	const struct block_range *ranges;
	size_t n_ranges;
	uint64_t before_ns;
	bool ended;

	struct block_map map; /* by block: its number in `origins` */
	struct origin *origins;
	uint32_t n, room;
	uint32_t *unused; /* numbers of free entries */
	uint32_t n_unused, room_unused;
	uint64_t calls;

	uint64_t **pages; /* by index >> PAGE_LOG2; NULL: no block of it passes */
	size_t n_pages;
};

/* ---- The blocks that pass ---- */

static bool set(struct block_lives *l, uint64_t index)
{
	const size_t page = (size_t)(index >> PAGE_LOG2);
	if (page >= l->n_pages) {
		const size_t n = page + page / 2 + 16;
		uint64_t **pages = reallocarray(l->pages, n, sizeof(*pages));
		if (!pages)
			return false;
		memset(pages + l->n_pages, 0, (n - l->n_pages) * sizeof(*pages));
		l->pages = pages;
		l->n_pages = n;
	}
	if (!l->pages[page] && !(l->pages[page] = calloc(PAGE_WORDS, sizeof(**l->pages))))
		return false;
	l->pages[page][index / 64 % PAGE_WORDS] |= UINT64_C(1) << index % 64;
	return true;
}

bool block_lives_passes(const struct block_lives *l, uint64_t index)
{
	const uint64_t page = index >> PAGE_LOG2;
	return page < l->n_pages && l->pages[page] &&
	       (l->pages[page][index / 64 % PAGE_WORDS] >> index % 64 & 1);
}

static bool is_in_range(const struct block_lives *l, uint64_t ns, uint64_t calls)
{
	for (size_t i = 0; i < l->n_ranges; i++) {
		const struct block_range *range = &l->ranges[i];
		const uint64_t life = range->calls ? calls : ns;
		if (life >= range->least && life <= range->most)
			return true;
	}
	return false;
}

static bool judge(struct block_lives *l, const struct origin *origin, uint64_t now_ns)
{
	const uint64_t ns = now_ns > origin->time_ns ? now_ns - origin->time_ns : 0;
	return !is_in_range(l, ns, l->calls - origin->calls) || set(l, origin->index);
}

/* ---- Blocks ---- */

static bool add(struct block_lives *l, uint64_t index, const struct origin *origin)
{
	uint32_t number;
	if (l->n_unused) {
		number = l->unused[--l->n_unused];
	} else {
		if (!array_reserve(&l->origins, l->n, &l->room, sizeof(*l->origins)))
			return false;
		number = l->n++;
	}
	l->origins[number] = *origin;
	return block_map_put(&l->map, index, number);
}

/* *known: the block was there. False: no memory. */
static bool take(struct block_lives *l, uint64_t index, struct origin *origin, bool *known)
{
	uint32_t number;
	*known = block_map_take(&l->map, index, &number);
	if (!*known)
		return true;
	if (!array_reserve(&l->unused, l->n_unused, &l->room_unused, sizeof(*l->unused)))
		return false;
	assert(number < l->n && l->origins[number].index != UINT64_MAX);
	*origin = l->origins[number];
	l->origins[number].index = UINT64_MAX;
	l->unused[l->n_unused++] = number;
	return true;
}

static bool see_event(struct block_lives *l, const struct mst_event *e, uint64_t now_ns, bool initial)
{
	struct origin origin = { .index = e->index, .time_ns = now_ns };
	bool known = false;
	if ((e->type == MST_EVENT_FREE || e->type == MST_EVENT_RESIZE) &&
	    !take(l, e->old_index, &origin, &known))
		return false;
	if (e->type == MST_EVENT_FREE)
		return !known || judge(l, &origin, now_ns);
	if (e->type == MST_EVENT_CALL)
		return true;
	l->calls += !initial;
	if (!known)
		origin.calls = l->calls;
	return add(l, e->index, &origin);
}

/* ---- The observer ---- */

static int see_chunk(struct observer *observer, const struct mst_reader *reader,
		     const struct mst_chunk *chunk)
{
	struct block_lives *l = (struct block_lives *)observer;
	const unsigned shift = mst_reader_time_shift(reader);
	struct mst_cursor cursor = MST_CURSOR(chunk);
	struct mst_event e;
	while (!l->ended && mst_cursor_next(&cursor, &e)) {
		const uint64_t ns = e.time << shift;
		l->ended = !chunk->initial && ns >= l->before_ns;
		if (!l->ended && !see_event(l, &e, ns, chunk->initial))
			return MST_ERR_NOMEM;
	}
	return 0;
}

static bool has_ended(struct observer *observer, const struct mst_reader *reader,
		      const struct mst_chunk *chunk)
{
	(void)reader;
	(void)chunk;
	return ((const struct block_lives *)observer)->ended;
}

bool block_lives_end(struct block_lives *l, uint64_t end_ns)
{
	const uint64_t cut_ns = l->before_ns > NS_PER_MS ? l->before_ns - NS_PER_MS : 0;
	const uint64_t last_ns = end_ns < l->before_ns ? end_ns : cut_ns;
	bool fine = true;
	for (uint32_t i = 0; i < l->n && fine; i++) {
		if (l->origins[i].index != UINT64_MAX)
			fine = judge(l, &l->origins[i], last_ns);
	}
	return fine;
}

/* ---- Life ---- */

struct block_lives *block_lives_create(const struct block_range *ranges, size_t n, uint64_t before_ns)
{
	static const struct observer_impl impl = { .chunk = see_chunk, .sums_suffice = has_ended };
	struct block_lives *l = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	l->observer = (struct observer){
		.impl = &impl,
		.spared = MST_ADDRESSES | MST_SP_CHANGES | MST_INSTRUCTIONS | MST_THREADS,
	};
	l->ranges = ranges;
	l->n_ranges = n;
	l->before_ns = before_ns;
	return l;
}

void block_lives_destroy(struct block_lives *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n_pages; i++)
		free(l->pages[i]);
	free(l->pages);
	block_map_finish(&l->map);
	free(l->origins);
	free(l->unused);
	free(l);
}

struct observer *block_lives_observer(struct block_lives *l)
{
	return &l->observer;
}
