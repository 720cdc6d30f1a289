/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

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
	return true;
}

bool histogram_merge(struct histogram *h, struct histogram_pages *pages, const struct histogram *from,
		     const struct histogram_pages *from_pages)
{
	for (unsigned page = 0; page < HISTOGRAM_PAGES; page++) {
		if (from->pages[page] == 0)
			continue;
		const uint32_t *more = from_pages->items[from->pages[page] - 1].counts;
		if (!histogram_open(h, pages, page * HISTOGRAM_PAGE))
			return false;
		uint32_t *counts = pages->items[h->pages[page] - 1].counts;
		for (unsigned i = 0; i < HISTOGRAM_PAGE; i++)
			counts[i] = counts[i] > UINT32_MAX - more[i] ? UINT32_MAX : counts[i] + more[i];
	}
	return true;
}

static uint64_t count_of(const struct histogram *h, const struct histogram_pages *pages, unsigned number)
{
	const uint32_t page = h->pages[number / HISTOGRAM_PAGE];
	return page ? pages->items[page - 1].counts[number % HISTOGRAM_PAGE] : 0;
}

uint64_t histogram_quantile(const struct histogram *h, const struct histogram_pages *pages, double share)
{
	uint64_t all = 0, below = 0;
	for (unsigned i = 0; i < HISTOGRAM_CLASSES; i++)
		all += count_of(h, pages, i);
	const uint64_t rank = (uint64_t)ceil((double)all * share);
	for (unsigned i = 0; i < HISTOGRAM_CLASSES && all; i++) {
		below += count_of(h, pages, i);
		if (below && below >= rank)
			return histogram_from(i);
	}
	return 0;
}
