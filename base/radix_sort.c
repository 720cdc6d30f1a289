/* SPDX-License-Identifier: MIT */
#include "radix_sort.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define DIGIT 11 /* bits; the counts of a digit's values fit in the L1 cache */
#define VALUES (1u << DIGIT)

/* Returns the bits in which keys differ; 0: the items are sorted already. */
static uint64_t find_difference(const struct radix_item *items, size_t n)
{
	uint64_t difference = 0;
	bool sorted = true;

	for (size_t i = 1; i < n; i++) {
		difference |= items[i].key ^ items[0].key;
		sorted &= items[i - 1].key <= items[i].key;
	}
	return sorted ? 0 : difference;
}

static void sort_by_digit(const struct radix_item *from, struct radix_item *to, size_t n, unsigned shift)
{
	size_t places[VALUES] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		places[from[i].key >> shift & (VALUES - 1)]++;
	for (unsigned value = 0; value < VALUES; value++) {
		const size_t count = places[value];

		places[value] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[places[from[i].key >> shift & (VALUES - 1)]++] = from[i];
}

bool radix_sort(struct radix_item *items, size_t n)
{
	uint64_t difference = find_difference(items, n);
	struct radix_item *room, *from = items, *to;

	if (!difference)
		return true;
	to = room = malloc(n * sizeof(*room));
	if (!room)
		return false;
	for (unsigned shift = 0; difference; difference >>= DIGIT, shift += DIGIT) {
		struct radix_item *const sorted = to;

		if (!(difference & (VALUES - 1)))
			continue;
		sort_by_digit(from, to, n, shift);
		to = from;
		from = sorted;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
	free(room);
	assert(!check_wanted() || find_difference(items, n) == 0);
	return true;
}
