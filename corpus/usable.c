/* SPDX-License-Identifier: MIT */
/*
 * Calls malloc_usable_size for blocks of many sizes and for NULL, and writes to all usable bytes.
 *
 * Known answer: these calls are no events; the program fails if a block is smaller than requested or NULL
 * has a size.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	int wrong = malloc_usable_size(NULL) != 0;

	for (size_t n = 0; n < 120; n += 7) {
		void *block = malloc(n);
		size_t usable = malloc_usable_size(block);

		wrong |= usable < n;
		memset(block, 1, usable);
		free(block);
	}
	return wrong;
}
