/* SPDX-License-Identifier: MIT */
/*
 * Chains of one to four calls, each ending in malloc(400).
 *
 * Known answer: nine blocks, 3600 bytes. With a4, b4, b3, c4, c3, c2 and d4 to d1 declared as
 * allocation functions, a1-a3, b1-b2 and c1 remain and the d chain becomes part of main.
 */
#include <stdlib.h>

static void *volatile keep;

static void a4(int n)
{
	keep = malloc((size_t)n);
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

static void b4(int n)
{
	keep = malloc((size_t)n);
}
static void b3(int n)
{
	b4(n);
}
static void b2(int n)
{
	b3(n);
}
static void b1(int n)
{
	b2(n);
}

static void c4(int n)
{
	keep = malloc((size_t)n);
}
static void c3(int n)
{
	c4(n);
}
static void c2(int n)
{
	c3(n);
}
static void c1(int n)
{
	c2(n);
}

static void d4(int n)
{
	keep = malloc((size_t)n);
}
static void d3(int n)
{
	d4(n);
}
static void d2(int n)
{
	d3(n);
}
static void d1(int n)
{
	d2(n);
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		a1(400);
		b1(400);
		c1(400);
		d1(400);
	}
	b3(400);
	return 0;
}
