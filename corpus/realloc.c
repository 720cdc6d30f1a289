/* SPDX-License-Identifier: MIT */
/*
 * Every legal kind of realloc: of NULL, to the same size, smaller, a little larger within the
 * rounding, larger, from another call site, and to zero, which frees on glibc.
 *
 * Known answer: 0 useful bytes at the end, peak 3200 + 400.
 */
#include <stdlib.h>

static void *grow(void *p, size_t n)
{
	return realloc(p, n);
}

int main(void)
{
	void *p = realloc(NULL, 800);
	void *q;

	p = realloc(p, 800);
	p = realloc(p, 400);
	p = realloc(p, 403);
	p = realloc(p, 800);
	p = realloc(p, 801);
	p = realloc(p, 816);
	p = realloc(p, 817);
	q = malloc(400);
	p = grow(p, 1600);
	p = grow(p, 3200);
	p = grow(p, 1);
	p = grow(p, 3200);
	q = realloc(q, 0);
	p = realloc(p, 0);
	p = malloc(0);
	p = realloc(p, 10);
	free(p);
	return q != NULL;
}
