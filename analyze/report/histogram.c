/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"

void histogram_pages_finish(struct histogram_pages *pages)
{
	free(pages->items);
	*pages = (struct histogram_pages){ 0 };
}

uint64_t histogram_from(unsigned number)
{
	assert(number < HISTOGRAM_CLASSES);
	return number < 4 ? number : (uint64_t)(4 + number % 4) << (number / 4 - 1);
}

bool histogram_open(struct histogram *h, struct histogram_pages *pages, unsigned number)
{
	uint32_t *page = &h->pages[number / HISTOGRAM_PAGE];
	if (*page)
		return true;
	if (!array_reserve(&pages->items, pages->n, &pages->room, sizeof(*pages->items)))
		return false;
	pages->items[pages->n] = (struct histogram_page){ 0 };
	*page = ++pages->n;
	h->used |= 1u << number / HISTOGRAM_PAGE;
	return true;
}

/* Adds up to the largest number. Without branches, so that compilers make it a few vector instructions. */
static void add_counts(uint32_t *restrict counts, const uint32_t *restrict more)
{
	for (unsigned i = 0; i < HISTOGRAM_PAGE; i++) {
		const uint32_t sum = counts[i] + more[i];
		counts[i] = sum < more[i] ? UINT32_MAX : sum;
	}
}

bool histogram_merge(struct histogram *h, struct histogram_pages *pages, const struct histogram *from,
		     const struct histogram_pages *from_pages)
{
	for (uint32_t left = from->used; left; left &= left - 1) {
		const unsigned page = (unsigned)__builtin_ctz(left);
		const uint32_t *more = from_pages->items[from->pages[page] - 1].counts;
		const bool first = h->pages[page] == 0;
		if (!histogram_open(h, pages, page * HISTOGRAM_PAGE))
			return false;
		uint32_t *counts = pages->items[h->pages[page] - 1].counts;
		if (first)
			memcpy(counts, more, sizeof(pages->items->counts));
		else
			add_counts(counts, more);
	}
	return true;
}

/* The counts of a page; NULL: there are none. */
static const uint32_t *counts_of(const struct histogram *h, const struct histogram_pages *pages,
				 unsigned page)
{
	return h->pages[page] ? pages->items[h->pages[page] - 1].counts : NULL;
}

uint64_t histogram_quantile(const struct histogram *h, const struct histogram_pages *pages, double share)
{
	uint64_t all = 0, below = 0;
	for (unsigned page = 0; page < HISTOGRAM_PAGES; page++) {
		const uint32_t *counts = counts_of(h, pages, page);
		for (unsigned i = 0; counts && i < HISTOGRAM_PAGE; i++)
			all += counts[i];
	}
	const uint64_t rank = (uint64_t)ceil((double)all * share);
	for (unsigned page = 0; page < HISTOGRAM_PAGES; page++) {
		const uint32_t *counts = counts_of(h, pages, page);
		for (unsigned i = 0; counts && i < HISTOGRAM_PAGE; i++) {
			below += counts[i];
			if (below && below >= rank)
				return histogram_from(page * HISTOGRAM_PAGE + i);
		}
	}
	return 0;
}
