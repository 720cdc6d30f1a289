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

/* ---- Pages: items[0] is of no histogram, so that 0 is no number; the first word of vacant ones is the next's. ---- */

/* `n` pages in a row, all counts 0. 0: no memory. */
static uint32_t take_pages(struct histogram_pages *pages, unsigned n)
{
	uint32_t first = pages->vacant[n];
	if (first) {
		pages->vacant[n] = pages->items[first].counts[0];
	} else {
		first = pages->n ? pages->n : 1;
		if (first > UINT32_MAX - n ||
		    !array_reserve(&pages->items, first + n - 1, &pages->room, sizeof(*pages->items)))
			return 0;
		pages->n = first + n;
	}
	memset(&pages->items[first], 0, n * sizeof(*pages->items));
	return first;
}

static void give_pages(struct histogram_pages *pages, uint32_t first, unsigned n)
{
	pages->items[first].counts[0] = pages->vacant[n];
	pages->vacant[n] = first;
}

/* Makes a histogram reach over these pages, at least. False: no memory. */
static bool reach(struct histogram *h, struct histogram_pages *pages, unsigned from, unsigned end)
{
	assert(from < end && end <= HISTOGRAM_PAGES);
	if (h->n && from > h->from)
		from = h->from;
	if (h->n && end < h->from + h->n)
		end = h->from + h->n;
	if (end - from == h->n)
		return true;
	const uint32_t first = take_pages(pages, end - from);
	if (!first)
		return false;
	if (h->n) {
		memcpy(&pages->items[first + h->from - from], &pages->items[h->first],
		       h->n * sizeof(*pages->items));
		give_pages(pages, h->first, h->n);
	}
	*h = (struct histogram){ first, (uint8_t)from, (uint8_t)(end - from) };
	return true;
}

bool histogram_reach(struct histogram *h, struct histogram_pages *pages, unsigned number)
{
	return reach(h, pages, number / HISTOGRAM_PAGE, number / HISTOGRAM_PAGE + 1);
}

/* ---- Sums ---- */

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
	if (from->n == 0)
		return true;
	if (!reach(h, pages, from->from, from->from + from->n))
		return false;
	for (unsigned i = 0; i < from->n; i++)
		add_counts(pages->items[h->first + from->from - h->from + i].counts,
			   from_pages->items[from->first + i].counts);
	return true;
}

uint64_t histogram_quantile(const struct histogram *h, const struct histogram_pages *pages, double share)
{
	const struct histogram_page *items = h->n ? &pages->items[h->first] : NULL;
	uint64_t all = 0, below = 0;
	for (unsigned i = 0; i < h->n * HISTOGRAM_PAGE; i++)
		all += items[i / HISTOGRAM_PAGE].counts[i % HISTOGRAM_PAGE];
	const uint64_t rank = (uint64_t)ceil((double)all * share);
	for (unsigned i = 0; i < h->n * HISTOGRAM_PAGE; i++) {
		below += items[i / HISTOGRAM_PAGE].counts[i % HISTOGRAM_PAGE];
		if (below && below >= rank)
			return histogram_from(h->from * HISTOGRAM_PAGE + i);
	}
	return 0;
}
