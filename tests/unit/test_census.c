/* SPDX-License-Identifier: MIT */
/* Heaps made by hand are walked through, whole and damaged ones; so are lists of free blocks, and heaps that change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "free_lists.h"
#include "heap_walk.h"

#define WORDS 65536u
#define START UINT64_C(0x7f0000000000) /* of the copy, in the process that it is of */
#define DAMAGES 20000u
#define CHUNKS_MOST (WORDS / 4)

static _Alignas(16) uint64_t heap[WORDS], damaged[WORDS];
static struct heap_block wanted[CHUNKS_MOST];
static size_t n_wanted;
static uint64_t random_state = 88172645463325252u, top;
static const struct glibc_heap layout = { .version = 36 };
static const struct glibc_heap new_layout = { .version = 43, .no_fastbins = true, .cache_blocks = 16 };

static uint64_t draw_from(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static uint64_t draw(void)
{
	return draw_from(&random_state);
}

/* Chunks from the beginning to a free one at the end; no two free ones in a row. `at` is where they are. */
static void make_heap(uint64_t *words, uint64_t at, bool main)
{
	bool in_use = true;
	size_t i = 0;

	n_wanted = 0;
	for (size_t size = 0; i < WORDS - 1024; i += size / 8) {
		const bool before = in_use;

		size = 32 + draw() % 60 * 16;
		in_use = !before || draw() % 3;
		words[i + 1] = size | (main || !in_use ? 0 : CHUNK_NON_MAIN) | before;
		for (size_t k = 2; k < size / 8; k++)
			words[i + k] = draw();
		if (in_use)
			wanted[n_wanted++] = (struct heap_block){ at + i * 8 + 16, size - 8 };
		else
			words[i + size / 8] = size;
	}
	words[i + 1] = (WORDS - i) * 8 | in_use;
	top = at + i * 8;
}

static struct memory_part part;
static struct heap_memory copied = { .parts = &part, .n_parts = 1 };

static void set_copy(const uint64_t *words)
{
	part = (struct memory_part){ START, top + 16, (const uint8_t *)words };
}

static struct heap_region whole_region(uint64_t start, bool main)
{
	return (struct heap_region){ .start = start, .end = start + sizeof(heap), .top = top, .main = main };
}

static void test_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		struct heap_walk w = { .heap = &layout, .memory = &copied };
		const bool main = i % 2;
		struct heap_region region;

		make_heap(heap, START, main);
		set_copy(heap);
		region = whole_region(START, main);
		assert_true(heap_walk_region(&w, &region));
		assert_int_equal(w.n, n_wanted);
		assert_memory_equal(w.blocks, wanted, n_wanted * sizeof(*wanted));
		assert_true(region.n_blocks == n_wanted && region.reached == region.end);
		for (size_t k = 0; k < n_wanted; k++)
			assert_ptr_equal(heap_walk_find(&w, wanted[k].address), &w.blocks[k]);
		assert_null(heap_walk_find(&w, wanted[0].address + 8));
		heap_walk_free(&w, wanted[1].address, wanted[1].bytes + 24);
		assert_int_equal(w.blocks[1].bytes, wanted[1].bytes);
		heap_walk_free(&w, wanted[1].address, wanted[1].bytes + 8);
		assert_int_equal(w.blocks[1].bytes, 0);
		heap_walk_finish(&w);
	}
}

/* Whatever is wrong, the walk ends; blocks are in the region and in order. */
static void test_damaged(void **state)
{
	unsigned refused = 0;

	(void)state;
	make_heap(heap, START, false);
	memcpy(damaged, heap, sizeof(heap));
	set_copy(damaged);
	for (unsigned i = 0; i < DAMAGES; i++) {
		struct heap_walk w = { .heap = &layout, .memory = &copied };
		struct heap_region region = whole_region(START, false);
		const size_t at =
			draw() % 2 ? draw() % WORDS : (wanted[draw() % n_wanted].address - START) / 8 - 1;

		damaged[at] = draw() % 2 ? damaged[at] ^ 1u << draw() % 32 : draw();
		refused += !heap_walk_region(&w, &region);
		for (size_t k = 0; k < w.n; k++) {
			assert_true(w.blocks[k].address >= START + 16 && w.blocks[k].address < top);
			assert_true(w.blocks[k].bytes <= top + 8 - w.blocks[k].address);
			assert_true(!k || w.blocks[k].address > w.blocks[k - 1].address);
		}
		heap_walk_finish(&w);
		damaged[at] = heap[at];
	}
	assert_true(refused > DAMAGES / 4);
}

/* A region that is not the last one of its arena ends with a fence and a chunk of no size. */
static void test_fence(void **state)
{
	static uint64_t words[12] = { 0, 32 | CHUNK_NON_MAIN | CHUNK_PREV_IN_USE,
				      0, 0,
				      0, 16 | CHUNK_PREV_IN_USE,
				      0, CHUNK_PREV_IN_USE };
	struct heap_region region = { .start = START, .end = START + 64 };
	struct heap_walk w = { .heap = &layout, .memory = &copied };

	(void)state;
	part = (struct memory_part){ START, START + 64, (const uint8_t *)words };
	assert_true(heap_walk_region(&w, &region));
	assert_true(w.n == 1 && w.blocks[0].address == START + 16 && w.blocks[0].bytes == 24);
	region.end -= 16;
	assert_false(heap_walk_region(&w, &region));
	heap_walk_finish(&w);
}

/* ---- lists ---- */

static uint64_t protect(uint64_t at, uint64_t link)
{
	return link ^ at >> 12;
}

static void test_lists(void **state)
{
	struct free_lists l = { .heap = &layout, .memory = &copied, .most = 100 };
	struct glibc_arena arena = { .fastbins = { START } };
	uint64_t *const cache = &damaged[512];
	uint16_t *const counts = (uint16_t *)(void *)&cache[2];
	uint64_t *const entries = &cache[2 + 16];

	(void)state;
	memset(damaged, 0, sizeof(damaged));
	top = START + sizeof(damaged) - 16;
	set_copy(damaged);
	damaged[2] = protect(START + 16, START + 64); /* a fastbin: two chunks of 32 bytes */
	damaged[10] = protect(START + 80, 0);
	cache[1] = 0x290 | CHUNK_PREV_IN_USE;
	counts[3] = 2;
	entries[3] = START + 1024;
	damaged[128] = protect(START + 1024, START + 2048);
	damaged[256] = protect(START + 2048, START + 1024); /* it goes on, but two are counted */
	assert_true(free_lists_may_be_cache(&l, START + 512 * 8 + 16));
	assert_false(free_lists_may_be_cache(&l, START + 512 * 8));
	free_lists_add_fastbins(&l, &arena);
	free_lists_add_cache(&l, START + 512 * 8 + 16);
	free_lists_read(&l, 0);
	assert_int_equal(l.n, 5);
	for (uint32_t i = 0; i < l.n; i++)
		assert_int_equal(l.blocks[i].chunk_bytes, l.blocks[i].address >= START + 4096 ? 0x290
							  : l.blocks[i].cached                ? 80
											      : 32);
	/* In a circle. */
	free_lists_clear(&l);
	damaged[10] = protect(START + 80, START);
	free_lists_add_fastbins(&l, &arena);
	free_lists_read(&l, 0);
	assert_int_equal(l.n, 100);
	free_lists_finish(&l);
}

/* Since 2.42 a cache says how many blocks may come, and has lists of blocks of several sizes. */
static void test_new_cache(void **state)
{
	struct free_lists l = { .heap = &new_layout, .memory = &copied, .most = 100 };
	uint64_t *const cache = &damaged[512];
	uint16_t *const slots = (uint16_t *)(void *)&cache[2];
	uint64_t *const entries = &cache[2 + 19];

	(void)state;
	memset(damaged, 0, sizeof(damaged));
	top = START + sizeof(damaged) - 16;
	set_copy(damaged);
	cache[1] = 0x300 | CHUNK_PREV_IN_USE;
	for (unsigned i = 0; i < GLIBC_TCACHE_BINS; i++)
		slots[i] = 16;
	slots[3] = 14;
	entries[3] = START + 1024;
	damaged[128] = protect(START + 1024, START + 2048);
	damaged[256] = protect(START + 2048, START + 1024);
	slots[75] = 15;
	entries[75] = START + 8192;
	slots[4] = 17; /* more than there may be */
	entries[4] = START + 1024;
	assert_true(free_lists_may_be_cache(&l, START + 512 * 8 + 16));
	free_lists_add_cache(&l, START + 512 * 8 + 16);
	free_lists_read(&l, 0);
	assert_int_equal(l.n, 4);
	for (uint32_t i = 0; i < l.n; i++)
		assert_int_equal(l.blocks[i].chunk_bytes, l.blocks[i].address == START + 8192 ? 0
							  : l.blocks[i].address == START + 512 * 8 + 16
								  ? 0x300
								  : 80);
	free_lists_finish(&l);
}

static void test_damaged_lists(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		struct free_lists l = { .heap = i % 2 ? &layout : &new_layout,
					.memory = &copied,
					.most = 5000 };
		struct glibc_arena arena = { 0 };

		for (unsigned k = 0; k < GLIBC_FASTBINS; k++)
			arena.fastbins[k] = START + draw() % sizeof(damaged);
		for (unsigned k = 0; k < 2000; k++)
			damaged[draw() % WORDS] =
				draw() % 8 ? protect(START, START + draw() % sizeof(damaged)) : draw();
		free_lists_add_fastbins(&l, &arena);
		free_lists_add_cache(&l, START + draw() % WORDS * 8);
		free_lists_read(&l, 0);
		assert_true(l.n <= 5000);
		free_lists_finish(&l);
	}
}

/* ---- a heap that changes ---- */

static atomic_bool ends;

/* Merges and divides neighbours. */
static void *change(void *unused)
{
	uint64_t random = 362436069;

	(void)unused;
	while (!ends) {
		volatile uint64_t *const first =
			(uint64_t *)(void *)((uint8_t *)(uintptr_t)wanted[draw_from(&random) % n_wanted]
						     .address -
					     8);
		const uint64_t size = *first & ~(uint64_t)CHUNK_BITS;
		volatile uint64_t *const next = first + size / 8;
		const uint64_t next_size = *next & ~(uint64_t)CHUNK_BITS;

		if (size < 32 || size > 1024 || next_size < 32 || next_size > 1024)
			continue;
		*first = (size + next_size) | (*first & CHUNK_BITS);
		*next = draw_from(&random) % 2 ? draw_from(&random) : *next;
		for (volatile int i = 0; i < 200; i++)
			;
		*next = next_size | CHUNK_PREV_IN_USE;
		*first = size | (*first & CHUNK_BITS);
	}
	return NULL;
}

static void test_changing(void **state)
{
	struct target self;
	struct heap_memory memory = { .target = &self };
	unsigned done = 0;
	pthread_t thread;

	(void)state;
	target_init(&self, getpid());
	make_heap(heap, (uintptr_t)heap, true);
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	for (unsigned i = 0; i < 50; i++) {
		struct heap_walk w = { .heap = &layout, .memory = &memory };
		struct heap_region region = whole_region((uintptr_t)heap, true);

		memory.until_ns = heap_memory_now() + 1000000000u;
		memory.late = false;
		heap_memory_renew(&memory);
		done += heap_walk_region(&w, &region);
		for (size_t k = 1; k < w.n; k++)
			assert_true(w.blocks[k].address > w.blocks[k - 1].address);
		heap_walk_finish(&w);
	}
	ends = true;
	pthread_join(thread, NULL);
	heap_memory_finish(&memory);
	target_finish(&self);
	assert_true(done > 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),     cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_fence),     cmocka_unit_test(test_lists),
		cmocka_unit_test(test_new_cache), cmocka_unit_test(test_damaged_lists),
		cmocka_unit_test(test_changing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
