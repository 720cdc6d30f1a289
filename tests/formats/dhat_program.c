/* SPDX-License-Identifier: MIT */
/* What DHAT counts in its own way, for dhat.py: dhat_program realloc | peaks | zero | places. */
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline)) static void *

SITE first(size_t size)
{
	void *volatile p = malloc(size);
	return p;
}

SITE second(size_t size)
{
	void *volatile p = malloc(size);
	return p;
}

SITE cleared(size_t size)
{
	void *volatile p = calloc(1, size);
	return p;
}

SITE resized(void *old, size_t size)
{
	void *volatile p = realloc(old, size);
	return p;
}

/* A block stays where it was first allocated, however often it moves. */
static void reallocs(void)
{
	void *p = first(100), *q = resized(NULL, 70);
	p = resized(p, 500);
	q = resized(q, 0);
	p = resized(p, 500);
	q = second(40);
	p = resized(p, 30000);
	free(p);
	p = resized(q, 20);
	p = resized(p, 6000);
	free(p);
}

/* Three peaks of 1000 bytes: the last one counts. */
static void peaks(void)
{
	void *p = first(1000), *q;
	free(p);
	p = second(600);
	q = first(400);
	free(q);
	free(p);
	p = cleared(300);
	q = second(700);
	free(p);
	free(q);
}

static void zero(void)
{
	void *p = first(0), *q = second(0), *r = cleared(0);
	free(q);
	p = resized(p, 50);
	free(p);
	p = first(0);
	(void)r;
}

static void places(void)
{
	void *kept[64];
	for (unsigned i = 0; i < 64; i++)
		kept[i] = i % 3 ? first(16 * i) : second(24 * i);
	for (unsigned i = 0; i < 64; i += 2)
		kept[i] = resized(kept[i], 10 * i + 1);
	for (unsigned i = 0; i < 48; i++)
		free(kept[i]);
	for (unsigned i = 0; i < 20; i++)
		kept[i] = cleared(200 + i);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "realloc") == 0)
		reallocs();
	else if (strcmp(mode, "peaks") == 0)
		peaks();
	else if (strcmp(mode, "zero") == 0)
		zero();
	else
		places();
	return 0;
}
