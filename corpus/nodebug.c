/* SPDX-License-Identifier: MIT */
/*
 * Built three times: without line information, without symbols, and position-dependent.
 *
 * Known answer: 300 bytes under outer/inner, 200 in main, with or without names.
 */
#include <stdlib.h>

static void *volatile keep;

static void inner(size_t n)
{
	keep = malloc(n);
}

static void outer(size_t n)
{
	inner(n);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		outer(100);
	keep = malloc(200);
	return 0;
}
