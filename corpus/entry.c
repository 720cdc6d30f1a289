/* SPDX-License-Identifier: MIT */
/*
 * entry MODE: one way into the allocator at a time; `entry help` lists them. Before and after its calls
 * each mode allocates a block of 1000 bytes that stays, so that there are live blocks in the end.
 * The program fails if the C library breaks a promise that the mode relies on.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct mode {
	const char *name;
	int (*run)(void);
};

/* Requests that no allocator can fulfil; volatile, because compilers warn of constants. */
static volatile size_t far_too_much = (size_t)1 << 62;
static volatile size_t negative = SIZE_MAX - 100;
static void *volatile keep;

/* Known answer: three blocks of no bytes, one of them freed. */
static int run_malloc_zero(void)
{
	keep = malloc(0);
	keep = malloc(0);
	free(malloc(0));
	return keep == NULL;
}

/* Known answer: no event. */
static int run_free_null(void)
{
	for (int i = 0; i < 5; i++)
		free(NULL);
	return 0;
}

/* Known answer: 12 * 34 + 0 + 0 bytes in three blocks, the first freed. */
static int run_calloc(void)
{
	char *block = calloc(12, 34);
	int wrong = block == NULL || block[0] || block[12 * 34 - 1];

	keep = calloc(0, 8);
	keep = calloc(8, 0);
	free(block);
	return wrong;
}

/* Known answer: no event but failures. */
static int run_calloc_overflow(void)
{
	void *volatile first = calloc(far_too_much, 8);
	void *volatile second = calloc(8, far_too_much);
	void *volatile third = calloc(far_too_much, 1);

	return first || second || third;
}

/* Known answer: no event but failures. */
static int run_malloc_huge(void)
{
	void *volatile first = malloc(negative);
	void *volatile second = malloc(far_too_much);
	void *volatile third = memalign(64, far_too_much);

	return first || second || third;
}

/* Known answer: three blocks of 10, 0 and 30 bytes; the last is freed by size zero. */
static int run_realloc_null(void)
{
	void *block;

	keep = realloc(NULL, 10);
	keep = realloc(NULL, 0);
	block = realloc(NULL, 30);
	return realloc(block, 0) != NULL;
}

/* Known answer: the failing realloc leaves 100 bytes alone, and they are freed. */
static int run_realloc_fail(void)
{
	void *block = malloc(100);
	void *volatile moved = realloc(block, far_too_much);

	if (moved)
		return 1;
	free(block);
	return 0;
}

/* Known answer: 60 bytes in place after two shrinks and a growth within the first size. */
static int run_realloc_in_place(void)
{
	void *block = malloc(100);

	block = realloc(block, 50);
	block = realloc(block, 40);
	block = realloc(block, 60);
	keep = block;
	return block == NULL;
}

/* Known answer: seven blocks of 10 to 70 bytes, at alignments good and odd; the last is freed. */
static int run_memalign(void)
{
	volatile size_t odd = 24;
	void *block;

	keep = memalign(8, 10);
	keep = memalign(16, 20);
	keep = memalign(odd, 30);
	keep = memalign(32, 40);
	keep = memalign(64, 50);
	keep = memalign(4096, 60);
	block = memalign(128, 70);
	free(block);
	return (uintptr_t)block % 128 != 0;
}

/* Known answer: two blocks, of 100 and 200 bytes, at the alignment of malloc. */
static int run_memalign_small(void)
{
	keep = memalign(1, 100);
	keep = memalign(16, 200);
	return keep == NULL;
}

/* Known answer: 100 + 200 bytes; four refusals that are no events. */
static int run_posix_memalign(void)
{
	static const size_t bad[] = { 0, 1, 4, 24 };
	void *block = NULL;
	int wrong = 0;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		volatile size_t alignment = bad[i];

		wrong |= posix_memalign(&block, alignment, 100) != EINVAL;
	}
	wrong |= posix_memalign(&block, 16, 100) != 0;
	keep = block;
	wrong |= posix_memalign(&block, 256, 200) != 0;
	free(block);
	return wrong;
}

/* Known answer: 256 + 300 bytes, the first freed. */
static int run_aligned_alloc(void)
{
	void *block = aligned_alloc(64, 256);

	keep = aligned_alloc(32, 300);
	free(block);
	return block == NULL;
}

/* Known answer: 100 + 5000 bytes at page boundaries, the first freed. */
static int run_valloc(void)
{
	void *block = valloc(100);

	keep = valloc(5000);
	free(block);
	return (uintptr_t)block % 4096 != 0;
}

/* Known answer: 8192 bytes. Not for Massif, which ends the program here. */
static int run_pvalloc(void)
{
	keep = pvalloc(5000);
	return keep == NULL;
}

/* Known answer: 60 bytes, then 600 in its place; the overflow changes nothing. */
static int run_reallocarray(void)
{
	void *volatile block = reallocarray(NULL, 6, 10);
	void *volatile failed;

	block = reallocarray(block, 60, 10);
	failed = reallocarray(block, far_too_much, 16);
	free(block);
	return failed != NULL;
}

/* Known answer: blocks that libc makes for its caller: copies, text and lines; all freed but one. */
static int run_libc(void)
{
	char *copy = strdup("a string to be copied");
	char *part = strndup("only a part of it", 6);
	wchar_t *wide = wcsdup(L"and a wide one");
	char *text = NULL;
	int length = asprintf(&text, "%s, %s, %d", copy, part, 42);
	char *path = realpath("/", NULL);

	keep = strdup("left behind");
	free(copy);
	free(part);
	free(wide);
	free(text);
	free(path);
	return length < 0;
}

/* Known answer: 4 * 100 bytes; asking and tuning are no events. */
static int run_malloc_control(void)
{
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (int i = 0; i < 4; i++) {
		keep = malloc(100);
		malloc_trim(0);
	}
	return malloc_usable_size(keep) < 100;
}

/* Known answer: 100 blocks that live while the next is made, then none. */
static int run_churn(void)
{
	void *last = NULL;

	for (size_t i = 0; i < 100; i++) {
		void *next = malloc(32 * i + 16);

		free(last);
		last = next;
	}
	free(last);
	return 0;
}

static const struct mode modes[] = {
	{ "malloc-zero", run_malloc_zero },
	{ "free-null", run_free_null },
	{ "calloc", run_calloc },
	{ "calloc-overflow", run_calloc_overflow },
	{ "malloc-huge", run_malloc_huge },
	{ "realloc-null", run_realloc_null },
	{ "realloc-fail", run_realloc_fail },
	{ "realloc-in-place", run_realloc_in_place },
	{ "memalign", run_memalign },
	{ "memalign-small", run_memalign_small },
	{ "posix-memalign", run_posix_memalign },
	{ "aligned-alloc", run_aligned_alloc },
	{ "valloc", run_valloc },
	{ "pvalloc", run_pvalloc },
	{ "reallocarray", run_reallocarray },
	{ "libc", run_libc },
	{ "malloc-control", run_malloc_control },
	{ "churn", run_churn },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "help";

	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		int wrong;

		if (strcmp(name, modes[i].name))
			continue;
		keep = malloc(1000);
		wrong = modes[i].run();
		free(malloc(1000));
		return wrong;
	}
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
		fprintf(stderr, "%s\n", modes[i].name);
	return 2;
}
