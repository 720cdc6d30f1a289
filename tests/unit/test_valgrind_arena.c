/* SPDX-License-Identifier: MIT */
/* The model of Valgrind's heap: sizes that Massif is known to give, and that its blocks, lists and
 * free ranges are consistent after any calls. The test includes the source to look inside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "valgrind_arena.c"

#include "freelists.c"

static const uint64_t mega = 1 << 20;

/* ---- The checker ---- */

/* Each list is a ring of free blocks of its sizes; sets their flags in `listed`. Returns their number. */
static uint32_t check_lists(const struct arena *arena, uint8_t *listed)
{
	const struct freelists *lists = &arena->lists;
	uint32_t n = 0;

	for (unsigned l = 0; l < FREELISTS; l++) {
		uint32_t head = lists->lists[l].head, i = head, length = 0;

		assert_int_equal(lists->filled[l / 64] >> l % 64 & 1, head != BLOCK_NONE);
		if (head == BLOCK_NONE) {
			assert_int_equal(lists->lists[l].n, 0);
			continue;
		}
		do {
			const struct block *block = &arena->blocks[i];
			uint64_t k = (block_size(block) - BLOCK_OVERHEAD) / BLOCK_GRAIN;

			assert_false(block->size & BLOCK_LIVE);
			assert_false(listed[i]);
			listed[i] = 1;
			length++;
			if (l < FREELISTS_SMALL)
				assert_int_equal(k, l);
			else
				assert_true((l == FREELISTS_SMALL || k >= bounds[l - FREELISTS_SMALL - 1]) &&
					    k >= FREELISTS_SMALL &&
					    (l == LAST || k < bounds[l - FREELISTS_SMALL]));
			assert_int_equal(arena->blocks[block->right].left, i);
			i = block->right;
		} while (i != head);
		assert_int_equal(lists->lists[l].n, length);
		n += length;
	}
	return n;
}

/* The index and a walk from the head find the same block in the last list. */
static void check_search(const struct arena *arena, uint64_t size)
{
	const struct freelists *lists = &arena->lists;
	uint32_t head = lists->lists[LAST].head, i = head;

	assert_true(lists->is_indexed ? lists->lists[LAST].n > FEW : lists->lists[LAST].n < MANY);
	if (!lists->is_indexed) {
		assert_int_equal(lists->last.root, SIZE_TREE_NONE);
		return;
	}
	while (block_size(&arena->blocks[i]) < size) {
		i = arena->blocks[i].right;
		if (i == head) {
			i = SIZE_TREE_NONE;
			break;
		}
	}
	assert_int_equal(size_tree_find(&lists->last, head, size), i);
}

/* The blocks of a superblock fill it; no two free ones are neighbours. Returns the number of live ones. */
static uint32_t check_superblock(const struct arena *arena, uint32_t first, const uint8_t *listed,
				 uint64_t *end, uint32_t *n_free)
{
	uint64_t begin = arena->blocks[first].address - HEADER, at = begin + HEADER;
	uint32_t live = 0;
	bool free_before = false;

	assert_int_equal(begin % PAGE, 0);
	for (uint32_t i = first, prev = ARENA_NONE; i != ARENA_NONE; prev = i, i = arena->blocks[i].next) {
		const struct block *block = &arena->blocks[i];
		bool is_free = !(block->size & BLOCK_LIVE);

		assert_int_equal(block->address, at);
		assert_int_equal(block->prev, prev);
		assert_true(block_size(block) >= BLOCK_OVERHEAD && block_size(block) % BLOCK_GRAIN == 0);
		assert_int_equal(is_free, listed[i]);
		assert_false(is_free && free_before);
		at += block_size(block);
		live += !is_free;
		*n_free += is_free;
		free_before = is_free;
	}
	assert_int_equal(at % PAGE, 0);
	assert_true(at - begin >= SUPERBLOCK);
	*end = at;
	return live;
}

static int range_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

static size_t add_free_ranges(const struct free_ranges *free_ranges, uint32_t i, uint64_t (*ranges)[2],
			      size_t n)
{
	if (i == SIZE_TREE_NONE)
		return n;
	n = add_free_ranges(free_ranges, free_ranges->tree.v[i].low, ranges, n);
	ranges[n][0] = free_ranges->items[i].lo;
	ranges[n++][1] = free_ranges->items[i].hi;
	return add_free_ranges(free_ranges, free_ranges->tree.v[i].high, ranges, n);
}

/* Superblocks and free ranges together are the whole address space, once; `n_live` blocks live in it. */
static void check_arena(const struct arena *arena, uint32_t n_live)
{
	uint8_t *listed = calloc(arena->n + 1, 1), *vacant = calloc(arena->n + 1, 1);
	uint64_t(*ranges)[2] = calloc(2 * (size_t)arena->superblocks + 4, sizeof(*ranges));
	uint32_t in_lists, in_blocks = 0, live = 0;
	size_t n;

	assert_true(listed && vacant && ranges);
	in_lists = check_lists(arena, listed);
	for (uint64_t size = 100000; size < UINT64_C(1) << 34; size += size / 9)
		check_search(arena, size);
	for (uint32_t k = 0; k < arena->vacancies; k++) {
		assert_true(arena->vacant[k] < arena->n && !vacant[arena->vacant[k]]);
		vacant[arena->vacant[k]] = 1;
	}
	free_ranges_check(&arena->free_ranges);
	if (arena->lists.is_indexed)
		size_tree_check(&arena->lists.last);
	n = add_free_ranges(&arena->free_ranges, arena->free_ranges.tree.root, ranges, 0);
	for (size_t i = 1; i < n; i++)
		assert_true(ranges[i - 1][1] < ranges[i][0]);
	for (uint32_t i = 0; i < arena->n; i++) {
		if (vacant[i] || arena->blocks[i].prev != ARENA_NONE)
			continue;
		ranges[n][0] = arena->blocks[i].address - HEADER;
		live += check_superblock(arena, i, listed, &ranges[n++][1], &in_blocks);
	}
	assert_int_equal(live, n_live);
	assert_int_equal(in_blocks, in_lists);
	assert_int_equal(live + in_blocks + arena->vacancies, arena->n);
	qsort(ranges, n, sizeof(*ranges), range_compare);
	assert_int_equal(ranges[0][0], ARENA_FIRST);
	assert_int_equal(ranges[n - 1][1], ARENA_END);
	for (size_t i = 1; i < n; i++)
		assert_int_equal(ranges[i][0],
				 ranges[i - 1][1] == ARENA_TOOL_BEGIN ? ARENA_TOOL_END : ranges[i - 1][1]);
	free(listed);
	free(vacant);
	free(ranges);
}

/* ---- Known sizes ---- */

static int begin(void **state)
{
	*state = arena_create(ARENA_FIRST);
	return *state ? 0 : -1;
}

static int end(void **state)
{
	arena_destroy(*state);
	return 0;
}

static uint32_t take(struct arena *arena, uint64_t size, uint64_t align, uint64_t expected)
{
	uint64_t usable = UINT64_MAX;
	uint32_t i = arena_alloc(arena, size, align, &usable);

	assert_int_not_equal(i, ARENA_NONE);
	assert_int_equal(usable, expected);
	assert_int_equal(arena_usable(arena, i), expected);
	return i;
}

static void sizes_on_a_fresh_heap(void **state)
{
	struct arena *arena = *state;

	take(arena, 0, 16, 0);
	take(arena, 1, 16, 16);
	take(arena, 16, 0, 16);
	take(arena, 17, 8, 32);
	take(arena, 1000, 16, 1008);
	assert_int_equal(arena_address(arena, take(arena, 4 * mega, 16, 4 * mega + 4032)) % PAGE, 48);
	take(arena, 10485760, 16, 10485760 + 4032);
	take(arena, 4194241, 16, 4194241 + 4095);
	take(arena, 4194240, 16, 4194240);
	check_arena(arena, 9);
}

static void aligned_blocks_keep_their_tail(void **state)
{
	static const struct {
		uint64_t align, size, usable;
	} known[] = {
		{ 32, 10, 32 }, { 64, 10, 32 }, { 128, 100, 192 }, { 4096, 10, 96 }, { 100, 100, 192 }
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct arena *arena = arena_create(ARENA_FIRST);
		uint32_t block;

		assert_non_null(arena);
		block = take(arena, known[i].size, known[i].align, known[i].usable);
		assert_int_equal(arena_address(arena, block) % (i < 4 ? known[i].align : 128), 0);
		check_arena(arena, 1);
		arena_free(arena, block);
		check_arena(arena, 0);
		arena_destroy(arena);
	}
	(void)state;
}

/* The rest of the free block would be smaller than a block, or a block of 0 bytes. */
static void a_remainder_of_16_stays(void **state)
{
	struct arena *arena = *state;
	uint32_t hole = take(arena, 160, 16, 160);

	take(arena, 1, 16, 16);
	arena_free(arena, hole);
	hole = take(arena, 144, 16, 160);
	arena_free(arena, hole);
	take(arena, 128, 16, 128);
	take(arena, 0, 16, 0);
	check_arena(arena, 3);
}

/* Blocks beyond a superblock's usual size fill their own and leave at once, unless aligned. */
static void large_blocks_leave_at_once(void **state)
{
	struct arena *arena = *state;
	uint32_t a = take(arena, 5 * mega, 16, 5 * mega + 4032);
	uint64_t address = arena_address(arena, a);

	arena_free(arena, a);
	assert_int_equal(arena->superblocks, 0);
	a = take(arena, 6 * mega, 16, 6 * mega + 4032);
	assert_int_equal(arena_address(arena, a), address);
	arena_free(arena, a);
	a = take(arena, 5 * mega, 32, 5 * mega + 16);
	arena_free(arena, a);
	assert_int_equal(arena->superblocks, 1);
	take(arena, 5 * mega, 16, 5 * mega);
	take(arena, 5000, 16, 5008);
	check_arena(arena, 2);
}

/* One free superblock is kept until another becomes free or is needed. */
static void the_last_free_superblock_waits(void **state)
{
	struct arena *arena = *state;
	uint32_t a = take(arena, 3 * mega, 16, 3 * mega), b = take(arena, 3 * mega, 16, 3 * mega);
	uint64_t first = arena_address(arena, a);

	arena_free(arena, a);
	assert_int_equal(arena->superblocks, 2);
	arena_free(arena, b);
	assert_int_equal(arena->superblocks, 1);
	check_arena(arena, 0);
	a = take(arena, 5 * mega, 16, 5 * mega + 4032);
	assert_int_equal(arena->superblocks, 1);
	assert_int_equal(arena_address(arena, a), first);
	check_arena(arena, 1);
}

/* A block keeps its id while its neighbours are split and joined. */
static void ids_outlive_their_neighbours(void **state)
{
	struct arena *arena = *state;
	uint32_t v[64];

	for (unsigned i = 0; i < 64; i++)
		v[i] = take(arena, 16 * i, 16, 16 * i);
	for (unsigned i = 0; i < 64; i += 2)
		arena_free(arena, v[i]);
	for (unsigned i = 1; i < 64; i += 4)
		arena_free(arena, v[i]);
	for (unsigned i = 3; i < 64; i += 4)
		assert_int_equal(arena_usable(arena, v[i]), 16 * i);
	check_arena(arena, 16);
}

/* ---- Impossible requests ---- */

static void what_cannot_be_is_refused(void **state)
{
	static const uint64_t sizes[] = { UINT64_MAX,
					  UINT64_MAX - 50,
					  UINT64_C(1) << 63,
					  INT64_MAX,
					  (UINT64_C(1) << 47) + 1,
					  UINT64_C(1) << 47,
					  (UINT64_C(1) << 47) - 64 };
	struct arena *arena = *state;
	uint64_t usable;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (unsigned shift = 0; shift < 64; shift++) {
			uint64_t align = UINT64_C(1) << shift;

			assert_int_equal(arena_alloc(arena, sizes[i], align, &usable), ARENA_NONE);
			if (shift >= 47)
				assert_int_equal(arena_alloc(arena, 1, align, &usable), ARENA_NONE);
		}
		assert_int_equal(arena_alloc(arena, 1, sizes[i], &usable), ARENA_NONE);
	}
	arena_free(arena, arena_alloc(arena, 1, UINT64_C(1) << 40, &usable));
	check_arena(arena, 0);
}

static void a_full_address_space_recovers(void **state)
{
	struct arena *arena = *state;
	uint32_t v[300], n = 0;
	uint64_t usable;

	while ((v[n] = arena_alloc(arena, UINT64_C(1) << 39, 16, &usable)) != ARENA_NONE)
		assert_true(++n < 300);
	assert_int_equal(n, 255);
	while (n % 100 != 0)
		arena_free(arena, v[--n]);
	check_arena(arena, n);
	while (n)
		arena_free(arena, v[--n]);
	check_arena(arena, 0);
	take(arena, UINT64_C(1) << 46, 16, (UINT64_C(1) << 46) + 4032);
}

/* Free ranges of many sizes, so that the search passes several. */
static void many_superblocks(void **state)
{
	enum { N = 20000 };
	struct arena *arena = *state;
	uint32_t *v = calloc(N, sizeof(*v));
	uint64_t usable;

	assert_non_null(v);
	for (uint32_t i = 0; i < N; i++)
		v[i] = arena_alloc(arena, (5 + i % 7) * mega, 16, &usable);
	for (uint32_t i = 0; i < N; i += 2)
		arena_free(arena, v[i]);
	check_arena(arena, N / 2);
	for (uint32_t i = 0; i < N; i += 2) {
		v[i] = arena_alloc(arena, (5 + i % 11) * mega, 16, &usable);
		assert_int_not_equal(v[i], ARENA_NONE);
	}
	check_arena(arena, N);
	free(v);
}

/* A block at the end of a long last list; a linear search takes a hundred times as long. */
static void a_long_last_list(void **state)
{
	enum { N = 200000 };
	struct arena *arena = *state;
	uint32_t *v = calloc(N, sizeof(*v)), large;
	uint64_t usable;

	assert_non_null(v);
	for (uint32_t i = 0; i < N; i++)
		v[i] = arena_alloc(arena, 160000 + i % 1000, 16, &usable);
	large = take(arena, 300000, 16, 300000);
	take(arena, 300000, 16, 300000);
	for (uint32_t i = 0; i < N; i += 2)
		arena_free(arena, v[i]);
	for (uint32_t i = 0; i < N; i++) {
		arena_free(arena, large);
		large = take(arena, 300000, 16, 300000);
	}
	check_arena(arena, N / 2 + 2);
	free(v);
}

/* ---- At random ---- */

static uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

enum { SLOTS = 400 };

struct slots {
	struct arena *arena;
	uint64_t random;
	uint64_t limit; /* sizes have up to this many bits */
	uint32_t n_live;
	uint32_t block[SLOTS]; /* ARENA_NONE: empty */
	uint64_t address[SLOTS];
	uint64_t usable[SLOTS];
};

static void slot_fill(struct slots *slots, unsigned i)
{
	uint64_t size = random_next(&slots->random) >> (64 - 1 - random_next(&slots->random) % slots->limit);
	uint64_t align =
		random_next(&slots->random) % 4 ? 16 : UINT64_C(1) << random_next(&slots->random) % 16;

	slots->block[i] = arena_alloc(slots->arena, size, align, &slots->usable[i]);
	if (slots->block[i] == ARENA_NONE)
		return;
	slots->n_live++;
	slots->address[i] = arena_address(slots->arena, slots->block[i]);
	assert_true(slots->usable[i] >= size);
	assert_int_equal(slots->address[i] % (align < 16 ? 16 : align), 0);
}

static void slot_empty(struct slots *slots, unsigned i)
{
	assert_int_equal(arena_address(slots->arena, slots->block[i]), slots->address[i]);
	assert_int_equal(arena_usable(slots->arena, slots->block[i]), slots->usable[i]);
	arena_free(slots->arena, slots->block[i]);
	slots->block[i] = ARENA_NONE;
	slots->n_live--;
}

static void random_operations(void **state)
{
	static const uint64_t limits[] = { 7, 10, 13, 19, 21, 27, 45, 63 };

	(void)state;
	for (unsigned seed = 0; seed < 24; seed++) {
		struct slots slots = { .arena = arena_create(ARENA_FIRST),
				       .random = seed,
				       .limit = limits[seed % 8] };

		assert_non_null(slots.arena);
		memset(slots.block, 0xff, sizeof(slots.block));
		for (unsigned op = 0; op < 20000; op++) {
			unsigned i = (unsigned)(random_next(&slots.random) % (seed < 12 ? SLOTS : 20));

			if (slots.block[i] == ARENA_NONE)
				slot_fill(&slots, i);
			else
				slot_empty(&slots, i);
			if (op % 500 == 0)
				check_arena(slots.arena, slots.n_live);
		}
		for (unsigned i = 0; i < SLOTS; i++)
			if (slots.block[i] != ARENA_NONE)
				slot_empty(&slots, i);
		check_arena(slots.arena, 0);
		assert_true(slots.arena->superblocks <= 1);
		arena_destroy(slots.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_last_list, begin, end),
		cmocka_unit_test_setup_teardown(sizes_on_a_fresh_heap, begin, end),
		cmocka_unit_test(aligned_blocks_keep_their_tail),
		cmocka_unit_test_setup_teardown(a_remainder_of_16_stays, begin, end),
		cmocka_unit_test_setup_teardown(large_blocks_leave_at_once, begin, end),
		cmocka_unit_test_setup_teardown(the_last_free_superblock_waits, begin, end),
		cmocka_unit_test_setup_teardown(ids_outlive_their_neighbours, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_full_address_space_recovers, begin, end),
		cmocka_unit_test_setup_teardown(many_superblocks, begin, end),
		cmocka_unit_test(random_operations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
