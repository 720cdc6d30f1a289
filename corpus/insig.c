/* SPDX-License-Identifier: MIT */
/*
 * Places around the threshold: 16000, 240, 192 and twenty times 16 bytes (from twenty places).
 *
 * Known answer: 16752 bytes. Together the small places can outweigh a significant one.
 */
#include <stdlib.h>

static void *volatile keep;

#define SMALL keep = malloc(16);
#define FIVE_SMALL SMALL SMALL SMALL SMALL SMALL

int main(void)
{
	keep = malloc(16000);
	keep = malloc(240);
	keep = malloc(192);
	FIVE_SMALL
	FIVE_SMALL
	FIVE_SMALL
	FIVE_SMALL
	return 0;
}
