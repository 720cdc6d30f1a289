/* SPDX-License-Identifier: MIT */
#include "median.h"

#include <assert.h>

/* Moves the item of rank `rank` to its place among `n`, those below before it, those above behind it. */
static void select_rank(double *items, ptrdiff_t n, ptrdiff_t rank)
{
	ptrdiff_t low = 0, high = n - 1;
	while (low < high) {
		const double middle = items[low + (high - low) / 2];
		ptrdiff_t i = low, j = high;
		while (i <= j) {
			while (items[i] < middle)
				i++;
			while (items[j] > middle)
				j--;
			if (i > j)
				break;
			const double item = items[i];
			items[i++] = items[j];
			items[j--] = item;
		}
		if (rank <= j)
			high = j;
		else if (rank >= i)
			low = i;
		else
			break;
	}
}

double median_find(double *items, size_t n)
{
	const size_t half = n / 2;
	assert(n > 0);
	select_rank(items, (ptrdiff_t)n, (ptrdiff_t)half);
	double below = items[0];
	for (size_t i = 1; i < half; i++)
		below = items[i] > below ? items[i] : below;
	return n % 2 ? items[half] : (below + items[half]) / 2;
}
