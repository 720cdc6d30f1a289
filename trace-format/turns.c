/* SPDX-License-Identifier: MIT */
#include "turns.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS TURNS_WORD_BITS
#define GROUP_BITS TURNS_GROUP_BITS
#define LARGE_BITS TURNS_LARGE_BITS

void turns_finish(struct turns *t)
{
	free(t->rings);
	free(t->ring_of);
	free(t->order);
	free(t->live);
	free(t->groups);
	free(t->large);
	free(t->allocs);
	*t = (struct turns){ 0 };
}

/* ---- a chunk's rings ---- */

/* All or nothing: what is there is of one size. */
static int room_for_symbols(struct turns *t, uint32_t n)
{
	if (n <= t->n_symbols)
		return 0;
	free(t->rings);
	free(t->ring_of);
	free(t->order);
	t->rings = malloc(n * sizeof(*t->rings));
	t->ring_of = malloc(n * sizeof(*t->ring_of));
	t->order = malloc(n * sizeof(*t->order));
	t->n_symbols = t->rings && t->ring_of && t->order ? n : 0;
	return t->n_symbols ? 0 : MST_ERR_NOMEM;
}

static int room_for_blocks(struct turns *t, uint32_t n_words)
{
	const size_t n_bits = (size_t)n_words * WORD_BITS;

	if (n_words <= t->n_words)
		return 0;
	free(t->live);
	free(t->groups);
	free(t->large);
	free(t->allocs);
	t->live = malloc(n_words * sizeof(*t->live));
	t->groups = malloc((n_bits / GROUP_BITS + 1) * sizeof(*t->groups));
	t->large = malloc((n_bits / LARGE_BITS + 1) * sizeof(*t->large));
	t->allocs = malloc(n_bits * sizeof(*t->allocs));
	t->n_words = t->live && t->groups && t->large && t->allocs ? n_words : 0;
	return t->n_words ? 0 : MST_ERR_NOMEM;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of the symbols, those of one kind together. */
static void sort_symbols(struct turns *t, const struct mst_symbol *symbols, uint32_t n)
{
	bool sorted = true;

	for (uint32_t i = 0; i < n; i++) {
		t->order[i] = (uint64_t)symbols[i].kind << 32 | i;
		sorted &= i == 0 || t->order[i] > t->order[i - 1];
	}
	if (!sorted)
		qsort(t->order, n, sizeof(*t->order), compare);
}

int turns_begin(struct turns *t, const struct mst_symbol *symbols, uint32_t n_symbols)
{
	uint32_t n_rings = 0, n_words = 0, blocks = 0;

	if (room_for_symbols(t, n_symbols + 1) != 0)
		return MST_ERR_NOMEM;
	sort_symbols(t, symbols, n_symbols);
	for (uint32_t i = 0; i < n_symbols; i++) {
		const uint32_t number = (uint32_t)t->order[i];

		if (i == 0 || t->order[i] >> 32 != t->order[i - 1] >> 32) {
			n_words += (blocks + WORD_BITS - 1) / WORD_BITS;
			t->rings[n_rings++] = (struct turns_ring){ .first = n_words * WORD_BITS,
								   .at = n_words * WORD_BITS };
			blocks = 0;
		}
		if (symbols[number].role == MST_ALLOC)
			blocks += symbols[number].count;
		t->ring_of[number] = n_rings - 1;
	}
	n_words += (blocks + WORD_BITS - 1) / WORD_BITS + 1;
	if (room_for_blocks(t, n_words) != 0)
		return MST_ERR_NOMEM;
	memset(t->live, 0, n_words * sizeof(*t->live));
	memset(t->groups, 0, (n_words * WORD_BITS / GROUP_BITS + 1) * sizeof(*t->groups));
	memset(t->large, 0, (n_words * WORD_BITS / LARGE_BITS + 1) * sizeof(*t->large));
	t->n_allocs = 0;
	return 0;
}

/* ---- ways ---- */

/* The largest piece of [at, end) that begins it and whose live blocks are known at once, `most` bits at most: its length. */
static uint32_t piece_behind(const struct turns *t, uint32_t at, uint32_t end, uint32_t most, uint32_t *live)
{
	const uint32_t left = end - at < most ? end - at : most;
	const uint32_t bits = WORD_BITS - at % WORD_BITS;
	uint64_t word;

	if (at % LARGE_BITS == 0 && left >= LARGE_BITS) {
		*live = t->large[at / LARGE_BITS];
		return LARGE_BITS;
	}
	if (at % GROUP_BITS == 0 && left >= GROUP_BITS) {
		*live = t->groups[at / GROUP_BITS];
		return GROUP_BITS;
	}
	word = t->live[at / WORD_BITS] >> at % WORD_BITS;
	if (left < bits)
		word &= (UINT64_C(1) << left) - 1;
	*live = (uint32_t)__builtin_popcountll(word);
	return left < bits ? left : bits;
}

/* The same of [first, at), whose end it is. `first` begins a word. */
static uint32_t piece_before(const struct turns *t, uint32_t at, uint32_t first, uint32_t most,
			     uint32_t *live)
{
	const uint32_t left = at - first < most ? at - first : most, last = at - 1;

	if (at % LARGE_BITS == 0 && left >= LARGE_BITS) {
		*live = t->large[last / LARGE_BITS];
		return LARGE_BITS;
	}
	if (at % GROUP_BITS == 0 && left >= GROUP_BITS) {
		*live = t->groups[last / GROUP_BITS];
		return GROUP_BITS;
	}
	*live = (uint32_t)__builtin_popcountll(t->live[last / WORD_BITS]
					       << (WORD_BITS - 1 - last % WORD_BITS));
	return last % WORD_BITS + 1;
}

/* Passes over *n live blocks of [at, end): the one behind them; or end, and *n are left. */
static uint32_t walk_on(const struct turns *t, uint32_t at, uint32_t end, uint32_t *n)
{
	uint32_t most = UINT32_MAX;

	while (at < end) {
		uint32_t live;
		const uint32_t bits = piece_behind(t, at, end, most, &live);

		if (live <= *n) {
			*n -= live;
			at += bits;
		} else if (bits > WORD_BITS) {
			most = bits - 1;
		} else {
			uint64_t word = t->live[at / WORD_BITS] >> at % WORD_BITS;

			for (; *n; --*n)
				word &= word - 1;
			return at + (uint32_t)__builtin_ctzll(word);
		}
	}
	return end;
}

/* Passes over *n live blocks of [first, at) backwards: the last of them; or first, and *n are left. */
static uint32_t walk_back(const struct turns *t, uint32_t at, uint32_t first, uint32_t *n)
{
	uint32_t most = UINT32_MAX;

	while (at > first) {
		uint32_t live;
		const uint32_t last = at - 1, bits = piece_before(t, at, first, most, &live);

		if (live < *n) {
			*n -= live;
			at -= bits;
		} else if (bits > WORD_BITS) {
			most = bits - 1;
		} else {
			uint64_t word = t->live[last / WORD_BITS] << (WORD_BITS - 1 - last % WORD_BITS);

			for (; *n > 1; --*n)
				word &= ~(UINT64_C(1) << (WORD_BITS - 1 - (unsigned)__builtin_clzll(word)));
			*n = 0;
			return last - (uint32_t)__builtin_clzll(word);
		}
	}
	return first;
}

static uint32_t count(const struct turns *t, uint32_t at, uint32_t end)
{
	uint32_t n = 0, live;

	while (at < end) {
		at += piece_behind(t, at, end, UINT32_MAX, &live);
		n += live;
	}
	return n;
}

/* ---- records ---- */

bool turns_find(struct turns *t, uint32_t symbol, uint32_t bit, int64_t *turn)
{
	struct turns_ring *ring = &t->rings[t->ring_of[symbol]];
	const int64_t live = ring->live;

	if (bit < ring->first || bit >= ring->first + ring->n ||
	    !(t->live[bit / WORD_BITS] >> bit % WORD_BITS & 1))
		return false;
	*turn = bit >= ring->at ? (int64_t)count(t, ring->at, bit) : -(int64_t)count(t, bit, ring->at);
	if (2 * *turn >= live)
		*turn -= live;
	else if (2 * *turn < -live)
		*turn += live;
	ring->at = bit;
	return true;
}

void turns_walk(const struct turns *t, struct turns_ring *ring, int64_t turn)
{
	const uint32_t first = ring->first, end = first + ring->n;
	uint32_t n = (uint32_t)(turn < 0 ? -turn : turn), bit;

	if (turn >= 0) {
		bit = walk_on(t, ring->at, end, &n);
		bit = bit == end ? walk_on(t, first, end, &n) : bit;
	} else {
		bit = walk_back(t, ring->at, first, &n);
		bit = n ? walk_back(t, end, first, &n) : bit;
	}
	ring->at = bit;
}
