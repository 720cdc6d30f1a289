/* SPDX-License-Identifier: MIT */
/*
 * A chain of twelve calls above malloc(400), entered ten times.
 *
 * Known answer: 4000 bytes in one place; the tree is cut at --depth, and naming the inner functions
 * as allocation functions moves the window outward.
 */
#include <stdlib.h>

static void *volatile keep;

static void a12(int n)
{
	keep = malloc((size_t)n);
}
static void a11(int n)
{
	a12(n);
}
static void a10(int n)
{
	a11(n);
}
static void a9(int n)
{
	a10(n);
}
static void a8(int n)
{
	a9(n);
}
static void a7(int n)
{
	a8(n);
}
static void a6(int n)
{
	a7(n);
}
static void a5(int n)
{
	a6(n);
}
static void a4(int n)
{
	a5(n);
}
static void a3(int n)
{
	a4(n);
}
static void a2(int n)
{
	a3(n);
}
static void a1(int n)
{
	a2(n);
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		a1(400);
	return 0;
}
