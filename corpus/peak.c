/* SPDX-License-Identifier: MIT */
/*
 * Twenty times: a block that stays, and a small one, freed at once, so that every round is a
 * new maximum.
 *
 * Known answer: 40 allocations, 20 frees, peak 20 * 1600 + 16 useful bytes.
 */
#include <stdlib.h>

static void *volatile keep;

int main(void)
{
	for (int i = 0; i < 20; i++) {
		void *volatile small;

		keep = malloc(1600);
		small = malloc(16);
		free(small);
	}
	return 0;
}
