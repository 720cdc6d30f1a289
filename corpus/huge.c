/* SPDX-License-Identifier: MIT */
/*
 * huge: blocks beyond 4 GiB, with untouched pages. One shrinks to a few bytes in place.
 *
 * Known answer: two blocks, of 5,000,000,000 and 6,442,450,944 bytes; the first becomes 16 bytes,
 * then 5,000,000,000 again; both are freed.
 */
#include <stdlib.h>

static void *volatile keep[2];

static void *large(size_t n)
{
	return malloc(n);
}
static void *change(void *p, size_t n)
{
	return realloc(p, n);
}

int main(void)
{
	keep[0] = large(5000000000u);
	keep[0] = change(keep[0], 16);
	keep[1] = large(6442450944u);
	keep[0] = change(keep[0], 5000000000u);
	free(keep[1]);
	free(keep[0]);
	return 0;
}
