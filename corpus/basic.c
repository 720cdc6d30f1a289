/* SPDX-License-Identifier: MIT */
/* Known answer: 36 blocks of 400 bytes, then 35 frees: peak 14400 useful bytes, 400 at the end. */
#include <stdlib.h>

enum { BLOCKS = 36, SIZE = 400 };

int main(void)
{
	void *block[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(SIZE);
	for (int i = BLOCKS - 1; i > 0; i--)
		free(block[i]);
	return 0;
}
