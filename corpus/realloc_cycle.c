/* SPDX-License-Identifier: MIT */
/*
 * One block that is made larger and smaller by turns: in ten steps up to a top and in ten steps down
 * again, as the example of memusage's manual page does.
 *
 * Known answer: 440 useful bytes before the last free, peak 6440. memusage counts 400 bytes of malloc
 * and 44040 by which 40 reallocs asked for more than there was, 19 of them for less.
 */
#include <stdlib.h>

#define STEPS 20

int main(void)
{
	int level = 0;
	char *block = malloc(400);

	for (int step = 0; step < STEPS; step++) {
		level = step < STEPS / 2 ? step : level - 1;
		block = realloc(block, (size_t)(200 * level + 440));
		block = realloc(block, (size_t)(600 * (level + 1) + 440));
	}
	free(block);
	return 0;
}
