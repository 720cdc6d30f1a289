/* SPDX-License-Identifier: MIT */
/*
 * big_alloc SIZE: ten blocks of SIZE bytes, never freed. The program touches no page of them.
 *
 * Known answer: 10 * SIZE useful bytes. Above 4194240 bytes Massif's allocator pads blocks to pages.
 */
#include <stdlib.h>

static void *volatile keep;

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 10485760;

	for (int i = 0; i < 10; i++)
		keep = malloc(size);
	return 0;
}
