/* SPDX-License-Identifier: MIT */
/* The model's heap, used as a replay uses it. */
#include "usable_script.h"
#include "valgrind_arena.h"

static struct arena *arena;
static uint32_t slots[SLOTS];

bool heap_begin(uint64_t first)
{
	arena = arena_create(first ? first : ARENA_FIRST);
	for (unsigned i = 0; i < SLOTS; i++)
		slots[i] = ARENA_NONE;
	return arena;
}

bool heap_alloc(unsigned slot, uint64_t size, uint64_t align, bool zeroed, uint64_t *usable)
{
	(void)zeroed;
	slots[slot] = arena_alloc(arena, size, align, usable);
	return slots[slot] != ARENA_NONE;
}

bool heap_resize(unsigned slot, uint64_t size, uint64_t *usable)
{
	uint32_t old = slots[slot];

	if (old != ARENA_NONE && size <= arena_usable(arena, old)) {
		*usable = arena_usable(arena, old);
		return true;
	}
	slots[slot] = arena_alloc(arena, size, 16, usable);
	if (old != ARENA_NONE)
		arena_free(arena, old);
	return slots[slot] != ARENA_NONE;
}

uint64_t heap_address(unsigned slot)
{
	return slots[slot] == ARENA_NONE ? 0 : arena_address(arena, slots[slot]);
}

void heap_free(unsigned slot)
{
	if (slots[slot] != ARENA_NONE)
		arena_free(arena, slots[slot]);
	slots[slot] = ARENA_NONE;
}
