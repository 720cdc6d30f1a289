/* SPDX-License-Identifier: MIT */
/*
 * script SEED OPERATIONS [even|any|aligned]: random operations on 64 slots through six call sites.
 * The program has its own generator, so a seed means the same sequence everywhere.
 *
 * even (default): sizes that round up to multiples of 32, see pick_size(); any: sizes from 0 to 5000;
 * aligned: any, and memalign among the calls.
 *
 * Known answer: none beforehand; all observers must agree.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 64 };

enum flavour { EVEN, ANY, ALIGNED };

static void *slot[SLOTS];
static uint64_t state;

/* splitmix64 */
static uint64_t next_random(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static size_t below(size_t bound)
{
	return (size_t)(next_random() % bound);
}

/*
 * Even sizes round up to a multiple of 32. All remainders of Massif's free blocks are then multiples of 32
 * too, so no block gets 16 bytes more than the request.
 */
static size_t pick_size(enum flavour flavour)
{
	size_t scale = below(8) == 0 ? 5000 : 300;

	if (flavour == EVEN)
		return 32 * (1 + below(scale / 32)) - below(16);
	return below(scale + 1);
}

static void *site_small(size_t n)
{
	return malloc(n);
}
static void *site_table(size_t n)
{
	return calloc(1, n);
}
static void *site_inner(size_t n)
{
	return malloc(n);
}
static void *site_nested(size_t n)
{
	return site_inner(n);
}
static void *site_grow(void *p, size_t n)
{
	return realloc(p, n);
}
static void *site_aligned(size_t n)
{
	return memalign((size_t)32 << below(3), n);
}
static void site_drop(void *p)
{
	free(p);
}

static void make(void **where, enum flavour flavour)
{
	size_t n = pick_size(flavour);

	switch (below(flavour == ALIGNED ? 5 : 4)) {
	case 0:
		*where = site_small(n);
		break;
	case 1:
		*where = site_table(n);
		break;
	case 2:
		*where = site_nested(n);
		break;
	case 3:
		*where = site_grow(NULL, n);
		break;
	default:
		*where = site_aligned(n);
	}
}

/* Half of the operations on a live block resize it, the other half free it. */
static void change(void **where, enum flavour flavour)
{
	if (below(2)) {
		*where = site_grow(*where, pick_size(flavour));
	} else {
		site_drop(*where);
		*where = NULL;
	}
}

int main(int argc, char **argv)
{
	unsigned long operations = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	enum flavour flavour = EVEN;

	state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	if (argc > 3)
		flavour = !strcmp(argv[3], "any") ? ANY : !strcmp(argv[3], "aligned") ? ALIGNED : EVEN;
	for (unsigned long i = 0; i < operations; i++) {
		void **where = &slot[below(SLOTS)];

		if (*where)
			change(where, flavour);
		else
			make(where, flavour);
	}
	return 0;
}
