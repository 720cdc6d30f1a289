/* SPDX-License-Identifier: MIT */
/*
 * fleet_program VERSION FACTOR SEED: a service of three versions whose heaps differ in planted ways. 1 is the base; in 2
 * fill_cache() takes half as much again; in 3 also open_session() is new and build_index() takes a third. FACTOR percent of
 * all sizes. SEED changes the last few percent.
 */
#include <stdlib.h>

#define APART __attribute__((noinline))

static void *volatile kept;

APART static void fill_cache(size_t size)
{
	kept = malloc(size);
}

APART static void build_index(size_t size)
{
	kept = calloc(1, size);
}

APART static void open_session(size_t size)
{
	kept = malloc(size);
}

APART static void read_request(size_t size)
{
	void *volatile block = malloc(size);
	free(block);
}

int main(int argc, char **argv)
{
	const size_t version = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	const size_t factor = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
	const size_t seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	for (size_t i = 0; i < 50; i++) {
		const size_t noise = 100 + (seed * 31 + i) % 5;
		fill_cache((version >= 2 ? 3000 : 2000) * factor / 100 * noise / 100);
		build_index((version >= 3 ? 1000 : 3000) * factor / 100 * noise / 100);
		read_request(100 + i);
		if (version >= 3)
			open_session(500 * factor / 100 * noise / 100);
	}
	return 0;
}
