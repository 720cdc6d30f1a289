/* SPDX-License-Identifier: MIT */
/*
 * Branches that hold from 1 to 75 percent of the heap.
 *
 * Known answer: 10000 bytes: a1 75 %, a2 15 % (in shares of 5, 5, 3, 2), a3 10 % (in shares of 1 to 4).
 */
#include <stdlib.h>

static void *volatile keep;

static void leaf(size_t n)
{
	keep = malloc(n);
}
static void half(size_t n)
{
	leaf(n);
	keep = malloc(n);
}

static void a1(void)
{
	half(2500);
	leaf(2500);
}

static void a2(void)
{
	leaf(500);
	leaf(500);
	leaf(300);
	leaf(200);
}

static void a3(void)
{
	keep = malloc(100);
	leaf(200);
	keep = malloc(300);
	leaf(400);
}

int main(void)
{
	a1();
	a2();
	a3();
	free(malloc(16));
	return 0;
}
