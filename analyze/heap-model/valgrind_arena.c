/* SPDX-License-Identifier: MIT */
#include "valgrind_arena.h"

#include <assert.h>
#include <stdlib.h>

#include "check.h"
#include "free_ranges.h"
#include "freelists.h"
#include "huge_pages.h"

enum {
	BEFORE = 16, /* bytes of a block before its payload */
	HEADER = 32, /* of a superblock */
	PAGE = 4096,
	SUPERBLOCK = 4194304, /* the smallest */
};

/* Larger requests always fail; up to this size no sum of sizes overflows. */
#define SIZE_LIMIT ARENA_END

struct arena {
	bool starved; /* there was no memory for records */
	struct block *blocks;
	uint32_t n; /* records in use or vacant */
	uint32_t capacity;
	uint32_t *vacant; /* [vacancies] stack of vacant records */
	uint32_t vacancies;
	uint32_t room;     /* of `vacant`, at least `capacity` */
	uint32_t deferred; /* superblock that is unmapped next, if it is still free; ARENA_NONE: none */
	uint32_t superblocks;
	struct freelists lists;
	struct free_ranges free_ranges; /* room for two, and one a superblock */
};

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

/* Verifies all invariants by assert(), in O(n). */
static void arena_check(const struct arena *arena)
{
	for (uint32_t k = 0; k < arena->vacancies; k++)
		assert(arena->vacant[k] < arena->n);
	assert(arena->vacancies <= arena->n && arena->n <= arena->capacity && arena->capacity <= arena->room);
	freelists_check(&arena->lists, arena->blocks);
	free_ranges_check(&arena->free_ranges);
}

/* ---- Records ---- */

static bool records_grow(struct arena *arena)
{
	uint64_t capacity = arena->capacity ? 2 * (uint64_t)arena->capacity : 64;
	struct block *blocks;
	uint32_t *vacant;

	if (check_wanted() && arena->capacity)
		arena_check(arena);
	if (capacity > UINT32_MAX)
		return false;
	if (!freelists_reserve(&arena->lists, (uint32_t)capacity))
		return false;
	vacant = huge_grow(arena->vacant, arena->room * sizeof(*vacant), capacity * sizeof(*vacant));
	if (!vacant)
		return false;
	arena->vacant = vacant;
	arena->room = (uint32_t)capacity;
	blocks = huge_grow(arena->blocks, arena->capacity * sizeof(*blocks), capacity * sizeof(*blocks));
	if (!blocks)
		return false;
	arena->blocks = blocks;
	arena->capacity = (uint32_t)capacity;
	return true;
}

/* Makes room for the records of one call: the superblock's, the rest's and that of what precedes an aligned block. */
static bool records_reserve(struct arena *arena)
{
	return arena->vacancies + (arena->capacity - arena->n) >= 3 || records_grow(arena);
}

static uint32_t record_take(struct arena *arena)
{
	return arena->vacancies == 0 ? arena->n++ : arena->vacant[--arena->vacancies];
}

static void record_drop(struct arena *arena, uint32_t i)
{
	assert(i < arena->n && arena->vacancies < arena->room);
	arena->vacant[arena->vacancies++] = i;
}

/* ---- Superblocks ---- */

/* Unmaps the superblock that a block fills. */
static void superblock_unmap(struct arena *arena, uint32_t i)
{
	const struct block *block = &arena->blocks[i];

	assert(block->prev == ARENA_NONE && block->next == ARENA_NONE && arena->superblocks > 0);
	free_ranges_give(&arena->free_ranges, block->address - HEADER, block_size(block) + HEADER);
	record_drop(arena, i);
	arena->superblocks--;
}

/*
 * A superblock that is all free is unmapped when another one becomes free or a new one is needed, if it is still free
 * then. `i` is that other one or ARENA_NONE.
 */
static void superblock_defer(struct arena *arena, uint32_t i)
{
	uint32_t old = arena->deferred;

	if (old != ARENA_NONE && old != i && !(arena->blocks[old].size & BLOCK_LIVE) &&
	    arena->blocks[old].next == ARENA_NONE) {
		freelists_remove(&arena->lists, arena->blocks, old);
		superblock_unmap(arena, old);
	}
	arena->deferred = i;
}

/* Maps a superblock as one free block, in its list. ARENA_NONE: there is no room. */
static uint32_t superblock_map(struct arena *arena, uint64_t needed, bool may_be_whole)
{
	uint64_t size = round_up(needed + HEADER, PAGE), address;
	uint32_t i;

	superblock_defer(arena, ARENA_NONE);
	if (size < SUPERBLOCK)
		size = SUPERBLOCK;
	if (!free_ranges_reserve(&arena->free_ranges, arena->superblocks + 3) ||
	    !free_ranges_take(&arena->free_ranges, size, &address))
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
		arena->blocks[i].size |= BLOCK_WHOLE;
	freelists_insert(&arena->lists, arena->blocks, i);
	return i;
}

/* ---- Blocks ---- */

/* Cuts a block, which is in no list, after its first `size` bytes. Returns the rest, which is in none either. */
static uint32_t block_cut(struct arena *arena, uint32_t i, uint64_t size)
{
	uint32_t rest = record_take(arena);
	struct block *block = &arena->blocks[i];

	assert(!(block->size & BLOCK_FLAGS) && block->size >= size + BLOCK_OVERHEAD);
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

/* Joins a free block and the free one after it, which are in no list. The lower one's record remains. */
static void block_join(struct arena *arena, uint32_t i)
{
	struct block *block = &arena->blocks[i];
	const uint32_t next = block->next;

	assert(block->address + block->size == arena->blocks[next].address);
	block->size += arena->blocks[next].size;
	block->next = arena->blocks[next].next;
	if (block->next != ARENA_NONE)
		arena->blocks[block->next].prev = i;
	record_drop(arena, next);
}

static bool block_is_free(const struct arena *arena, uint32_t i)
{
	return i != ARENA_NONE && !(arena->blocks[i].size & BLOCK_LIVE);
}

/* Takes a block of at least `size`, with what is too small for a block of its own. */
static inline uint32_t block_take(struct arena *arena, uint64_t size, bool may_be_whole)
{
	uint32_t i = freelists_find(&arena->lists, arena->blocks, size);
	struct block *block;

	if (i == ARENA_NONE)
		i = superblock_map(arena, size, may_be_whole);
	if (i == ARENA_NONE)
		return ARENA_NONE;
	freelists_remove(&arena->lists, arena->blocks, i);
	block = &arena->blocks[i];
	if (!(block->size & BLOCK_WHOLE) && block->size - size >= BLOCK_OVERHEAD)
		freelists_insert(&arena->lists, arena->blocks, block_cut(arena, i, size));
	arena->blocks[i].size |= BLOCK_LIVE;
	return i;
}

/* Frees the part of a live block before what an aligned payload needs. Returns the block that remains. */
static uint32_t block_align(struct arena *arena, uint32_t i, uint64_t align)
{
	struct block *block = &arena->blocks[i];
	uint64_t payload = round_up(block->address + BLOCK_OVERHEAD + BEFORE, align);
	uint32_t rest;

	block->size &= ~(uint64_t)BLOCK_LIVE;
	rest = block_cut(arena, i, payload - BEFORE - block->address);
	freelists_insert(&arena->lists, arena->blocks, i);
	arena->blocks[rest].size |= BLOCK_LIVE;
	return rest;
}

/* ---- Interface ---- */

struct arena *arena_create(uint64_t first)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	assert(first % PAGE == 0 && first < ARENA_TOOL_BEGIN);
	if (!arena)
		return NULL;
	freelists_begin(&arena->lists);
	free_ranges_begin(&arena->free_ranges);
	if (!records_reserve(arena) || !free_ranges_reserve(&arena->free_ranges, 2)) {
		arena_destroy(arena);
		return NULL;
	}
	arena->deferred = ARENA_NONE;
	free_ranges_give(&arena->free_ranges, first, ARENA_TOOL_BEGIN - first);
	free_ranges_give(&arena->free_ranges, ARENA_TOOL_END, ARENA_END - ARENA_TOOL_END);
	return arena;
}

void arena_destroy(struct arena *arena)
{
	if (!arena)
		return;
	free_ranges_finish(&arena->free_ranges);
	freelists_finish(&arena->lists);
	huge_free(arena->blocks, arena->capacity * sizeof(*arena->blocks));
	huge_free(arena->vacant, arena->room * sizeof(*arena->vacant));
	free(arena);
}

/* `power`: a power of two above BLOCK_GRAIN. */
static uint32_t block_take_aligned(struct arena *arena, uint64_t needed, uint64_t power)
{
	const uint32_t i = block_take(arena, needed + BLOCK_OVERHEAD + power, false);

	return i != ARENA_NONE ? block_align(arena, i, power) : i;
}

uint32_t arena_alloc(struct arena *arena, uint64_t size, uint64_t align, uint64_t *usable)
{
	uint64_t needed, power = BLOCK_GRAIN;
	uint32_t i;

	if (size > SIZE_LIMIT || align > SIZE_LIMIT)
		return ARENA_NONE;
	if (!records_reserve(arena)) {
		arena->starved = true;
		return ARENA_NONE;
	}
	needed = round_up(size, BLOCK_GRAIN) + BLOCK_OVERHEAD;
	while (power < align)
		power *= 2;
	if (power == BLOCK_GRAIN)
		i = block_take(arena, needed, true);
	else
		i = block_take_aligned(arena, needed, power);
	if (i != ARENA_NONE)
		*usable = arena_usable(arena, i);
	return i;
}

/* True: the block has no neighbours in its superblock. */
static bool block_is_alone(const struct block *block)
{
	/* Not one 64-bit load: it would wait for the stores that just wrote the halves. */
	return (block->prev & block->next) == ARENA_NONE;
}

uint64_t arena_free(struct arena *arena, uint32_t i)
{
	struct block *blocks = arena->blocks, *block = &blocks[i];
	const uint64_t usable = block_size(block) - BLOCK_OVERHEAD;
	const uint32_t prev = block->prev;

	assert(i < arena->n && (block->size & BLOCK_LIVE));
	block->size &= ~(uint64_t)BLOCK_LIVE;
	if (block->size & BLOCK_WHOLE) {
		superblock_unmap(arena, i);
		return usable;
	}
	/* As in Valgrind, the block is in its list between the steps: each step moves the head of that list. */
	if (block_is_free(arena, block->next)) {
		freelists_touch(&arena->lists, blocks, block_size(block));
		freelists_remove(&arena->lists, blocks, block->next);
		block_join(arena, i);
	}
	if (block_is_free(arena, prev)) {
		freelists_touch(&arena->lists, blocks, block_size(block));
		freelists_remove(&arena->lists, blocks, prev);
		block_join(arena, prev);
		i = prev;
	}
	freelists_insert(&arena->lists, blocks, i);
	if (block_is_alone(&blocks[i]))
		superblock_defer(arena, i);
	return usable;
}

bool arena_is_starved(const struct arena *arena)
{
	return arena->starved;
}

uint64_t arena_usable(const struct arena *arena, uint32_t id)
{
	return block_size(&arena->blocks[id]) - BLOCK_OVERHEAD;
}

uint64_t arena_address(const struct arena *arena, uint32_t id)
{
	return arena->blocks[id].address + BEFORE;
}
