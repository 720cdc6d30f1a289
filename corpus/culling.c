/* SPDX-License-Identifier: MIT */
/*
 * culling even|growing: 200 blocks of 16 bytes, or of 400 * i bytes for i from 0, never freed.
 * More snapshots than any list holds: tests the choice of dropped snapshots and the resulting interval.
 *
 * Known answer: 3200 useful bytes, or 400 * (199 * 200 / 2) = 7960000.
 */
#include <stdlib.h>
#include <string.h>

static void *volatile keep;

int main(int argc, char **argv)
{
	int growing = argc > 1 && !strcmp(argv[1], "growing");

	for (size_t i = 0; i < 200; i++)
		keep = malloc(growing ? 400 * i : 16);
	return 0;
}
