/* SPDX-License-Identifier: MIT */
/*
 * main calls itself: the stack is cut outside the outermost main, not the innermost one.
 *
 * Known answer: four blocks of 100 to 400 bytes, under one to four frames of main.
 */
#include <stdlib.h>

static void *volatile keep;

static void leaf(size_t n)
{
	keep = malloc(n);
}

int main(int argc, char **argv)
{
	leaf(100 * (size_t)argc);
	if (argc < 4)
		return main(argc + 1, argv);
	return 0;
}
