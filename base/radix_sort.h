/* SPDX-License-Identifier: MIT */
/* Sorts many items by 64-bit keys (addresses, indices), digit by digit, without comparisons. */
#ifndef BASE_RADIX_SORT_H
#define BASE_RADIX_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct radix_item {
	uint64_t key;
	uint32_t number; /* of what the item stands for, in an array of the caller's */
};

/* Sorts by key, stably. False: no memory; the items are as before. */
bool radix_sort(struct radix_item *items, size_t n);

#endif
