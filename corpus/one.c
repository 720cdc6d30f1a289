/* SPDX-License-Identifier: MIT */
/* Known answer: one block of one byte, never freed. */
#include <stdlib.h>

static void *volatile keep;

int main(void)
{
	keep = malloc(1);
	return 0;
}
