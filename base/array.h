/* SPDX-License-Identifier: MIT */
/* Arrays that are filled item by item: how they get room for more. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The slow half of array_reserve(). */
bool array_grow(void *items, uint32_t n, uint32_t *room, size_t size);

/*
 * Room for item number `n`, of `size` bytes, in an array that has room for *room; `items` is where the owner's pointer
 * to it is. Numbers are below UINT32_MAX. False: no memory, or no number; then everything is as before.
 */
static inline bool array_reserve(void *items, uint32_t n, uint32_t *room, size_t size)
{
	return n < *room || array_grow(items, n, room, size);
}

#endif
