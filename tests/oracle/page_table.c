/* SPDX-License-Identifier: MIT */
/*
 * Maps pages over each other before and after COUNT others, then unmaps them: page_table COUNT
 */
#include <stdlib.h>
#include <sys/mman.h>

#define BYTES 4096
#define TIMES 9

static void *take(void *where, size_t pages, int flags)
{
	return mmap(where, pages * BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1,
		    0);
}

static __attribute__((noinline)) void *first(void *where)
{
	void *page = take(where, 1, MAP_FIXED);

	__asm__ volatile("");
	return page;
}

static __attribute__((noinline)) void *second(void *where)
{
	void *page = take(where, 1, MAP_FIXED);

	__asm__ volatile("");
	return page;
}

int main(int argc, char **argv)
{
	char *const where = (char *)0x10000000;
	const size_t count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	/* Around any size of the table, and with an even and an odd number of them passed. */
	for (int i = 0; i < TIMES; i++) {
		char *page = where + i * 2 * BYTES;

		first(page);
		if (take(NULL, count / TIMES + 1, 0) == MAP_FAILED)
			return 1;
		second(page);
		first(page + BYTES);
		second(page + BYTES);
	}
	for (int i = 0; i < TIMES; i++)
		munmap(where + i * 2 * BYTES, BYTES * (1 + i % 2));
	return 0;
}
