/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays, the one way to grow them:
 *
 *     struct item *items;
 *     uint32_t n, capacity;             (or size_t)
 *
 *     if (!array_reserve(&items, n, &capacity, sizeof(*items)))
 *             return no memory;
 *     items[n++] = item;
 *
 * The owner frees `items`. All zero is an empty array.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* The slow half of the functions below: at least n + 1 items, twice as many as before. */
bool array_grow_u32(void *items, uint32_t n, uint32_t *capacity, size_t size);
bool array_grow_size(void *items, size_t n, size_t *capacity, size_t size);
bool array_grow_zeroed_u32(void *items, uint32_t n, uint32_t *capacity, size_t size);
bool array_grow_zeroed_size(void *items, size_t n, size_t *capacity, size_t size);

static inline bool array_reserve_u32(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
	return n < *capacity || array_grow_u32(items, n, capacity, size);
}

static inline bool array_reserve_size(void *items, size_t n, size_t *capacity, size_t size)
{
	return n < *capacity || array_grow_size(items, n, capacity, size);
}

static inline bool array_reserve_zeroed_u32(void *items, uint32_t n, uint32_t *capacity, size_t size)
{
	return n < *capacity || array_grow_zeroed_u32(items, n, capacity, size);
}

static inline bool array_reserve_zeroed_size(void *items, size_t n, size_t *capacity, size_t size)
{
	return n < *capacity || array_grow_zeroed_size(items, n, capacity, size);
}

/*
 * Makes items[n] exist, of `size` bytes, in an array of *capacity items; `items` is the address of the owner's pointer,
 * `capacity` that of a uint32_t or a size_t. For n items altogether, reserve item n - 1. False: no memory, or n is the
 * highest number of its type; the array is as before. (With 32 bits both types are one, which _Generic takes once.)
 */
/* clang-format off */
#define array_reserve(items, n, capacity, size)                                                              \
	_Generic((capacity),                                                                                 \
		uint32_t *: array_reserve_u32,                                                               \
		default: array_reserve_size)(items, n, capacity, size)

/* The same; items from *capacity on, as it was, are zeroed. */
#define array_reserve_zeroed(items, n, capacity, size)                                                       \
	_Generic((capacity),                                                                                 \
		uint32_t *: array_reserve_zeroed_u32,                                                        \
		default: array_reserve_zeroed_size)(items, n, capacity, size)
/* clang-format on */

/* qsort(3); no items may be NULL. */
static inline void array_sort(void *items, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(items, n, size, compare);
}

#endif
