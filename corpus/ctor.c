/* SPDX-License-Identifier: MIT */
/*
 * Blocks allocated before main, by a constructor, and after it, by an exit handler and a destructor:
 * no main on those stacks.
 *
 * Known answer: 100 + 200 + 300 + 400 bytes; the first and the second are freed after main.
 */
#include <stdlib.h>

static void *early;
static void *during;
static void *volatile keep;

__attribute__((constructor)) static void begin(void)
{
	early = malloc(100);
}

__attribute__((destructor)) static void end(void)
{
	free(early);
	keep = malloc(400);
}

static void at_exit(void)
{
	keep = malloc(300);
	free(during);
}

int main(void)
{
	during = malloc(200);
	return atexit(at_exit);
}
