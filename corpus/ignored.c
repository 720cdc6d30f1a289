/* SPDX-License-Identifier: MIT */
/*
 * malloc, realloc and free mixed between ordinary functions and two that the options ignore
 * (quiet_malloc, quiet_realloc): every row of Massif's table of counted and ignored reallocs.
 *
 * Known answer: 11 allocations, 8 reallocs, 11 frees.
 */
#include <stdlib.h>

static void *quiet_malloc(size_t n)
{
	return malloc(n);
}
static void *quiet_realloc(void *p, size_t n)
{
	return realloc(p, n);
}
static void *loud_malloc(size_t n)
{
	return malloc(n);
}
static void *loud_realloc(void *p, size_t n)
{
	return realloc(p, n);
}

static void counted_both(void)
{
	void *p = loud_malloc(160);

	p = loud_realloc(p, 320);
	p = loud_realloc(p, 96);
	free(p);
}

static void ignored_both(void)
{
	void *p = quiet_malloc(160);

	p = quiet_realloc(p, 320);
	p = quiet_realloc(p, 96);
	free(p);
}

static void ignored_then_counted(void)
{
	void *p = quiet_malloc(320);

	p = loud_realloc(p, 640);
	p = loud_realloc(p, 320);
	free(p);
}

static void counted_then_ignored(void)
{
	void *p = loud_malloc(160);
	void *q = loud_malloc(800);

	p = quiet_realloc(p, 800);
	q = quiet_realloc(q, 160);
	free(p);
	free(q);
}

int main(void)
{
	void *first = loud_malloc(1600);
	void *last;

	counted_both();
	ignored_both();
	ignored_then_counted();
	counted_then_ignored();
	for (int i = 0; i < 4; i++) {
		void *p = i & 1 ? quiet_malloc(400) : loud_malloc(400);

		free(p);
	}
	last = quiet_malloc(64);
	free(first);
	free(last);
	return 0;
}
