/* SPDX-License-Identifier: MIT */
/*
 * Superblocks are mapped as needed and tiled by blocks; free blocks wait in circular lists by size.
 * A block is 32 bytes larger than its payload, and its payload begins 16 bytes behind its start.
 */
#include "arena.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE            4096u
#define UNIT            16u                     /* payloads are multiples of it */
#define OVERHEAD        32u                     /* of a block */
#define HEADER          32u                     /* of a superblock */
#define FRONT           16u                     /* from a block to its payload */
#define SUPERBLOCK_MIN  (UINT64_C(4) << 20)
#define SUPERBLOCKS_MAX 65536u
#define SIZE_MAX_BYTES  (UINT64_C(1) << 46)
#define ADDRESS_FIRST   (UINT64_C(1) << 26)
#define ADDRESS_END     (UINT64_C(1) << 47)
#define LISTS           112u
#define LISTS_EXACT     64u                     /* of one payload each */
#define VISITS_MAX      100u
#define NEIGHBOURS      5u

/* Payloads, in units, from which on each of the other lists holds blocks. */
static const uint16_t bounds[LISTS - LISTS_EXACT - 1] = {
	67, 70, 74, 77, 81, 85, 90, 94, 99, 104, 109, 114, 120, 126, 133, 139, 153, 169, 185, 204, 224, 247, 272,
	299, 329, 362, 398, 438, 482, 530, 583, 641, 770, 924, 1109, 1331, 1597, 1916, 2300, 2760, 3312, 3974,
	4769, 5723, 6868, 8241, 9890,
};

struct block {
	uint64_t address, size;
	uint32_t before, behind;        /* in the superblock; ARENA_NONE at its ends */
	uint32_t previous, next;        /* in the list; `next` chains unused records, too */
	uint32_t superblock;
	bool is_free;
};

struct superblock {
	uint64_t address, size;
	uint32_t first;                 /* its first block, always the same record */
	bool whole;                     /* one block for ever, unmapped when that is freed */
	uint32_t next;                  /* unused records */
};

struct arena {
	struct block *blocks;
	uint32_t n_blocks, unused_block;
	struct superblock *superblocks;
	uint32_t n_superblocks, unused_superblock;
	uint32_t *mapped;               /* superblocks by address */
	uint32_t n_mapped;
	uint32_t packed;                /* there is no hole before so many of them */
	uint32_t deferred;              /* a superblock all free, kept until there is another */
	uint32_t heads[LISTS];
};

/* ---- records ---- */

static uint32_t new_block(struct arena *a)
{
	uint32_t i = a->unused_block;

	if (i != ARENA_NONE) {
		a->unused_block = a->blocks[i].next;
		return i;
	}
	/* The size doubles at powers of two. */
	i = a->n_blocks;
	if ((i & (i - 1)) == 0) {
		struct block *grown = realloc(a->blocks, (i ? 2 * (size_t)i : 1) * sizeof(*grown));

		if (!grown || i == UINT32_MAX / 2 + 1)
			return ARENA_NONE;
		a->blocks = grown;
	}
	return a->n_blocks++;
}

static void drop_block(struct arena *a, uint32_t i)
{
	a->blocks[i].next = a->unused_block;
	a->unused_block = i;
}

static uint32_t new_superblock_record(struct arena *a)
{
	const uint32_t i = a->unused_superblock;

	if (i == ARENA_NONE)
		return a->n_superblocks < SUPERBLOCKS_MAX ? a->n_superblocks++ : ARENA_NONE;
	a->unused_superblock = a->superblocks[i].next;
	return i;
}

static void drop_superblock_record(struct arena *a, uint32_t i)
{
	a->superblocks[i].next = a->unused_superblock;
	a->unused_superblock = i;
}

/* ---- lists of free blocks ---- */

static unsigned list_of(uint64_t payload)
{
	const uint64_t units = payload / UNIT;
	unsigned list = LISTS_EXACT;

	if (units < LISTS_EXACT)
		return (unsigned)units;
	while (list < LISTS - 1 && units >= bounds[list - LISTS_EXACT])
		list++;
	return list;
}

/* At the end: just before the head. */
static void insert(struct arena *a, uint32_t i)
{
	struct block *b = &a->blocks[i];
	uint32_t *head = &a->heads[list_of(b->size - OVERHEAD)];

	b->is_free = true;
	if (*head == ARENA_NONE) {
		b->previous = b->next = *head = i;
		return;
	}
	b->next = *head;
	b->previous = a->blocks[*head].previous;
	a->blocks[b->previous].next = i;
	a->blocks[b->next].previous = i;
}

/* Makes the lowest of the blocks around the head the head. */
static void lower_head(struct arena *a, uint32_t *head)
{
	uint32_t lowest = *head, next = *head, previous = *head;

	for (unsigned n = 0; n < NEIGHBOURS; n++) {
		next = a->blocks[next].next;
		previous = a->blocks[previous].previous;
		if (a->blocks[next].address < a->blocks[lowest].address)
			lowest = next;
		if (a->blocks[previous].address < a->blocks[lowest].address)
			lowest = previous;
	}
	*head = lowest;
}

static void unlink_block(struct arena *a, uint32_t i)
{
	struct block *b = &a->blocks[i];
	uint32_t *head = &a->heads[list_of(b->size - OVERHEAD)];

	b->is_free = false;
	if (b->next == i) {
		*head = ARENA_NONE;
		return;
	}
	a->blocks[b->previous].next = b->next;
	a->blocks[b->next].previous = b->previous;
	*head = b->previous;
	lower_head(a, head);
}

/* A free block of at least `size` bytes of the list or a later one; the search of one list is bounded. */
static uint32_t find_free(struct arena *a, uint64_t size)
{
	for (unsigned list = list_of(size - OVERHEAD); list < LISTS; list++) {
		uint32_t i = a->heads[list];

		if (i == ARENA_NONE)
			continue;
		for (unsigned visits = 1;; visits++) {
			if (visits == VISITS_MAX && list < LISTS - 1) {
				a->heads[list] = a->blocks[a->heads[list]].next;
				break;
			}
			if (a->blocks[i].size >= size)
				return i;
			i = a->blocks[i].next;
			if (i == a->heads[list])
				break;
		}
	}
	return ARENA_NONE;
}

/* ---- superblocks ---- */

/* Where in `mapped` a superblock of `size` bytes goes: the lowest hole that holds it. False: nowhere. */
static bool find_hole(struct arena *a, uint64_t size, uint32_t *at, uint64_t *address)
{
	uint64_t end = ADDRESS_FIRST;
	uint32_t i = a->packed;

	if (i > 0)
		end = a->superblocks[a->mapped[i - 1]].address + a->superblocks[a->mapped[i - 1]].size;
	for (; i < a->n_mapped; i++) {
		const struct superblock *s = &a->superblocks[a->mapped[i]];

		if (s->address - end >= size)
			break;
		/* Nothing is smaller than the least superblock. */
		if (i == a->packed && s->address - end < SUPERBLOCK_MIN)
			a->packed++;
		end = s->address + s->size;
	}
	*at = i;
	*address = end;
	return ADDRESS_END - end >= size;
}

static void unmap(struct arena *a, uint32_t superblock)
{
	uint32_t low = 0, high = a->n_mapped;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (a->superblocks[a->mapped[middle]].address < a->superblocks[superblock].address)
			low = middle + 1;
		else
			high = middle;
	}
	a->n_mapped--;
	memmove(a->mapped + low, a->mapped + low + 1, (a->n_mapped - low) * sizeof(*a->mapped));
	if (a->packed > low)
		a->packed = low;
	drop_superblock_record(a, superblock);
}

static bool is_all_free(const struct block *b)
{
	return b->is_free && b->before == ARENA_NONE && b->behind == ARENA_NONE;
}

/* A superblock has become all free; ARENA_NONE: another one is about to be mapped. */
static void defer(struct arena *a, uint32_t superblock)
{
	const uint32_t before = a->deferred;

	a->deferred = superblock;
	if (before != ARENA_NONE && before != superblock) {
		const uint32_t block = a->superblocks[before].first;

		if (!is_all_free(&a->blocks[block]))
			return;
		unlink_block(a, block);
		drop_block(a, block);
		unmap(a, before);
	}
}

/* Maps a superblock for a block of `size` bytes; returns the free block that fills it. */
static uint32_t map(struct arena *a, uint64_t size, bool splittable)
{
	uint64_t bytes = size + HEADER < SUPERBLOCK_MIN ? SUPERBLOCK_MIN : size + HEADER, address;
	uint32_t superblock, block, at;

	bytes = (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	defer(a, ARENA_NONE);
	block = new_block(a);
	if (block == ARENA_NONE)
		return ARENA_NONE;
	superblock = new_superblock_record(a);
	if (superblock == ARENA_NONE || !find_hole(a, bytes, &at, &address)) {
		if (superblock != ARENA_NONE)
			drop_superblock_record(a, superblock);
		drop_block(a, block);
		return ARENA_NONE;
	}
	a->superblocks[superblock] = (struct superblock){
		.address = address, .size = bytes, .first = block,
		.whole = bytes > SUPERBLOCK_MIN && !splittable,
	};
	memmove(a->mapped + at + 1, a->mapped + at, (a->n_mapped - at) * sizeof(*a->mapped));
	a->mapped[at] = superblock;
	a->n_mapped++;
	a->blocks[block] = (struct block){
		.address = address + HEADER, .size = bytes - HEADER, .before = ARENA_NONE, .behind = ARENA_NONE,
		.superblock = superblock,
	};
	insert(a, block);
	return block;
}

/* ---- blocks ---- */

/* Cuts a block behind its first `size` bytes; returns what is behind. ARENA_NONE: no memory. */
static uint32_t split(struct arena *a, uint32_t i, uint64_t size)
{
	const uint32_t rest = new_block(a);
	struct block *b;

	if (rest == ARENA_NONE)
		return ARENA_NONE;
	b = &a->blocks[i];
	a->blocks[rest] = (struct block){
		.address = b->address + size, .size = b->size - size, .before = i, .behind = b->behind,
		.superblock = b->superblock,
	};
	if (b->behind != ARENA_NONE)
		a->blocks[b->behind].before = rest;
	b->behind = rest;
	b->size = size;
	return rest;
}

/* Joins two neighbours, which are in no list, in the first one's record. */
static void join(struct arena *a, uint32_t first, uint32_t second)
{
	struct block *b = &a->blocks[first];

	b->size += a->blocks[second].size;
	b->behind = a->blocks[second].behind;
	if (b->behind != ARENA_NONE)
		a->blocks[b->behind].before = first;
	drop_block(a, second);
}

/* A used block of `size` bytes, or of 16 more when what is left over can be no block. */
static uint32_t take(struct arena *a, uint64_t size, bool splittable)
{
	uint32_t i = find_free(a, size), rest = ARENA_NONE;

	if (i == ARENA_NONE)
		i = map(a, size, splittable);
	if (i == ARENA_NONE)
		return ARENA_NONE;
	unlink_block(a, i);
	if (a->blocks[i].size - size >= OVERHEAD && !a->superblocks[a->blocks[i].superblock].whole)
		rest = split(a, i, size);
	if (rest != ARENA_NONE)
		insert(a, rest);
	return i;
}

/* A block whose payload is aligned; what is before it becomes free, what is behind it stays with it. */
static uint32_t take_aligned(struct arena *a, uint64_t size, uint64_t align)
{
	const uint32_t i = take(a, size + OVERHEAD + align, true);
	uint64_t payload;
	uint32_t result;

	if (i == ARENA_NONE)
		return ARENA_NONE;
	payload = (a->blocks[i].address + FRONT + OVERHEAD + align - 1) & ~(align - 1);
	result = split(a, i, payload - FRONT - a->blocks[i].address);
	if (result == ARENA_NONE)
		return i;
	insert(a, i);
	return result;
}

uint32_t arena_alloc(struct arena *a, uint64_t size, uint64_t align)
{
	uint64_t block_size;

	if (size > SIZE_MAX_BYTES || align > SIZE_MAX_BYTES)
		return ARENA_NONE;
	block_size = ((size + UNIT - 1) & ~(uint64_t)(UNIT - 1)) + OVERHEAD;
	return align <= UNIT ? take(a, block_size, false) : take_aligned(a, block_size, align);
}

void arena_free(struct arena *a, uint32_t i)
{
	struct block *b = &a->blocks[i];
	uint32_t behind = b->behind, before = b->before;

	if (a->superblocks[b->superblock].whole) {
		unmap(a, b->superblock);
		drop_block(a, i);
		return;
	}
	insert(a, i);
	if (behind != ARENA_NONE && a->blocks[behind].is_free) {
		unlink_block(a, i);
		unlink_block(a, behind);
		join(a, i, behind);
		insert(a, i);
	}
	if (before != ARENA_NONE && a->blocks[before].is_free) {
		unlink_block(a, before);
		unlink_block(a, i);
		join(a, before, i);
		insert(a, before);
		i = before;
	}
	if (is_all_free(&a->blocks[i]))
		defer(a, a->blocks[i].superblock);
}

uint64_t arena_usable(const struct arena *a, uint32_t i)
{
	return a->blocks[i].size - OVERHEAD;
}

/* ---- life ---- */

struct arena *arena_create(void)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->superblocks = malloc(SUPERBLOCKS_MAX * sizeof(*a->superblocks));
	a->mapped = malloc(SUPERBLOCKS_MAX * sizeof(*a->mapped));
	if (!a->superblocks || !a->mapped) {
		arena_destroy(a);
		return NULL;
	}
	a->unused_block = a->unused_superblock = a->deferred = ARENA_NONE;
	memset(a->heads, 0xff, sizeof(a->heads));
	return a;
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	free(a->blocks);
	free(a->superblocks);
	free(a->mapped);
	free(a);
}
