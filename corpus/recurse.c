/* SPDX-License-Identifier: MIT */
/*
 * recurse DEPTH: malloc(100) at the bottom of DEPTH nested calls, and at every tenth on the way back.
 * Deeper than --depth + 50 the captured stack lacks its outer end, and main.
 *
 * Known answer: 1 + DEPTH / 10 blocks.
 */
#include <stdlib.h>

static void *volatile keep;

static int down(int level)
{
	int below;

	if (level == 0) {
		keep = malloc(100);
		return 0;
	}
	below = down(level - 1);
	if (level % 10 == 0)
		keep = malloc(100);
	return below + 1;
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 100;

	return down(depth) != depth;
}
