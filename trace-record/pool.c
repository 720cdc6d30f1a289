/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64u
#define FIRST_REGION (64u << 10)
#define HUGE_PAGE (2u << 20)

struct pool_region {
	struct pool_region *older;
	size_t bytes;
};

_Static_assert(sizeof(struct pool_region) <= LINE, "a region's parts begin at its second line");

void pool_finish(struct pool *pool)
{
	for (struct pool_region *r = pool->regions, *older; r; r = older) {
		older = r->older;
		munmap(r, r->bytes);
	}
	*pool = (struct pool){ 0 };
}

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static char *map_huge(void)
{
	char *const memory = map(2 * HUGE_PAGE);
	const size_t before = -(uintptr_t)memory & (HUGE_PAGE - 1);

	if (!memory)
		return NULL;
	if (before)
		munmap(memory, before);
	munmap(memory + before + HUGE_PAGE, HUGE_PAGE - before);
	/* Where there are none, it is slower and nothing else. */
	(void)madvise(memory + before, HUGE_PAGE, MADV_HUGEPAGE);
	return memory + before;
}

/* Each is twice as large as the one before, up to a huge page. */
static int add_region(struct pool *pool)
{
	const size_t bytes = !pool->regions                     ? FIRST_REGION
			     : pool->regions->bytes < HUGE_PAGE ? pool->regions->bytes * 2
								: HUGE_PAGE;
	struct pool_region *region = bytes < HUGE_PAGE ? map(bytes) : (void *)map_huge();

	if (!region)
		return -1;
	*region = (struct pool_region){ pool->regions, bytes };
	pool->regions = region;
	pool->next = (char *)region + LINE;
	pool->end = (char *)region + bytes;
	return 0;
}

void *pool_take(struct pool *pool, unsigned class, size_t bytes)
{
	void *part = pool->given_back[class];

	if (part) {
		memcpy(&pool->given_back[class], part, sizeof(part));
		return part;
	}
	bytes = (bytes + LINE - 1) / LINE * LINE;
	if ((size_t)(pool->end - pool->next) < bytes && add_region(pool) != 0)
		return NULL;
	part = pool->next;
	pool->next += bytes;
	return part;
}

void pool_give(struct pool *pool, unsigned class, void *part)
{
	memcpy(part, &pool->given_back[class], sizeof(part));
	pool->given_back[class] = part;
}
