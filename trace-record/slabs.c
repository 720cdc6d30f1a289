/* SPDX-License-Identifier: MIT */
#include "slabs.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64u
#define FIRST_SLAB (64u << 10)
#define HUGE_PAGE (2u << 20)

struct slab {
	struct slab *older;
	size_t bytes;
};

_Static_assert(sizeof(struct slab) <= LINE, "a slab's parts begin at its second line");

void slabs_finish(struct slabs *slabs)
{
	for (struct slab *slab = slabs->newest, *older; slab; slab = older) {
		older = slab->older;
		munmap(slab, slab->bytes);
	}
	*slabs = (struct slabs){ 0 };
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
static int add_slab(struct slabs *slabs)
{
	const size_t bytes = !slabs->newest                     ? FIRST_SLAB
			     : slabs->newest->bytes < HUGE_PAGE ? slabs->newest->bytes * 2
								: HUGE_PAGE;
	struct slab *slab = bytes < HUGE_PAGE ? map(bytes) : (void *)map_huge();

	if (!slab)
		return -1;
	*slab = (struct slab){ slabs->newest, bytes };
	slabs->newest = slab;
	slabs->next = (char *)slab + LINE;
	slabs->end = (char *)slab + bytes;
	return 0;
}

void *slabs_take(struct slabs *slabs, unsigned class, size_t bytes)
{
	void *part = slabs->given_back[class];

	if (part) {
		memcpy(&slabs->given_back[class], part, sizeof(part));
		return part;
	}
	bytes = (bytes + LINE - 1) / LINE * LINE;
	if ((size_t)(slabs->end - slabs->next) < bytes && add_slab(slabs) != 0)
		return NULL;
	part = slabs->next;
	slabs->next += bytes;
	return part;
}

void slabs_give(struct slabs *slabs, unsigned class, void *part)
{
	memcpy(part, &slabs->given_back[class], sizeof(part));
	slabs->given_back[class] = part;
}
