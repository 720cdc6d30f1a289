/* SPDX-License-Identifier: MIT */
/*
 * A peak first, then 350 short-lived blocks: when Massif culls the list, it keeps the first snapshot
 * and the peak, and the gap between them does not count for the new interval.
 *
 * Known answer: 351 allocations and frees, peak 20000 useful bytes.
 */
#include <stdlib.h>

int main(void)
{
	void *volatile block = malloc(20000);

	free(block);
	for (int i = 0; i < 350; i++) {
		block = malloc(96);
		free(block);
	}
	return 0;
}
