/* SPDX-License-Identifier: MIT */
#include "huge_pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE ((size_t)64)
#define PAGE ((size_t)2 << 20)

static size_t round_to(size_t size, size_t unit)
{
	return (size + unit - 1) & ~(unit - 1);
}

/* Maps whole pages. NULL: no address space. */
static void *map(size_t size)
{
	char *space = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (space == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)space % PAGE;
	if (before)
		munmap(space, before);
	munmap(space + before + size, PAGE - before);
	madvise(space + before, size, MADV_HUGEPAGE); /* only a hint */
	return space + before;
}

/* Moves the pages at `old` to `start`; new pages follow them. */
static bool move(void *old, size_t old_size, void *start, size_t size)
{
	return mremap(old, old_size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != MAP_FAILED;
}

void *huge_grow(void *old, size_t old_size, size_t size)
{
	const bool large = size >= PAGE;
	void *grown;

	if (size > SIZE_MAX - 2 * PAGE)
		return NULL;
	grown = large ? map(round_to(size, PAGE)) : aligned_alloc(LINE, round_to(size, LINE));
	if (!grown)
		return NULL;
	/* A failed move may have unmapped `grown`: nothing else can be tried. */
	if (old_size >= PAGE)
		return move(old, round_to(old_size, PAGE), grown, round_to(size, PAGE)) ? grown : NULL;
	if (old_size)
		memcpy(grown, old, old_size);
	huge_free(old, old_size);
	return grown;
}

void huge_free(void *memory, size_t size)
{
	if (memory && size >= PAGE)
		munmap(memory, round_to(size, PAGE));
	else
		free(memory);
}
