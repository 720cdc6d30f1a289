/* SPDX-License-Identifier: MIT */
/*
 * Allocators of the program's own that announce their blocks by Valgrind's requests: a pool in
 * a malloc'ed block (the first object is at the pool's address), one in static memory, blocks resized
 * in place, and common errors: pools dropped with their blocks, blocks allocated or freed
 * twice, unknown ones, NULL. With a seed and a number, random requests.
 *
 * Built three times: with Valgrind's header (CUSTOM_VALGRIND), with msrec.h in its stead, and with
 * both (CUSTOM_BOTH). Random requests keep to fewer than about 770 live blocks: beyond, as its table grows, Massif
 * changes the order in which it takes blocks of one address. Known answer: calls of malloc and free, the same for each.
 */
#if defined(CUSTOM_VALGRIND) || defined(CUSTOM_BOTH)
#include <valgrind/valgrind.h>
#endif
#ifndef CUSTOM_VALGRIND
#define MSREC_VALGRIND_NAMES
#include "msrec.h"
#endif
#include <stdint.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define REDZONE 8
#define SLOTS 64u
#define SLOT 96u

struct pool {
	char *memory;
	size_t used;
};

static char arena[1 << 16] __attribute__((aligned(64)));
static volatile size_t shrunk; /* keeps the parameters of pool_resize() */

static NOINLINE void *pool_take(struct pool *pool, size_t n)
{
	char *p = pool->memory + pool->used;

	pool->used += (n + 15) & ~(size_t)15;
	VALGRIND_MALLOCLIKE_BLOCK(p, n, REDZONE, 0);
	return p;
}

/* The request is the function's last statement: its frame must be on the stack nevertheless. */
static NOINLINE void pool_give(void *p)
{
	VALGRIND_FREELIKE_BLOCK(p, REDZONE);
}

static NOINLINE void pool_note(void *p, size_t n)
{
	VALGRIND_MALLOCLIKE_BLOCK(p, n, 0, 1);
}

static NOINLINE void pool_resize(void *p, size_t old, size_t n)
{
	shrunk += old - n;
	VALGRIND_RESIZEINPLACE_BLOCK(p, old, n, REDZONE);
}

static inline __attribute__((always_inline)) void *pool_take_twice(struct pool *pool, size_t n)
{
	pool_note(pool->memory + pool->used, n);
	return pool_take(pool, n + 1);
}

static NOINLINE void *deep(struct pool *pool, unsigned levels)
{
	void *p = levels ? deep(pool, levels - 1) : pool_take(pool, 40);

	return (char *)p + (levels & 0);
}

static void ordinary(void)
{
	struct pool pool = { malloc(4000), 0 };
	void *objects[10];

	for (unsigned i = 0; i < 10; i++)
		objects[i] = pool_take(&pool, 10 + i * 20);
	for (unsigned i = 0; i < 10; i += 2)
		pool_give(objects[i]);
	pool_resize(objects[1], 30, 35);
	pool_resize(objects[3], 70, 7);
	pool_resize(objects[5], 110, 110);
	for (unsigned i = 1; i < 10; i += 2)
		pool_give(objects[i]);
	free(pool.memory);
}

static void in_static_memory(void)
{
	struct pool pool = { arena, 0 };
	void *first = pool_take(&pool, 100), *last = NULL;

	for (unsigned i = 0; i < 20; i++)
		last = pool_take_twice(&pool, i * 3);
	pool_give(first);
	pool_give(last);
	pool_give(last);
	pool_give(last);
	pool_take(&pool, 0);
	deep(&pool, 5);
	deep(&pool, 120);
}

/* Destroys the pool with a live object at its address, and reuses the address. */
static void dropped(void)
{
	for (unsigned i = 0; i < 4; i++) {
		struct pool pool = { malloc(1000), 0 };
		void *first = pool_take(&pool, 64);

		pool_take(&pool, 32);
		pool_note(first, 16);
		free(pool.memory);
		if (i % 2)
			pool_give(first);
	}
}

static void odd(void)
{
	char *p = malloc(500);

	pool_note(NULL, 100);
	pool_give(NULL);
	pool_resize(NULL, 100, 50);
	pool_give(arena + 60000);
	pool_resize(arena + 60000, 10, 20);
	pool_note(arena + 61000, (size_t)-20);
	pool_note(arena + 62000, (size_t)-5);
	pool_give(arena + 61000);
	pool_resize(arena + 62000, (size_t)-5, (size_t)-3);
	pool_give(p); /* malloc's block, for a tool with one table */
	pool_note(p, 400);
	pool_give(p);
}

/* A program that knows of tools makes more requests under one. The headers differ in size, so in whether it is inlined. */
static NOINLINE void guarded(void)
{
	struct pool pool = { arena + 32768, 0 };

	if (RUNNING_ON_VALGRIND)
		pool_take(&pool, 1234);
}

static unsigned next_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

static void at_random(uint64_t state, unsigned steps)
{
	char *blocks[8];

	/* Frees no block before the end: tools differ in the reuse of addresses. */
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = malloc(100 + i);
	while (steps--) {
		const unsigned what = next_number(&state) % 16, slot = next_number(&state) % SLOTS;
		const size_t n = next_number(&state) % 200;
		void *p = slot < 8 ? blocks[slot] : arena + SLOT * slot;

		if (what < 7)
			pool_note(p, n);
		else if (what < 14)
			pool_give(p);
		else
			pool_resize(p, 0, n);
	}
	for (unsigned i = 0; i < 8; i++)
		free(blocks[i]);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		at_random(strtoul(argv[1], NULL, 10), (unsigned)strtoul(argv[2], NULL, 10));
		return 0;
	}
	ordinary();
	in_static_memory();
	dropped();
	odd();
	guarded();
	return 0;
}
