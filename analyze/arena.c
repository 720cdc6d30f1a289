/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <stdbool.h>
#include <stdlib.h>

#include "fits.h"
#include "holes.h"

enum {
	GRAIN = 16,    /* of payloads and addresses */
	BEFORE = 16,   /* bytes of a block before its payload */
	OVERHEAD = 32, /* and in all; also the size of the smallest block */
	HEADER = 32,   /* of a superblock */
	PAGE = 4096,
	SUPERBLOCK = 4194304, /* the smallest */
	SMALL_LISTS = 64,     /* these hold one size each */
	LISTS = 112,
	LAST = LISTS - 1, /* the list of the largest blocks, searched to its end */
	WALK = 100,       /* this block of another isn't looked at any more */
	LOWERING = 5,     /* neighbours on each side that may become the head of a list */
};

/* A request beyond can't be met; up to it no sum of sizes overflows. */
#define SIZE_LIMIT ARENA_END

/* In the low bits of a block's size. */
enum {
	LIVE = 1,
	WHOLE = 2, /* its superblock is of no other use and goes with it */
	FLAGS = 15,
};

/*
 * Blocks of a superblock are chained in the order of addresses. The first record of that chain
 * stays the first as long as the superblock exists and so stands for it: blocks are split and
 * joined such that the lower part keeps or gives the record.
 */
struct block {
	uint64_t address;
	uint64_t size;        /* a multiple of GRAIN, and flags */
	uint32_t prev, next;  /* in the superblock; next is also the chain of vacant records */
	uint32_t left, right; /* in the circle of its list, if free */
};

struct arena {
	struct block *blocks;
	uint32_t n; /* records in use or vacant */
	uint32_t capacity;
	uint32_t vacant; /* chain of vacant records */
	uint32_t vacancies;
	uint32_t heads[LISTS];
	uint64_t filled[2]; /* bit l % 64 of word l / 64: list l is not empty */
	uint32_t deferred;  /* superblock that goes next, if it is still free */
	struct fits last;   /* the list LAST once more, for the search */
	uint32_t superblocks;
	struct holes holes; /* room for two at first and one a superblock */
};

/* Payloads, in units of GRAIN, with which lists 65 and up begin. */
static const uint16_t bounds[LISTS - SMALL_LISTS - 1] = {
	67,  70,  74,   77,   81,   85,   90,   94,   99,   104,  109,  114,  120,  126,  133,  139,
	153, 169, 185,  204,  224,  247,  272,  299,  329,  362,  398,  438,  482,  530,  583,  641,
	770, 924, 1109, 1331, 1597, 1916, 2300, 2760, 3312, 3974, 4769, 5723, 6868, 8241, 9890,
};

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

static uint64_t block_size(const struct block *block)
{
	return block->size & ~(uint64_t)FLAGS;
}

/* ---- Records -------------------------------------------------------------------------------- */

static bool records_reserve(struct arena *arena, uint32_t more)
{
	uint64_t capacity = 2 * (uint64_t)arena->capacity;
	struct block *blocks;

	if (arena->vacancies + (arena->capacity - arena->n) >= more)
		return true;
	if (capacity > UINT32_MAX)
		return false;
	blocks = realloc(arena->blocks, capacity * sizeof(*blocks));
	if (!blocks)
		return false;
	arena->blocks = blocks;
	if (!fits_reserve(&arena->last, (uint32_t)capacity))
		return false;
	arena->capacity = (uint32_t)capacity;
	return true;
}

static uint32_t record_take(struct arena *arena)
{
	uint32_t i = arena->vacant;

	if (i == ARENA_NONE)
		return arena->n++;
	arena->vacant = arena->blocks[i].next;
	arena->vacancies--;
	return i;
}

static void record_drop(struct arena *arena, uint32_t i)
{
	arena->blocks[i].next = arena->vacant;
	arena->vacant = i;
	arena->vacancies++;
}

/* ---- Free lists ----------------------------------------------------------------------------- */

static unsigned list_of(uint64_t size)
{
	uint64_t k = (size - OVERHEAD) / GRAIN;
	unsigned lo = 0, hi = LISTS - SMALL_LISTS - 1;

	if (k < SMALL_LISTS)
		return (unsigned)k;
	while (lo < hi) {
		unsigned middle = (lo + hi) / 2;

		if (bounds[middle] <= k)
			lo = middle + 1;
		else
			hi = middle;
	}
	return SMALL_LISTS + lo;
}

/* At the tail: before the head, which stays. */
static void list_insert(struct arena *arena, uint32_t i)
{
	struct block *block = &arena->blocks[i];
	unsigned l = list_of(block_size(block));
	uint32_t head = arena->heads[l];

	if (l == LAST)
		fits_insert(&arena->last, i, block_size(block), head);
	if (head == ARENA_NONE) {
		block->left = block->right = arena->heads[l] = i;
		arena->filled[l / 64] |= UINT64_C(1) << l % 64;
		return;
	}
	block->left = arena->blocks[head].left;
	block->right = head;
	arena->blocks[block->left].right = i;
	arena->blocks[head].left = i;
}

/* The lowest address among `head` and its neighbours. */
static uint32_t list_lower(const struct arena *arena, uint32_t head)
{
	const struct block *blocks = arena->blocks;
	uint32_t left = head, right = head, lowest = head;

	for (int i = 0; i < LOWERING; i++) {
		right = blocks[right].right;
		if (right == left)
			break; /* so far around */
		if (blocks[right].address < blocks[lowest].address)
			lowest = right;
		left = blocks[left].left;
		if (right == left)
			break;
		if (blocks[left].address < blocks[lowest].address)
			lowest = left;
	}
	return lowest;
}

/* The predecessor becomes the head even if the block wasn't, or one near it at a lower address. */
static void list_remove(struct arena *arena, uint32_t i)
{
	struct block *block = &arena->blocks[i];
	unsigned l = list_of(block_size(block));

	if (l == LAST)
		fits_remove(&arena->last, i);
	if (block->left == i) {
		arena->heads[l] = ARENA_NONE;
		arena->filled[l / 64] &= ~(UINT64_C(1) << l % 64);
		return;
	}
	arena->blocks[block->left].right = block->right;
	arena->blocks[block->right].left = block->left;
	arena->heads[l] = list_lower(arena, block->left);
}

/* What remains of a block of `size` that was inserted and removed at once: another head. */
static void list_touch(struct arena *arena, uint64_t size)
{
	unsigned l = list_of(size);
	uint32_t head = arena->heads[l];

	if (head != ARENA_NONE)
		arena->heads[l] = list_lower(arena, arena->blocks[head].left);
}

/* The first list from l on that isn't empty, LISTS if there is none. */
static unsigned list_filled(const struct arena *arena, unsigned l)
{
	for (unsigned word = l / 64; word < 2; word++, l = 64 * word) {
		uint64_t bits = arena->filled[word] >> l % 64;

		if (bits)
			return l + (unsigned)__builtin_ctzll(bits);
	}
	return LISTS;
}

/* The first block from the head on of at least `size`. Long lists but the last are given up, and turned. */
static uint32_t list_walk(struct arena *arena, unsigned l, uint64_t size)
{
	const struct block *blocks = arena->blocks;
	uint32_t head = arena->heads[l], i = head;
	unsigned visits = 0;

	if (l == LAST)
		return fits_find(&arena->last, head, size);
	do {
		if (++visits == WALK) {
			arena->heads[l] = blocks[head].right;
			return ARENA_NONE;
		}
		if (block_size(&blocks[i]) >= size)
			return i;
		i = blocks[i].right;
	} while (i != head);
	return ARENA_NONE;
}

/* Only in the list of `size` itself can blocks be too small; of the others any will do. */
static uint32_t lists_find(struct arena *arena, uint64_t size)
{
	unsigned own = list_of(size), l = list_filled(arena, own);

	if (l == own) {
		uint32_t i = list_walk(arena, l, size);

		if (i != ARENA_NONE)
			return i;
		l = l < LAST ? list_filled(arena, l + 1) : LISTS;
	}
	return l < LISTS ? arena->heads[l] : ARENA_NONE;
}

/* ---- Superblocks ---------------------------------------------------------------------------- */

/* Of a block that fills its superblock. */
static void superblock_unmap(struct arena *arena, uint32_t i)
{
	const struct block *block = &arena->blocks[i];

	holes_give(&arena->holes, block->address - HEADER, block_size(block) + HEADER);
	record_drop(arena, i);
	arena->superblocks--;
}

/*
 * A superblock that is all free goes when another one becomes so, or when a new one is needed,
 * if it is still free then. `i` is that other one or ARENA_NONE.
 */
static void superblock_defer(struct arena *arena, uint32_t i)
{
	uint32_t old = arena->deferred;

	if (old != ARENA_NONE && old != i && !(arena->blocks[old].size & LIVE) &&
	    arena->blocks[old].next == ARENA_NONE) {
		list_remove(arena, old);
		superblock_unmap(arena, old);
	}
	arena->deferred = i;
}

/* A new superblock as one free block, in its list. ARENA_NONE if there is no room. */
static uint32_t superblock_map(struct arena *arena, uint64_t needed, bool may_be_whole)
{
	uint64_t size = round_up(needed + HEADER, PAGE), address;
	uint32_t i;

	superblock_defer(arena, ARENA_NONE);
	if (size < SUPERBLOCK)
		size = SUPERBLOCK;
	if (!holes_reserve(&arena->holes, arena->superblocks + 3) ||
	    !holes_take(&arena->holes, size, &address))
		return ARENA_NONE;
	arena->superblocks++;
	i = record_take(arena);
	arena->blocks[i] = (struct block){
		.address = address + HEADER,
		.size = size - HEADER,
		.prev = ARENA_NONE,
		.next = ARENA_NONE,
	};
	if (size > SUPERBLOCK && may_be_whole)
		arena->blocks[i].size |= WHOLE;
	list_insert(arena, i);
	return i;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

/* Cuts a block in no list after its first `size` bytes; returns the rest, which is in none either. */
static uint32_t block_cut(struct arena *arena, uint32_t i, uint64_t size)
{
	uint32_t rest = record_take(arena);
	struct block *block = &arena->blocks[i];

	arena->blocks[rest] = (struct block){
		.address = block->address + size,
		.size = block->size - size,
		.prev = i,
		.next = block->next,
	};
	if (block->next != ARENA_NONE)
		arena->blocks[block->next].prev = rest;
	block->next = rest;
	block->size = size;
	return rest;
}

/* Joins a free block and the one after it, free too, both in no list; the lower one remains. */
static void block_join(struct arena *arena, uint32_t i)
{
	struct block *block = &arena->blocks[i];
	uint32_t next = block->next;

	block->size += arena->blocks[next].size;
	block->next = arena->blocks[next].next;
	if (block->next != ARENA_NONE)
		arena->blocks[block->next].prev = i;
	record_drop(arena, next);
}

static bool block_is_free(const struct arena *arena, uint32_t i)
{
	return i != ARENA_NONE && !(arena->blocks[i].size & LIVE);
}

/* A block of at least `size`, with all that can't become a block of its own. */
static uint32_t block_take(struct arena *arena, uint64_t size, bool may_be_whole)
{
	uint32_t i = lists_find(arena, size);
	struct block *block;

	if (i == ARENA_NONE)
		i = superblock_map(arena, size, may_be_whole);
	if (i == ARENA_NONE)
		return ARENA_NONE;
	list_remove(arena, i);
	block = &arena->blocks[i];
	if (!(block->size & WHOLE) && block->size - size >= OVERHEAD)
		list_insert(arena, block_cut(arena, i, size));
	arena->blocks[i].size |= LIVE;
	return i;
}

/* Frees the part of a live block before what an aligned payload needs; returns what is left. */
static uint32_t block_align(struct arena *arena, uint32_t i, uint64_t align)
{
	struct block *block = &arena->blocks[i];
	uint64_t payload = round_up(block->address + OVERHEAD + BEFORE, align);
	uint32_t rest;

	block->size &= ~(uint64_t)LIVE;
	rest = block_cut(arena, i, payload - BEFORE - block->address);
	list_insert(arena, i);
	arena->blocks[rest].size |= LIVE;
	return rest;
}

/* ---- Interface ------------------------------------------------------------------------------ */

struct arena *arena_create(void)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return NULL;
	arena->capacity = 64;
	arena->blocks = malloc(arena->capacity * sizeof(*arena->blocks));
	fits_begin(&arena->last);
	if (!arena->blocks || !fits_reserve(&arena->last, arena->capacity) ||
	    !holes_reserve(&arena->holes, 2)) {
		arena_destroy(arena);
		return NULL;
	}
	arena->vacant = arena->deferred = ARENA_NONE;
	for (unsigned l = 0; l < LISTS; l++)
		arena->heads[l] = ARENA_NONE;
	holes_give(&arena->holes, ARENA_FIRST, ARENA_TOOL_BEGIN - ARENA_FIRST);
	holes_give(&arena->holes, ARENA_TOOL_END, ARENA_END - ARENA_TOOL_END);
	return arena;
}

void arena_destroy(struct arena *arena)
{
	if (!arena)
		return;
	holes_finish(&arena->holes);
	fits_finish(&arena->last);
	free(arena->blocks);
	free(arena);
}

uint32_t arena_alloc(struct arena *arena, uint64_t size, uint64_t align, uint64_t *usable)
{
	uint64_t needed, power = GRAIN;
	uint32_t i;

	/* A superblock's, that of the rest and that of what precedes an aligned block. */
	if (size > SIZE_LIMIT || align > SIZE_LIMIT || !records_reserve(arena, 3))
		return ARENA_NONE;
	needed = round_up(size, GRAIN) + OVERHEAD;
	while (power < align)
		power *= 2;
	if (power == GRAIN)
		i = block_take(arena, needed, true);
	else
		i = block_take(arena, needed + OVERHEAD + power, false);
	if (i != ARENA_NONE && power > GRAIN)
		i = block_align(arena, i, power);
	if (i != ARENA_NONE)
		*usable = arena_usable(arena, i);
	return i;
}

void arena_free(struct arena *arena, uint32_t i)
{
	struct block *block = &arena->blocks[i];
	uint32_t prev = block->prev;

	block->size &= ~(uint64_t)LIVE;
	if (block->size & WHOLE) {
		superblock_unmap(arena, i);
		return;
	}
	/* Each step is one block's, in its list until the next step. */
	if (block_is_free(arena, block->next)) {
		list_touch(arena, block_size(block));
		list_remove(arena, block->next);
		block_join(arena, i);
	}
	if (block_is_free(arena, prev)) {
		list_touch(arena, block_size(block));
		list_remove(arena, prev);
		block_join(arena, prev);
		i = prev;
	}
	list_insert(arena, i);
	if (arena->blocks[i].prev == ARENA_NONE && arena->blocks[i].next == ARENA_NONE)
		superblock_defer(arena, i);
}

uint64_t arena_usable(const struct arena *arena, uint32_t handle)
{
	return block_size(&arena->blocks[handle]) - OVERHEAD;
}

uint64_t arena_address(const struct arena *arena, uint32_t handle)
{
	return arena->blocks[handle].address + BEFORE;
}
