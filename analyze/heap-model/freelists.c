/* SPDX-License-Identifier: MIT */
#include "freelists.h"

enum {
	LAST = FREELISTS_LAST,
	WALK = 100,   /* a search looks at fewer blocks of a list, but for the last list */
	LOWERING = 5, /* neighbours on each side that may become the head of a list */
	MANY = 32,    /* from so many blocks on the last list has an index, ... */
	FEW = 16,     /* ... down to so many */
};

/* Payloads, in units of BLOCK_GRAIN, with which lists 65 and up begin; the last is FREELISTS_BOUND. */
static const uint16_t bounds[FREELISTS - FREELISTS_SMALL - 1] = {
	67,  70,  74,   77,   81,   85,   90,   94,   99,   104,  109,  114,  120,  126,  133,  139,
	153, 169, 185,  204,  224,  247,  272,  299,  329,  362,  398,  438,  482,  530,  583,  641,
	770, 924, 1109, 1331, 1597, 1916, 2300, 2760, 3312, 3974, 4769, 5723, 6868, 8241, 9890,
};

/* ---- The head ---- */

/* The block at the lowest address among `head` and its neighbours. The list has `n` blocks, perhaps all of these. */
uint32_t freelists_head(const struct block *blocks, uint32_t head, uint32_t n)
{
	const uint32_t steps = n / 2 < LOWERING ? n / 2 : LOWERING;
	uint32_t left = head, right = head, lowest = head;
	uint64_t address = blocks[head].address;

	assert(n > 0 && head != BLOCK_NONE);
	/* No branches: processors cannot predict which one is lower. */
	for (uint32_t i = 0; i < steps; i++) {
		right = blocks[right].right;
		left = blocks[left].left;
		lowest = blocks[right].address < address ? right : lowest;
		address = blocks[right].address < address ? blocks[right].address : address;
		lowest = blocks[left].address < address ? left : lowest;
		address = blocks[left].address < address ? blocks[left].address : address;
	}
	return lowest;
}

/* ---- The index of the last list ---- */

/* Without memory for an index, searches walk the list. */
static void last_index(struct freelists *lists, const struct block *blocks)
{
	const uint32_t first = lists->lists[LAST].head;
	uint32_t i = first, at = SIZE_TREE_NONE;

	if (!size_tree_reserve(&lists->last, lists->room))
		return;
	do {
		size_tree_insert(&lists->last, i, block_size(&blocks[i]), at);
		at = first;
		i = blocks[i].right;
	} while (i != first);
	lists->is_indexed = true;
}

void freelists_add_last(struct freelists *lists, const struct block *blocks, uint32_t i, uint32_t head)
{
	if (lists->is_indexed)
		size_tree_insert(&lists->last, i, block_size(&blocks[i]), head);
	else if (lists->lists[LAST].n == MANY)
		last_index(lists, blocks);
}

void freelists_drop_last(struct freelists *lists, uint32_t i)
{
	if (!lists->is_indexed)
		return;
	size_tree_remove(&lists->last, i);
	if (lists->lists[LAST].n <= FEW) {
		lists->is_indexed = false;
		lists->last.root = SIZE_TREE_NONE;
	}
}

/* ---- Search ---- */

/* The first list from l on that isn't empty, FREELISTS if there is none. */
static unsigned list_filled(const struct freelists *lists, unsigned l)
{
	for (unsigned word = l / 64; word < 2; word++, l = 64 * word) {
		uint64_t bits = lists->filled[word] >> l % 64;

		if (bits)
			return l + (unsigned)__builtin_ctzll(bits);
	}
	return FREELISTS;
}

/*
 * The first block from the head on of at least `size`. In lists but the last, a long search fails and moves the head.
 */
static uint32_t list_walk(struct freelists *lists, const struct block *blocks, unsigned l, uint64_t size)
{
	const uint32_t head = lists->lists[l].head;
	uint32_t i = head;
	unsigned visits = 0;

	if (l == LAST && lists->is_indexed)
		return size_tree_find(&lists->last, head, size);
	do {
		if (++visits == WALK) {
			lists->lists[l].head = blocks[head].right;
			return BLOCK_NONE;
		}
		if (block_size(&blocks[i]) >= size)
			return i;
		i = blocks[i].right;
	} while (i != head);
	return BLOCK_NONE;
}

/* Only the list of `size` itself can have blocks that are too small; of the others any block will do. */
uint32_t freelists_find(struct freelists *lists, const struct block *blocks, uint64_t size)
{
	const unsigned own = freelists_number(lists, size);
	unsigned l = list_filled(lists, own);

	if (l == own && l >= FREELISTS_SMALL) {
		const uint32_t i = list_walk(lists, blocks, l, size);

		if (i != BLOCK_NONE)
			return i;
		l = l < LAST ? list_filled(lists, l + 1) : FREELISTS;
	}
	return l < FREELISTS ? lists->lists[l].head : BLOCK_NONE;
}

/* ---- Life ---- */

void freelists_begin(struct freelists *lists)
{
	unsigned l = 0;

	*lists = (struct freelists){ .is_indexed = false };
	size_tree_begin(&lists->last);
	for (unsigned k = 0; k < FREELISTS; k++)
		lists->lists[k].head = BLOCK_NONE;
	for (unsigned k = 0; k < FREELISTS_BOUND; k++) {
		l += k > 0 && (k <= FREELISTS_SMALL || k == bounds[l - FREELISTS_SMALL]);
		lists->list_of[k] = (uint8_t)l;
	}
}

void freelists_finish(struct freelists *lists)
{
	size_tree_finish(&lists->last);
}

bool freelists_reserve(struct freelists *lists, uint32_t n)
{
	if (lists->is_indexed && !size_tree_reserve(&lists->last, n))
		return false;
	lists->room = n;
	return true;
}

/* ---- Invariants ---- */

static void check_list(const struct freelists *lists, const struct block *blocks, unsigned l)
{
	const uint32_t head = lists->lists[l].head;
	uint32_t i = head, n = 0;

	assert((lists->filled[l / 64] >> l % 64 & 1) == (head != BLOCK_NONE));
	while (head != BLOCK_NONE && (n == 0 || i != head)) {
		assert(!(blocks[i].size & BLOCK_LIVE));
		assert(freelists_number(lists, block_size(&blocks[i])) == l);
		assert(blocks[blocks[i].right].left == i);
		assert(blocks[i].next == BLOCK_NONE || blocks[blocks[i].next].prev == i);
		assert(blocks[i].prev == BLOCK_NONE || blocks[blocks[i].prev].next == i);
		n++;
		i = blocks[i].right;
	}
	assert(n == lists->lists[l].n);
}

void freelists_check(const struct freelists *lists, const struct block *blocks)
{
	for (unsigned l = 0; l < FREELISTS; l++)
		check_list(lists, blocks, l);
	if (lists->is_indexed)
		size_tree_check(&lists->last);
}
