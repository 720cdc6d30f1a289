/* SPDX-License-Identifier: MIT */
/*
 * longjmp out of a deep call, ten times, allocating before, at the bottom and after: the recorder must
 * not confuse stacks before the jump with those after it.
 *
 * Known answer: 40 blocks in four places, 10 * (16 + 32 + 48 + 64) bytes.
 */
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf back;
static volatile int armed = 1;
static void *volatile keep;

static void bottom(int level)
{
	if (level > 0)
		bottom(level - 1);
	keep = malloc(32);
	if (armed)
		longjmp(back, level + 1);
}

static void other(int level)
{
	if (level > 0)
		other(level - 1);
	else
		keep = malloc(48);
}

int main(void)
{
	for (volatile int i = 0; i < 10; i++) {
		keep = malloc(16);
		if (setjmp(back) == 0)
			bottom(i);
		other(i);
		keep = malloc(64);
	}
	return 0;
}
