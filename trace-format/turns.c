/* SPDX-License-Identifier: MIT */
#include "turns.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u
#define GROUP_BITS 4096u /* so that a long way is not too many words */

void turns_finish(struct turns *t)
{
	free(t->rings);
	free(t->ring_of);
	free(t->order);
	free(t->live);
	free(t->groups);
	free(t->allocs);
	free(t->bits);
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
	free(t->allocs);
	free(t->bits);
	t->live = malloc(n_words * sizeof(*t->live));
	t->groups = malloc((n_bits / GROUP_BITS + 1) * sizeof(*t->groups));
	t->allocs = malloc(n_bits * sizeof(*t->allocs));
	t->bits = malloc(n_bits * sizeof(*t->bits));
	t->n_words = t->live && t->groups && t->allocs && t->bits ? n_words : 0;
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
			t->rings[n_rings++] = (struct turns_ring){ .first = n_words * WORD_BITS };
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
	t->n_allocs = 0;
	return 0;
}

/* ---- ways ---- */

/* Passes over the live blocks of [at, end), as long as there are *n of them; how many are left in *n. Returns the one behind them, or end. */
static uint32_t walk_on(const struct turns *t, uint32_t at, uint32_t end, uint32_t *n)
{
	while (at < end) {
		uint64_t word = t->live[at / WORD_BITS] >> at % WORD_BITS;
		uint32_t here;

		if (at % GROUP_BITS == 0 && end - at >= GROUP_BITS && t->groups[at / GROUP_BITS] <= *n) {
			*n -= t->groups[at / GROUP_BITS];
			at += GROUP_BITS;
			continue;
		}
		here = (uint32_t)__builtin_popcountll(word);
		if (here > *n) {
			for (; *n; --*n)
				word &= word - 1;
			return at + (uint32_t)__builtin_ctzll(word);
		}
		*n -= here;
		at = (at | (WORD_BITS - 1)) + 1;
	}
	return end;
}

/* The same backwards, of [first, at): returns the last of *n, or first if there are not as many, with those that are left in *n. */
static uint32_t walk_back(const struct turns *t, uint32_t at, uint32_t first, uint32_t *n)
{
	while (at > first) {
		const uint32_t last = at - 1;
		uint64_t word = t->live[last / WORD_BITS] << (WORD_BITS - 1 - last % WORD_BITS);
		uint32_t here;

		if (at % GROUP_BITS == 0 && at - first >= GROUP_BITS && t->groups[last / GROUP_BITS] < *n) {
			*n -= t->groups[last / GROUP_BITS];
			at -= GROUP_BITS;
			continue;
		}
		here = (uint32_t)__builtin_popcountll(word);
		if (here >= *n) {
			for (; *n > 1; --*n)
				word &= ~(UINT64_C(1) << (WORD_BITS - 1 - (unsigned)__builtin_clzll(word)));
			*n = 0;
			return last - (uint32_t)__builtin_clzll(word);
		}
		*n -= here;
		at = last & ~(WORD_BITS - 1);
	}
	return first;
}

static uint32_t count(const struct turns *t, uint32_t at, uint32_t end)
{
	uint32_t n = 0;

	while (at < end) {
		const uint32_t left = end - at, bits = WORD_BITS - at % WORD_BITS;
		uint64_t word = t->live[at / WORD_BITS] >> at % WORD_BITS;

		if (at % GROUP_BITS == 0 && left >= GROUP_BITS) {
			n += t->groups[at / GROUP_BITS];
			at += GROUP_BITS;
			continue;
		}
		if (left < bits)
			word &= (UINT64_C(1) << left) - 1;
		n += (uint32_t)__builtin_popcountll(word);
		at += left < bits ? left : bits;
	}
	return n;
}

/* ---- records ---- */

void turns_come(struct turns *t, uint32_t symbol)
{
	struct turns_ring *ring = &t->rings[t->ring_of[symbol]];
	const uint32_t bit = ring->first + ring->n++;

	ring->live++;
	t->live[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
	t->groups[bit / GROUP_BITS]++;
	t->bits[t->n_allocs] = bit;
	t->allocs[bit] = t->n_allocs++;
}

bool turns_find(struct turns *t, uint32_t symbol, uint64_t alloc, int64_t *turn)
{
	struct turns_ring *ring = &t->rings[t->ring_of[symbol]];
	const uint32_t bit = alloc < t->n_allocs ? t->bits[alloc] : 0, at = ring->first + ring->at;
	const int64_t live = ring->live;

	if (alloc >= t->n_allocs || bit < ring->first || bit >= ring->first + ring->n ||
	    !(t->live[bit / WORD_BITS] >> bit % WORD_BITS & 1))
		return false;
	*turn = bit >= at ? (int64_t)count(t, at, bit) : -(int64_t)count(t, bit, at);
	if (2 * *turn >= live)
		*turn -= live;
	else if (2 * *turn < -live)
		*turn += live;
	ring->at = bit - ring->first;
	return true;
}

bool turns_take(struct turns *t, uint32_t symbol, int64_t turn, uint32_t *alloc)
{
	struct turns_ring *ring = &t->rings[t->ring_of[symbol]];
	const uint32_t first = ring->first, end = first + ring->n, at = first + ring->at;
	uint32_t n, bit;

	if (turn >= (int64_t)ring->live || turn < -(int64_t)ring->live)
		return false;
	n = (uint32_t)(turn < 0 ? -turn : turn);
	if (turn >= 0) {
		bit = walk_on(t, at, end, &n);
		bit = bit == end ? walk_on(t, first, end, &n) : bit;
	} else {
		bit = walk_back(t, at, first, &n);
		bit = n ? walk_back(t, end, first, &n) : bit;
	}
	ring->at = bit - first;
	*alloc = t->allocs[bit];
	return true;
}

void turns_go(struct turns *t, uint32_t symbol)
{
	struct turns_ring *ring = &t->rings[t->ring_of[symbol]];
	const uint32_t bit = ring->first + ring->at;

	ring->live--;
	t->live[bit / WORD_BITS] &= ~(UINT64_C(1) << bit % WORD_BITS);
	t->groups[bit / GROUP_BITS]--;
}
