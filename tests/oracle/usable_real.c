/* SPDX-License-Identifier: MIT */
/* The heap of the process: Valgrind's, when it runs there. */
#include <malloc.h>
#include <stdlib.h>

#include "usable_script.h"

static void *slots[SLOTS];

bool heap_begin(uint64_t first)
{
	(void)first;
	return true;
}

bool heap_alloc(unsigned slot, uint64_t size, uint64_t align, bool zeroed, uint64_t *usable)
{
	if (zeroed)
		slots[slot] = calloc(1, size);
	else
		slots[slot] = align > 16 ? memalign(align, size) : malloc(size);
	*usable = malloc_usable_size(slots[slot]);
	return slots[slot];
}

bool heap_resize(unsigned slot, uint64_t size, uint64_t *usable)
{
	void *moved = realloc(slots[slot], size);

	slots[slot] = moved;
	*usable = malloc_usable_size(moved);
	return moved;
}

uint64_t heap_address(unsigned slot)
{
	return (uintptr_t)slots[slot];
}

void heap_free(unsigned slot)
{
	free(slots[slot]);
	slots[slot] = NULL;
}
