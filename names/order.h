/* SPDX-License-Identifier: MIT */
/*
 * Sorting of things by address, of which there are many thousands in a file: digit by digit, without comparisons.
 */
#ifndef NAMES_ORDER_H
#define NAMES_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_item {
	uint64_t key;
	uint32_t number; /* of the thing that it stands for */
};

/* By key; equal ones stay in the order that they are in. False when out of memory, with nothing done. */
bool order_sort(struct order_item *items, size_t n);

#endif
